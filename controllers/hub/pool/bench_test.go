package pool

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/internal/tenant"
)

// shelf is a hub as a cache with an index shows it: it hands out what it has without a copy. Writes of a pool's status
// are kept.
type shelf struct {
	client.Client

	pool   *quotav1alpha1.QuotaPool
	labels map[string]string
	byPool map[string][]quotav1alpha1.FederatedQuota
	all    []quotav1alpha1.FederatedQuota
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch into := object.(type) {
	case *quotav1alpha1.QuotaPool:
		s.pool.DeepCopyInto(into)
	case *quotav1alpha1.FederatedQuota:
		for i := range s.all {
			if client.ObjectKeyFromObject(&s.all[i]) == key {
				*into = s.all[i]
				return nil
			}
		}
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	case *metav1.PartialObjectMetadata:
		into.Name, into.Labels = key.Name, s.labels
	}
	return nil
}

func (s *shelf) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	into, ok := list.(*quotav1alpha1.FederatedQuotaList)
	if !ok {
		return nil
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	from := s.all
	if o.FieldSelector != nil {
		name, _ := o.FieldSelector.RequiresExactMatch(byPool)
		from = s.byPool[name]
	}
	into.Items = append(into.Items, from...)
	return nil
}

func (s *shelf) Status() client.SubResourceWriter { return status{shelf: s} }

// status takes in what is written into the status of the pool.
type status struct {
	client.SubResourceWriter

	shelf *shelf
}

func (k status) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	k.shelf.pool = object.(*quotav1alpha1.QuotaPool).DeepCopy()
	return nil
}

// several are amounts of the four names that budgets of pods have.
func several(pods int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceRequestsCPU: *resource.NewMilliQuantity(200*pods, resource.DecimalSI), corev1.ResourceLimitsCPU: *resource.NewMilliQuantity(400*pods, resource.DecimalSI),
		corev1.ResourceRequestsMemory: *resource.NewQuantity(pods<<30, resource.BinarySI), corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
	}
}

// newShelf returns a hub with a pool of so many namespaces, which has granted something to each, beside as many others.
func newShelf(namespaces, others int) *shelf {
	s := &shelf{pool: &quotav1alpha1.QuotaPool{}, labels: map[string]string{"team": "vision"}, byPool: map[string][]quotav1alpha1.FederatedQuota{}}
	s.pool.Name, s.pool.UID, s.pool.Generation, s.pool.Finalizers = "vision", "u-vision", 1, []string{quotav1alpha1.Finalizer}
	s.pool.Spec.Hard, s.pool.Spec.Namespaces.Selector = several(int64(10*namespaces)), &metav1.LabelSelector{MatchLabels: s.labels}
	s.pool.Status.Revision, s.pool.Status.Hard = 1000, s.pool.Spec.Hard
	for i := range namespaces + others {
		fq := quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("ns-%05d", i), Name: "budget", UID: types.UID(fmt.Sprintf("u-%d", i)), Generation: 1,
			Labels: map[string]string{quotav1alpha1.KeptLabel: tenant.Kept},
		}}
		pool := "vision"
		if i >= namespaces {
			pool = "others"
		}
		used := several(int64(i % 7))
		fq.Spec = *tenant.Spec(pool, &s.pool.Spec)
		fq.Status.Revision, fq.Status.Used, fq.Status.Granted, fq.Status.Hard = 9, used, used, several(7)
		fq.Status.Pool = &quotav1alpha1.PoolMembership{Name: quotav1alpha1.PoolName(pool), UID: "u-" + pool, Tenure: 1, Revision: 1000, Cap: several(7)}
		for c := range 20 {
			fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{Name: quotav1alpha1.ClusterName(fmt.Sprintf("c-%d", c)), Revision: 9})
		}
		s.all, s.byPool[pool] = append(s.all, fq), append(s.byPool[pool], fq)
		if pool == "vision" {
			s.pool.Status.Children = append(s.pool.Status.Children, quotav1alpha1.ChildStatus{
				Key: quotav1alpha1.ChildKey("FederatedQuota/" + fq.Namespace + "/budget"), UID: string(fq.UID), Tenure: 1, Revision: 1000, Granted: several(7),
			})
		}
	}
	return s
}

// comeLate has so many more namespaces announce themselves, the last one first, of which each has so many pods.
func (s *shelf) comeLate(count int, pods int64) {
	for i := range count {
		fq := s.all[0]
		fq.Namespace, fq.UID = fmt.Sprintf("late-%d", i), types.UID(fmt.Sprintf("u-late-%d", i))
		fq.Status.Granted, fq.Status.Used = several(pods), several(pods)
		fq.Status.Pool = &quotav1alpha1.PoolMembership{Name: "vision", UID: "u-vision", Tenure: int64(1 + count - i)}
		s.all, s.byPool["vision"] = append(s.all, fq), append(s.byPool["vision"], fq)
	}
}

// spent returns the nanoseconds of CPU that this process has taken.
func spent(b *testing.B) int64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// BenchmarkRound is a round of a pool of up to 2,000 namespaces, of which one uses something else each time.
func BenchmarkRound(b *testing.B) {
	for _, bc := range []struct {
		name       string
		namespaces int
		others     int
		late       int
		indexed    bool
	}{
		{"100", 100, 0, 0, true}, {"1000", 1000, 0, 0, true}, {"1000 of 5000", 1000, 4000, 0, true}, {"1000 of 5000 without an index", 1000, 4000, 0, false},
		{"2000", 2000, 0, 0, true}, {"2000 and 3000 without room", 2000, 0, 3000, true},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := newShelf(bc.namespaces, bc.others)
			s.comeLate(bc.late, 0)
			clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			r := &Reconciler{
				Client: s, Live: s, Needs: &Needs{}, Trees: &trees.Trees{}, Clock: clock, Recorder: events.NewFakeRecorder(1000), indexed: bc.indexed,
			}
			request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "vision"}}
			b.ReportAllocs()
			before := spent(b)
			for i := 0; b.Loop(); i++ {
				clock.Step(time.Second)
				fq := &s.byPool["vision"][i%bc.namespaces]
				fq.Status.Used = several(int64(i % 5))
				if _, err := r.Reconcile(b.Context(), request); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
			stored, err := json.Marshal(s.pool)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(stored)), "stored-B")
			if len(s.pool.Status.Children) != bc.namespaces {
				b.Fatalf("%d children: %+v", len(s.pool.Status.Children), s.pool.Status.Conditions)
			}
		})
	}
}
