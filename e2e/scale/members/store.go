package members

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// store is the shares that one member holds, with the order of their changes.
type store struct {
	mutex   sync.Mutex
	version int64
	shares  map[types.NamespacedName]*stored
	watches map[chan event]bool
}

// stored is a share as it is sent: encoded once, however often it is read.
type stored struct {
	*quotav1alpha1.QuotaShare

	version  int64
	gone     bool
	body     []byte
	metadata []byte
}

// event is a change of a share.
type event struct {
	kind watch.EventType
	of   *stored
}

// watchBuffer is how many changes a watch may be behind before it is ended, as an API server does.
const watchBuffer = 1000

func newStore() *store {
	return &store{version: 1, shares: map[types.NamespacedName]*stored{}, watches: map[chan event]bool{}}
}

// get returns a share, or nil.
func (s *store) get(key types.NamespacedName) *stored {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.present(key)
}

func (s *store) present(key types.NamespacedName) *stored {
	if found := s.shares[key]; found != nil && !found.gone {
		return found
	}
	return nil
}

// change replaces a share by what change makes of it, which is nil for a share that is to go. It is given nil if there
// is none, and a copy otherwise. It returns the share as it is then.
func (s *store) change(key types.NamespacedName, change func(*quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error)) (*stored, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before := s.present(key)
	var share *quotav1alpha1.QuotaShare
	if before != nil {
		share = before.DeepCopy()
	}
	share, err := change(share)
	if err != nil || share == nil && before == nil {
		return before, err
	}
	kind, after := watch.Modified, &stored{QuotaShare: share, gone: share == nil}
	switch {
	case share == nil:
		kind, after.QuotaShare = watch.Deleted, before.DeepCopy()
	case before == nil:
		kind = watch.Added
	}
	s.version++
	after.version, after.ResourceVersion = s.version, strconv.FormatInt(s.version, 10)
	if err := after.encode(); err != nil {
		return before, err
	}
	s.shares[key] = after
	s.tell(event{kind, after})
	return after, nil
}

// tell sends a change to all watches. One that does not keep up is ended.
func (s *store) tell(e event) {
	for watching := range s.watches {
		select {
		case watching <- e:
		default:
			delete(s.watches, watching)
			close(watching)
		}
	}
}

// watch returns what has changed since a version, or all there is, and what changes from now on.
func (s *store) watch(since int64, all bool) (history []event, changes chan event, now int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, share := range s.ordered() {
		switch {
		case all && !share.gone:
			history = append(history, event{watch.Added, share})
		case !all && share.version > since && share.gone:
			history = append(history, event{watch.Deleted, share})
		case !all && share.version > since:
			history = append(history, event{watch.Modified, share})
		}
	}
	slices.SortStableFunc(history, func(a, b event) int { return int(a.of.version - b.of.version) })
	changes = make(chan event, watchBuffer)
	s.watches[changes] = true
	return history, changes, s.version
}

// leave ends a watch.
func (s *store) leave(changes chan event) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.watches, changes)
}

// list returns the shares of a namespace, or all, in the order of an API server, and the version of the store.
func (s *store) list(namespace string) (shares []*stored, version int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, share := range s.ordered() {
		if !share.gone && (namespace == "" || share.Namespace == namespace) {
			shares = append(shares, share)
		}
	}
	return shares, s.version
}

func (s *store) ordered() []*stored {
	all := make([]*stored, 0, len(s.shares))
	for _, share := range s.shares {
		all = append(all, share)
	}
	slices.SortFunc(all, func(a, b *stored) int { return strings.Compare(a.key(), b.key()) })
	return all
}

func (s *stored) key() string { return s.Namespace + "/" + s.Name }

// encode writes down how the share is sent, whole and as metadata alone.
func (s *stored) encode() error {
	s.TypeMeta = metav1.TypeMeta{APIVersion: quotav1alpha1.GroupVersion.String(), Kind: "QuotaShare"}
	body, err := json.Marshal(s.QuotaShare)
	if err != nil {
		return fmt.Errorf("encoding share %s: %w", s.key(), err)
	}
	s.body = body
	s.metadata, err = json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "PartialObjectMetadata"}, ObjectMeta: s.ObjectMeta,
	})
	return err
}
