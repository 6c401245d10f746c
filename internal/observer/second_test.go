package observer

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fedquota/fedquota/internal/observer/judge"
	"github.com/fedquota/fedquota/internal/observer/report"
)

func (q quota) Name(name string) quota { q.rq.Name = name; return q }

// Scoped gives it a scope by the list of scopes.
func (q quota) Scoped(scope corev1.ResourceQuotaScope) quota {
	q.rq.Spec.Scopes = []corev1.ResourceQuotaScope{scope}
	return q
}

// Selecting gives it the same by an expression.
func (q quota) Selecting(scope corev1.ResourceQuotaScope) quota {
	q.rq.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists},
	}}
	return q
}

func TestSecondQuota(t *testing.T) {
	event := func(kind watch.EventType, q quota) watch.Event { return watch.Event{Type: kind, Object: q.Obj()} }
	second := func(rv int) quota { return makeQuota(rv).Name("second") }
	expires := func() (watch.Interface, error) { return nil, errExpired }
	cases := map[string]struct {
		// first is what is listed at first, again what is listed after a gap.
		first, again []quota
		events       []watch.Event
		want         int
	}{
		"there at first":               {first: []quota{makeQuota(1), second(2)}, want: 1},
		"comes later, told once":       {first: []quota{makeQuota(1)}, events: []watch.Event{event(watch.Added, second(2)), event(watch.Modified, second(3)), event(watch.Modified, makeQuota(4))}, want: 1},
		"is the first one":             {first: []quota{second(1)}, events: []watch.Event{event(watch.Added, makeQuota(2))}, want: 1},
		"labelled later":               {first: []quota{makeQuota(1), second(2).Unmanaged()}, events: []watch.Event{event(watch.Modified, second(3))}, want: 1},
		"comes twice":                  {first: []quota{makeQuota(1), second(2)}, events: []watch.Event{event(watch.Deleted, second(3)), event(watch.Added, second(4))}, want: 2},
		"a user's own":                 {first: []quota{makeQuota(1), second(2).Unmanaged()}, events: []watch.Event{event(watch.Modified, second(3).Unmanaged())}},
		"handed over, then the second": {first: []quota{makeQuota(1)}, events: []watch.Event{event(watch.Modified, makeQuota(2).Released()), event(watch.Added, second(3))}},
		"gone, then the second":        {first: []quota{makeQuota(1)}, events: []watch.Event{event(watch.Deleted, makeQuota(2)), event(watch.Added, second(3))}},
		"the second gone before":       {first: []quota{second(1)}, events: []watch.Event{event(watch.Deleted, second(2)), event(watch.Added, makeQuota(3))}},
		"the second gone in a gap":     {first: []quota{second(1)}, again: []quota{makeQuota(3)}},
		"come and gone in a gap":       {first: []quota{makeQuota(1)}, again: []quota{second(3)}},
		"of other scopes":              {first: []quota{makeQuota(1), second(2).Scoped(corev1.ResourceQuotaScopeBestEffort)}},
		"of the same scopes, written in another way": {
			first: []quota{makeQuota(1).Selecting(corev1.ResourceQuotaScopeBestEffort), second(2).Scoped(corev1.ResourceQuotaScopeBestEffort)}, want: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			client := &script{lists: []func() (*corev1.ResourceQuotaList, error){listed("9", tc.first...)}, end: cancel}
			client.watches = append(client.watches, stream(tc.events...))
			if tc.again != nil {
				client.lists = append(client.lists, listed("19", tc.again...))
				client.watches = append(client.watches, expires)
			}
			now := time.Now()
			j := judge.New([]string{"a"}, amounts("pods=10"), now)
			w := &watcher{client: client, name: "compute", resumed: func() {},
				observe: func(rq *corev1.ResourceQuota, how judge.Step) { j.Observe("a", rq, now, how) },
				beside:  func(others map[string]string) { j.Beside("a", others, now) },
			}
			from, err := w.list(ctx, judge.First)
			if err != nil {
				t.Fatal(err)
			}
			w.run(ctx, from)
			seen := j.Report(now)
			if got := seen.Counts[report.SecondQuota]; got != tc.want {
				t.Errorf("found %d times, want %d", got, tc.want)
			}
			if violations := len(seen.Violations()); violations < tc.want {
				t.Errorf("%d violations, want %d", violations, tc.want)
			}
		})
	}
}
