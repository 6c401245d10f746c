package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
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
	share.Spec.Fleet = quotav1alpha1.Fleet{}
	native, _, _ := strings.Cut(want, "; fleet")
	if got := denial(quota, share, asked); got != native {
		t.Errorf("without the fleet: %s", got)
	}
}
