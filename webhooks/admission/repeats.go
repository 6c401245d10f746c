package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// remembered is how many names of objects are remembered that were let through, the latest ones.
const remembered = 1024

// repeats knows which objects were let through just before. Native quota charges a request before the API server finds
// that there is such an object, and takes the charge back minutes later: one who asks again and again uses up every
// limit, and would have raises for it.
type repeats struct {
	mutex sync.Mutex
	names *lru.Cache // of *times
}

// times are when an object was let through, the latest time last. The last one is also when it was found to be there.
type times [pace.RepeatsMost]time.Time

// often says whether the object of a request was let through so often just before that there is one by now.
func (r *repeats) often(request *Request, now time.Time) bool {
	first, _ := r.span(request)
	return now.Sub(first) < pace.RepeatWindow
}

// lately says whether the object of a request was let through, or found, since native quota has counted last.
func (r *repeats) lately(request *Request, now time.Time) bool {
	_, last := r.span(request)
	return now.Sub(last) < pace.RepeatMemory
}

// span returns the first and the last of the times that are remembered of the object of a request, zero if it was not
// let through so often.
func (r *repeats) span(request *Request) (first, last time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if request.Name == "" || r.names == nil {
		return time.Time{}, time.Time{}
	}
	known, ok := r.names.Get(request.object())
	if !ok {
		return time.Time{}, time.Time{}
	}
	passed := known.(*times)
	return passed[0], passed[len(passed)-1]
}

// note takes note of a request that was let through.
func (r *repeats) note(request *Request, now time.Time) {
	if request.Name == "" || request.DryRun {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.names == nil {
		r.names = lru.New(remembered)
	}
	passed := &times{}
	if known, ok := r.names.Get(request.object()); ok {
		passed = known.(*times)
	}
	copy(passed[:], passed[1:])
	passed[len(passed)-1] = now
	r.names.Add(request.object(), passed)
}

// found remembers that the object of a request is there.
func (r *repeats) found(request *Request, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known, ok := r.names.Get(request.object()); ok {
		passed := known.(*times)
		passed[len(passed)-1] = now
	}
}

// object is what the object of a request is remembered by.
func (r *Request) object() string {
	return r.Charge.Resource.String() + "/" + r.Namespace + "/" + r.Name
}

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=list

// looked are the kinds of which the agent may see whether there is an object.
var looked = sets.New(
	nativequota.Pods,
	nativequota.Claims,
	schema.GroupResource{Group: "batch", Resource: "jobs"},
	schema.GroupResource{Group: "apps", Resource: "replicasets"},
	schema.GroupResource{Group: "apps", Resource: "statefulsets"},
	schema.GroupResource{Group: "apps", Resource: "daemonsets"},
	schema.GroupResource{Resource: "replicationcontrollers"},
)

// Exists says whether the API server has the object of a request already, of a name that was let through before, so
// that it would refuse the request after native quota has charged it. Where that is not known it says no.
func (g *Gate) Exists(ctx context.Context, request Request) bool {
	if request.DryRun || !looked.Has(request.Charge.Resource) || !g.repeats.lately(&request, g.Clock.Now()) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, pace.LiveTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(request.Kind.GroupVersion().WithKind(request.Kind.Kind + "List"))
	if g.Live.List(
		ctx, list, client.InNamespace(request.Namespace), client.MatchingFields{metav1.ObjectNameField: request.Name},
	) != nil {
		return false
	}
	there := slices.ContainsFunc(list.Items, func(o metav1.PartialObjectMetadata) bool { return o.Name == request.Name })
	if there {
		g.repeats.found(&request, g.Clock.Now())
	}
	return there
}
