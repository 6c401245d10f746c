package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

var store = demand.Owner{Kind: "StatefulSet", Name: "store-a", UID: "store"}

// stateful returns a StatefulSet whose pods have two claims each.
func stateful(desired int64) demand.Workload {
	return demand.Workload{
		Owner: store, Namespace: key.Namespace, Desired: desired, OneByOne: true, Claims: []string{"data", "log-1"}, Template: spec("1"),
	}
}

func TestClaimant(t *testing.T) {
	claim := func(name string) demand.Owner { return demand.Owner{Kind: "PersistentVolumeClaim", Name: name} }
	owned := demand.Owner{Kind: "Pod", Name: "data-store-a-0", UID: "pod"}
	for name, tt := range map[string]struct{ asks, want demand.Owner }{
		"of the first template":  {claim("data-store-a-0"), store},
		"of the second template": {claim("log-1-store-a-12"), store},
		"no ordinal":             {claim("data-store-a-"), claim("data-store-a-")},
		"a sign":                 {claim("data-store-a--1"), claim("data-store-a--1")},
		"another name":           {claim("data-store-0"), claim("data-store-0")},
		"another template":       {claim("tmp-store-a-0"), claim("tmp-store-a-0")},
		"owned":                  {owned, owned},
	} {
		t.Run(name, func(t *testing.T) {
			b := demand.NewBook()
			if diff := cmp.Diff(tt.asks, b.Claimant(key.Namespace, tt.asks)); diff != "" {
				t.Errorf("of an empty book, -want +got:\n%s", diff)
			}
			b.SetWorkload(stateful(3), start)
			if diff := cmp.Diff(tt.want, b.Claimant(key.Namespace, tt.asks)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestClaims has the claim of a StatefulSet refused, which does not try again for long.
func TestClaims(t *testing.T) {
	b, s := demand.NewBook(), share()
	s.Spec.Hard["requests.storage"], s.Status.Hard = resource.MustParse("10Gi"), corev1.ResourceList{
		"requests.cpu": resource.MustParse("10"), "pods": resource.MustParse("10"), "requests.storage": resource.MustParse("1Gi"),
	}
	asked := amount.List{"requests.storage": 2 << 30 * 1000}
	b.SetWorkload(stateful(3), start)
	b.Hold(key, store, nil, asked, start)
	b.End(key, store, asked, false, start)

	late := start.Add(10 * time.Minute)
	got, _ := b.Demand(s, late)
	if len(got) != 1 || !got[0].Amounts.Equal(asked.Times(3)) {
		t.Errorf("demand %v, want %v", got, asked.Times(3))
	}
	sleepers := b.Asleep(s, late)
	if len(sleepers) != 1 || sleepers[0].Owner != store || !sleepers[0].Refused || !sleepers[0].Unit.Equal(asked) {
		t.Errorf("asleep: %+v", sleepers)
	}
}
