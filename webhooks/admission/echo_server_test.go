package admission

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// TestEchoOfAnAPIServer raises a limit behind the back of a real API server's cache. Native quota refuses what there is
// room for; the policy fedquota-echo says so, and the gate holds the request until the API server judges by the raise.
func TestEchoOfAnAPIServer(t *testing.T) {
	l := newLaggard(t)
	l.apply("../../config/member/policy/echo.yaml")
	quota := l.full("1")
	l.eventually("native quota to refuse", func() bool { return refused(l.dry()) })
	gate, asked := l.gate()
	gate.catchUpFor = time.Minute
	gate.SetQuota(quota.DeepCopy())

	catchUp := l.fallBehind()
	l.raise(quota, "2")
	l.eventually("a refusal of "+echoPolicy, func() bool { _, judgesByIt := gate.Echo(t.Context(), key); return !judgesByIt })
	if err := l.dry(); !refused(err) {
		t.Fatalf("native quota judges by a limit that its cache does not have: %v", err)
	}

	answer := make(chan string, 1)
	go func() {
		configMaps := nativequota.Charge{Resource: schema.GroupResource{Resource: "configmaps"}}
		answer <- gate.Admit(t.Context(), Request{Namespace: key.Namespace, Charge: configMaps, Owner: demand.Owner{Kind: "ConfigMap", Name: "config"}})
	}()
	l.eventually("the request to be held", func() bool { return gate.Book.Refused(key) })
	before := asked.Load()
	gate.SetQuota(quota.DeepCopy())
	l.eventually("the gate to ask again", func() bool { return asked.Load() > before+1 })
	select {
	case denial := <-answer:
		t.Fatalf("answered %q while the API server is behind", denial)
	default:
	}
	catchUp()
	if denial := <-answer; denial != "" {
		t.Error(denial)
	}
	l.must(l.createConfigMap())
	stored, judgesByIt := gate.Echo(t.Context(), key)
	l.must(l.Get(t.Context(), key, quota))
	if !judgesByIt || stored.ResourceVersion != quota.ResourceVersion {
		t.Errorf("%t, version %s, want true and %s", judgesByIt, stored.ResourceVersion, quota.ResourceVersion)
	}
	if diff := cmp.Diff(quota.Status, stored.Status); diff != "" {
		t.Error(diff)
	}
}

// full makes a managed ResourceQuota of ConfigMaps that is in force and used up.
func (l *laggard) full(hard string) *corev1.ResourceQuota {
	l.Helper()
	l.must(l.Create(l.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}))
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
		Spec:       corev1.ResourceQuotaSpec{Hard: configMaps(hard)},
	}
	l.must(l.Create(l.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
	l.must(l.Status().Update(l.Context(), quota))
	return quota
}

// raise does what the agent does.
func (l *laggard) raise(quota *corev1.ResourceQuota, hard string) {
	l.Helper()
	quota.Spec.Hard = configMaps(hard)
	l.must(l.Update(l.Context(), quota))
	quota.Status.Hard = quota.Spec.Hard
	l.must(l.Status().Update(l.Context(), quota))
}

// gate returns one that asks the API server, and how often it has.
func (l *laggard) gate() (*Gate, *atomic.Int32) {
	asked, echo := &atomic.Int32{}, NewEcho(l)
	gate := &Gate{
		Clock: clock.RealClock{}, Book: demand.NewBook(), Live: l,
		Report: func(types.NamespacedName) {},
		Stuck:  func() bool { return false },
		Echo: func(ctx context.Context, share types.NamespacedName) (*corev1.ResourceQuota, bool) {
			asked.Add(1)
			return echo(ctx, share)
		},
	}
	gate.SetShare(&quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1},
		Spec:       quotav1alpha1.QuotaShareSpec{Admission: quotav1alpha1.Admission{WaitMilliseconds: new(int32(60_000))}},
	})
	return gate, asked
}

// createConfigMap creates a ConfigMap, which native quota judges.
func (l *laggard) createConfigMap(options ...client.CreateOption) error {
	return l.Create(l.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "config"}}, options...)
}

// dry creates one without effect.
func (l *laggard) dry() error { return l.createConfigMap(client.DryRunAll) }

func refused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

func configMaps(count string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceConfigMaps: resource.MustParse(count)}
}
