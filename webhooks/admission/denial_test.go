package admission

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/webhooks/admission/lanes"
)

// readerFunc answers reads.
type readerFunc func(ctx context.Context) error

func (f readerFunc) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return f(ctx)
}

func (f readerFunc) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not used")
}

// TestReadForAll reads for all who share the answer, for a limited time, although the client has gone whose turn it is
// to read.
func TestReadForAll(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	gate := &Gate{Live: readerFunc(func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the read may take for ever")
		}
		return ctx.Err()
	})}
	if gate.read(ctx, &lane{Lane: lanes.New(key, &lanes.Heartbeat{}, 0)}) == nil {
		t.Error("it was not read")
	}
}

func TestDenialOfSeveralNames(t *testing.T) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{"requests.memory": resource.MustParse("1Gi"), "pods": resource.MustParse("1"), "requests.cpu": resource.MustParse("9")},
		Used: corev1.ResourceList{"requests.memory": resource.MustParse("512Mi"), "pods": resource.MustParse("1"), "requests.cpu": resource.MustParse("1500m")},
	}}
	share := &quotav1alpha1.QuotaShare{Spec: quotav1alpha1.QuotaShareSpec{Fleet: quotav1alpha1.Fleet{
		Budget:  corev1.ResourceList{"requests.memory": resource.MustParse("8Gi"), "pods": resource.MustParse("3"), "requests.cpu": resource.MustParse("9")},
		Used:    corev1.ResourceList{"requests.memory": resource.MustParse("8Gi"), "pods": resource.MustParse("3"), "requests.cpu": resource.MustParse("1")},
		Waiting: []quotav1alpha1.ClusterName{"west", "north"},
	}}}
	asked := corev1.ResourceList{"requests.memory": resource.MustParse("513Mi"), "pods": resource.MustParse("1"), "requests.cpu": resource.MustParse("1")}
	const want = "exceeded quota: q, requested: pods=1,requests.memory=513Mi, used: pods=1,requests.memory=512Mi, limited: pods=1,requests.memory=1Gi; " +
		"fleet: used pods=3 of 3, requests.memory=8Gi of 8Gi; waiting: west, north"
	if got := denial(quota, share, asked); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	share.Spec.Fleet.Used["pods"] = resource.MustParse("0") // as the hub told before the pod of this cluster came
	if got, newer := denial(quota, share, asked), strings.Replace(want, "pods=3 of 3", "pods=1 of 3", 1); got != newer {
		t.Errorf("got  %s\nwant %s", got, newer)
	}
	share.Spec.Fleet = quotav1alpha1.Fleet{}
	native, _, _ := strings.Cut(want, "; fleet")
	if got := denial(quota, share, asked); got != native {
		t.Errorf("without the fleet: %s", got)
	}
}

// TestWhyItWaits says for the event on a workload how long its request was held and what is full, and nothing of a dry
// run.
func TestWhyItWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *scene)
		asks   string
		reason denialReason
		want   []string
	}{
		"the fleet is full": {asks: "3", reason: denialFleetFull, want: []string{
			"team/pod-3: Held 500ms for quota compute: the fleet is full: requests.cpu 28 of 30 used; waiting: west",
		}},
		"others may give": {change: func(s *scene) { s.share.Spec.Fleet.Used["requests.cpu"] = resource.MustParse("20") }, asks: "3", reason: denialClusterFull, want: []string{
			"team/pod-3: Held 500ms for quota compute: the limit of this cluster is reached: requests.cpu 8 of 10 used; fleet: used requests.cpu=20 of 30; waiting: west",
		}},
		"nobody gives": {change: func(s *scene) { s.share.Spec.Fleet = quotav1alpha1.Fleet{} }, asks: "3", reason: denialClusterFull, want: []string{
			"team/pod-3: Held 500ms for quota compute: the limit of this cluster is reached: requests.cpu 8 of 10 used",
		}},
		"too much for all": {asks: "31", reason: denialOverBudget, want: []string{
			"team/pod-31: Refused by quota compute: one pod asks for more than the whole budget: requests.cpu 31 of 30",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				s.share.Spec.Fleet.Waiting = []quotav1alpha1.ClusterName{"west"}
				if tt.change != nil {
					tt.change(s)
				}
				var got []string
				s.gate.SetShare(s.share)
				s.gate.Refused = func(namespace string, owner demand.Owner, why string) {
					got = append(got, namespace+"/"+owner.Name+": "+why)
				}
				before := counted(t, denials.WithLabelValues(string(tt.reason)))
				dry := request(tt.asks)
				dry.DryRun = true
				if s.admit(dry) == "" || s.answer(s.send(request(tt.asks)), time.Second) == "" {
					t.Fatal("the request is let through")
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if denials := counted(t, denials.WithLabelValues(string(tt.reason))) - before; denials != 2 {
					t.Errorf("%g were denied for %s, want 2", denials, tt.reason)
				}
			})
		})
	}
}

// TestGivenUp counts a request that its client gave up.
func TestGivenUp(t *testing.T) {
	s := newScene(t, "8")
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	before := counted(t, denials.WithLabelValues(string(denialGivenUp)))
	if s.gate.Admit(ctx, request("3")) == "" {
		t.Error("it is let through")
	}
	if denials := counted(t, denials.WithLabelValues(string(denialGivenUp))) - before; denials != 1 {
		t.Errorf("%g were given up, want 1", denials)
	}
}
