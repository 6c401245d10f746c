package observer

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fedquota/fedquota/internal/observer/judge"
)

// script is a client that answers lists and watches in the given order; the run ends when it is at its end.
type script struct {
	typedcorev1.ResourceQuotaInterface
	lists   []func() (*corev1.ResourceQuotaList, error)
	watches []func() (watch.Interface, error)
	end     context.CancelFunc
	// from is the resourceVersions from which was watched.
	from []string
}

func (s *script) List(context.Context, metav1.ListOptions) (*corev1.ResourceQuotaList, error) {
	next := s.lists[0]
	s.lists = s.lists[1:]
	return next()
}

func (s *script) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.from = append(s.from, options.ResourceVersion)
	if len(s.watches) == 0 {
		s.end()
		return nil, context.Canceled
	}
	next := s.watches[0]
	s.watches = s.watches[1:]
	return next()
}

// stream is a watch that delivers events and then ends.
func stream(events ...watch.Event) func() (watch.Interface, error) {
	return func() (watch.Interface, error) {
		channel := make(chan watch.Event, len(events))
		for _, event := range events {
			channel <- event
		}
		close(channel)
		return watch.NewProxyWatcher(channel), nil
	}
}

func listed(resourceVersion string, quotas ...quota) func() (*corev1.ResourceQuotaList, error) {
	return func() (*corev1.ResourceQuotaList, error) {
		list := &corev1.ResourceQuotaList{ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion}}
		for _, q := range quotas {
			list.Items = append(list.Items, *q.Obj())
		}
		return list, nil
	}
}

func TestWatcher(t *testing.T) {
	event := func(kind watch.EventType, rv int) watch.Event {
		return watch.Event{Type: kind, Object: makeQuota(rv).Obj()}
	}
	status := apierrors.NewResourceExpired("too old").ErrStatus
	gone := func() (watch.Interface, error) { return nil, apierrors.NewResourceExpired("too old") }
	cases := map[string]struct {
		lists   []func() (*corev1.ResourceQuotaList, error)
		watches []func() (watch.Interface, error)
		want    []string
		from    []string
		resumed int
	}{
		"goes on where a watch ended": {
			watches: []func() (watch.Interface, error){
				stream(event(watch.Added, 6), event(watch.Modified, 7), event(watch.Bookmark, 20)),
				stream(event(watch.Deleted, 21)),
			},
			want: []string{"next 6", "next 7", "next gone"}, from: []string{"5", "20", "21"}, resumed: 2,
		},
		"lists again when versions are gone": {
			lists:   []func() (*corev1.ResourceQuotaList, error){listed("30", makeQuota(28))},
			watches: []func() (watch.Interface, error){gone},
			want:    []string{"gap 28"}, from: []string{"5", "30"},
		},
		"an error within the watch, and nothing there any more": {
			lists: []func() (*corev1.ResourceQuotaList, error){
				func() (*corev1.ResourceQuotaList, error) { return nil, apierrors.NewTooManyRequests("busy", 0) },
				listed("30"),
			},
			watches: []func() (watch.Interface, error){stream(event(watch.Added, 6), watch.Event{Type: watch.Error, Object: &status})},
			want:    []string{"next 6", "gap gone"}, from: []string{"5", "30"},
		},
		"a refused watch is tried again": {
			watches: []func() (watch.Interface, error){
				func() (watch.Interface, error) {
					return nil, apierrors.NewGenericServerResponse(http.StatusBadGateway, "", corev1.Resource(""), "", "", 0, true)
				},
				stream(event(watch.Added, 6)),
			},
			want: []string{"next 6"}, from: []string{"5", "5", "6"}, resumed: 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			client := &script{lists: tc.lists, watches: tc.watches, end: cancel}
			var got []string
			resumed := 0
			w := &watcher{client: client, name: "compute", resumed: func() { resumed++ }, beside: func(map[string]string) {}, observe: func(rq *corev1.ResourceQuota, how judge.Step) {
				seen := map[judge.Step]string{judge.Next: "next ", judge.Gap: "gap "}[how]
				if rq == nil {
					got = append(got, seen+"gone")
					return
				}
				got = append(got, seen+rq.ResourceVersion)
			}}
			w.run(ctx, "5")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.from, client.from); diff != "" {
				t.Errorf("watched from (-want +got):\n%s", diff)
			}
			if resumed != tc.resumed {
				t.Errorf("resumed %d times, want %d", resumed, tc.resumed)
			}
		})
	}
}
