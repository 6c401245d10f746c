package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

var (
	start = time.Unix(1000, 0)
	key   = types.NamespacedName{Namespace: "team", Name: "compute"}
	web   = demand.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}
	bare  = demand.Owner{Kind: "Pod", Name: "bare"}
)

// onePod is the signature of a pod that asks for a CPU.
var onePod = signature.Of(workload(1).Template)

// later is long after the start for a workload that makes no progress.
const later = 3 * time.Second

func share() *quotav1alpha1.QuotaShare {
	return &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: quotav1alpha1.QuotaShareSpec{Hard: corev1.ResourceList{
			"requests.cpu": resource.MustParse("10"), "pods": resource.MustParse("10"), "secrets": resource.MustParse("1"),
		}},
	}
}

// workload returns one whose pods ask for a CPU each.
func workload(desired int64) demand.Workload {
	return demand.Workload{Owner: web, Namespace: key.Namespace, Desired: desired, Template: spec("1")}
}

// stating returns one that makes no pods, and wants room for them.
func stating(desired int64) demand.Workload {
	w := workload(desired)
	w.StatedUntil = start.Add(pace.LongestStatement)
	return w
}

// spec is that of a pod that asks for cpu.
func spec(cpu string) *corev1.PodSpec {
	return &corev1.PodSpec{
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}},
	}
}

// stuck returns a pod that asks for cpu, and that no node has room for since the start.
func stuck(owner types.UID, cpu string, change ...func(*corev1.PodSpec)) demand.Pod {
	s := spec(cpu)
	for _, c := range change {
		c(s)
	}
	return demand.Pod{UID: "1", Owner: owner, Namespace: key.Namespace, Unschedulable: start, Signature: signature.Of(s)}
}

func podOf(owner, uid types.UID) demand.Pod {
	return demand.Pod{UID: uid, Owner: owner, Namespace: key.Namespace}
}

// cpus returns the charge of pods that ask for so many CPUs together.
func cpus(cpu, pods int64) amount.List {
	return amount.List{"requests.cpu": cpu * 1000, "pods": pods}
}

func TestDemand(t *testing.T) {
	none := amount.List{}
	tests := map[string]struct {
		happens func(b *demand.Book)
		after   time.Duration
		share   func(s *quotav1alpha1.QuotaShare)
		want    amount.List
		full    bool
	}{
		"nothing": {happens: func(*demand.Book) {}, want: none},
		"a workload that goes on after a request of it was held": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.End(key, web, cpus(1, 1), true, start)
			b.SetPod(podOf(web.UID, "1"), start)
		}, want: cpus(2, 2)},
		"a workload that is known only after a request of it was held": {happens: func(b *demand.Book) {
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.SetWorkload(workload(3), start.Add(pace.Memory))
			b.End(key, web, cpus(1, 1), false, start.Add(pace.Memory))
			b.SetWorkload(workload(4), start.Add(2*pace.Memory))
		}, after: 2 * pace.Memory, want: cpus(4, 4)},
		"and that lacks nothing any more": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(1), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.End(key, web, cpus(1, 1), true, start)
			b.SetPod(podOf(web.UID, "1"), start)
			b.SetWorkload(workload(3), start)
		}, want: none},
		"a workload that is just scaled":    {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }, want: none},
		"a workload that makes no progress": {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }, after: later, want: cpus(3, 3)},
		"a workload that makes progress": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.SetPod(podOf("web", "1"), start.Add(later-time.Second))
		}, after: later, want: none},
		"pods that are there": {happens: func(b *demand.Book) {
			b.SetPod(podOf("web", "1"), start)
			b.SetPod(podOf("other", "2"), start)
			b.SetWorkload(workload(3), start)
		}, after: later, want: cpus(2, 2)},
		"all pods are there": {happens: func(b *demand.Book) {
			b.SetPod(podOf("web", "1"), start)
			b.SetWorkload(workload(1), start)
		}, after: later, want: none},
		"a pod that has ended or is being deleted is none": {happens: func(b *demand.Book) {
			b.SetPod(podOf("web", "1"), start)
			b.SetPod(podOf("web", "2"), start)
			b.SetWorkload(workload(2), start)
			b.SetPod(demand.Pod{UID: "1", Owner: "web", Namespace: key.Namespace, Ended: true}, start)
			b.SetPod(demand.Pod{UID: "2", Owner: "web", Namespace: key.Namespace, Terminating: true}, start)
		}, after: later, want: cpus(2, 2)},
		"a pod that is replaced when it is gone": {happens: func(b *demand.Book) {
			w := workload(2)
			w.OneByOne = true
			b.SetWorkload(w, start)
			b.SetPod(demand.Pod{UID: "1", Owner: "web", Namespace: key.Namespace, Terminating: true}, start)
		}, after: later, want: cpus(1, 1)},
		"a pod that is gone": {happens: func(b *demand.Book) {
			b.SetPod(podOf("web", "1"), start)
			b.SetWorkload(workload(1), start)
			b.DeletePod(key.Namespace, "1", start)
		}, after: later, want: cpus(1, 1)},
		"a workload that waits for its own pods": {happens: func(b *demand.Book) {
			w := workload(3)
			w.Blocked = true
			b.SetWorkload(w, start)
		}, after: later, want: none},
		"a workload that is gone": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.End(key, web, cpus(1, 1), false, start)
			b.DeleteWorkload(key.Namespace, "web")
		}, after: later, want: none},
		"a refusal speaks for the whole workload": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
		}, want: cpus(3, 3)},
		"the charge that was seen goes before the template's": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(2, 1), start)
		}, want: cpus(6, 3)},
		"more requests than the workload is known to lack": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(1), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
		}, want: cpus(2, 2)},
		"an owner that is not known": {happens: func(b *demand.Book) {
			b.Hold(key, web, onePod, cpus(1, 1), start)
			b.Hold(key, web, onePod, cpus(1, 1), start)
		}, want: cpus(2, 2)},
		"the same request tried again": {happens: func(b *demand.Book) {
			for range 5 {
				b.Hold(key, bare, onePod, cpus(1, 1), start)
				b.End(key, bare, cpus(1, 1), false, start)
			}
		}, want: cpus(1, 1)},
		"a request that goes on": {happens: func(b *demand.Book) {
			b.Hold(key, bare, onePod, cpus(1, 1), start)
			b.End(key, bare, cpus(1, 1), true, start)
		}, want: none},
		"refused requests of which one fits when it is tried again": {happens: func(b *demand.Book) {
			for range 2 {
				b.Hold(key, bare, onePod, cpus(1, 1), start)
			}
			for range 2 {
				b.End(key, bare, cpus(1, 1), false, start)
			}
			b.Admitted(key, bare, cpus(1, 1), start)
		}, want: cpus(1, 1)},
		"a request that fits while another one is held": {happens: func(b *demand.Book) {
			b.Hold(key, bare, onePod, cpus(2, 1), start)
			b.Admitted(key, bare, cpus(1, 1), start)
		}, want: cpus(2, 1)},
		"a request that is almost forgotten": {happens: func(b *demand.Book) {
			b.Hold(key, bare, onePod, cpus(1, 1), start)
			b.End(key, bare, cpus(1, 1), false, start)
		}, after: pace.Memory - 1, want: cpus(1, 1)},
		"a request that is forgotten": {happens: func(b *demand.Book) {
			b.Hold(key, bare, onePod, cpus(1, 1), start)
			b.End(key, bare, cpus(1, 1), false, start)
		}, after: pace.Memory, want: none},
		"a request that is still held": {happens: func(b *demand.Book) {
			b.Hold(key, bare, onePod, cpus(1, 1), start)
		}, after: 2 * pace.Memory, want: cpus(1, 1)},
		"a workload in back-off, long after its request": {happens: func(b *demand.Book) {
			w := workload(3)
			w.Blocked = true // its controller does not say that it was refused
			b.SetWorkload(w, start)
			b.Hold(key, web, onePod, cpus(2, 1), start)
			b.End(key, web, cpus(2, 1), false, start)
		}, after: 10 * time.Minute, want: cpus(6, 3)},
		"a workload whose template has changed since it was refused": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(8, 1), start)
			b.End(key, web, cpus(8, 1), false, start)
			changed := workload(3)
			changed.Template = spec("2")
			b.SetWorkload(changed, start)
			b.SetPod(podOf("web", "1"), start)
		}, after: pace.Memory, want: cpus(4, 2)},
		"a workload that was written anew since it was refused": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, web, onePod, cpus(2, 1), start)
			b.End(key, web, cpus(2, 1), false, start)
			b.SetWorkload(workload(3), start)
		}, after: pace.Memory, want: cpus(6, 3)},
		"a workload that has its pods after back-off": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(1), start)
			b.Hold(key, web, onePod, cpus(2, 1), start)
			b.End(key, web, cpus(2, 1), false, start)
			b.SetPod(podOf("web", "1"), start)
		}, after: pace.Memory, want: none},
		"another share's": {happens: func(b *demand.Book) {
			b.Hold(types.NamespacedName{Namespace: key.Namespace, Name: "other"}, bare, onePod, cpus(1, 1), start)
		}, want: none},
		"a scope that the workload does not match": {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }, after: later,
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
			}, want: none},
		"pods that ask for all there is": {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }, after: later,
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.Fleet.Budget = corev1.ResourceList{"requests.cpu": resource.MustParse("1"), "requests.memory": resource.MustParse("0")}
			}, want: cpus(3, 3)},
		"pods that ask for more than there is": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.Hold(key, bare, onePod, cpus(1, 1), start)
		}, after: later, share: func(s *quotav1alpha1.QuotaShare) {
			s.Spec.Fleet.Budget = corev1.ResourceList{"requests.cpu": resource.MustParse("999m"), "pods": resource.MustParse("9")}
		}, want: cpus(1, 1)},
		"room that is wanted": {happens: func(b *demand.Book) { b.SetWorkload(stating(3), start) }, want: cpus(3, 3)},
		"room that is wanted and there": {happens: func(b *demand.Book) { b.SetWorkload(stating(3), start) }, after: pace.LongestStatement - 1,
			share: func(s *quotav1alpha1.QuotaShare) { s.Status.Hard = s.Spec.Hard }, want: cpus(3, 3)},
		"room that was wanted": {happens: func(b *demand.Book) { b.SetWorkload(stating(3), start) }, after: pace.LongestStatement, want: none},
		"room for more than there is": {happens: func(b *demand.Book) { b.SetWorkload(stating(1000), start) },
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.Fleet.Budget = corev1.ResourceList{"requests.cpu": resource.MustParse("12500m"), "pods": resource.MustParse("40")}
			}, want: cpus(12, 12)},
		"room for pods that ask for more than there is": {happens: func(b *demand.Book) { b.SetWorkload(stating(2), start) },
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.Fleet.Budget = corev1.ResourceList{"requests.cpu": resource.MustParse("999m"), "pods": resource.MustParse("40")}
			}, want: none},
		"room for pods of which some are there": {happens: func(b *demand.Book) {
			b.SetPod(podOf("web", "1"), start)
			b.SetWorkload(stating(3), start)
		}, want: cpus(2, 2)},
		"a node without room for its pod, where each node has its own": {happens: func(b *demand.Book) {
			w := workload(3)
			w.Placed = true
			b.SetWorkload(w, start)
			b.SetPod(stuck("web", "1"), start)
		}, after: time.Minute, want: cpus(2, 2)},
		"pods that no node has room for, for a moment": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.SetPod(stuck("web", "1"), start)
		}, after: later, want: cpus(2, 2)},
		"pods that no node has room for": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.SetPod(stuck("web", "1"), start)
			b.Hold(key, bare, onePod, cpus(1, 1), start)
			b.Hold(key, demand.Owner{Kind: "Secret", Name: "s"}, nil, amount.List{"secrets": 1}, start)
		}, after: 30 * time.Second, want: amount.List{"secrets": 1}, full: true},
		"pods that no node has room for, and more of them that fit": {happens: func(b *demand.Book) {
			b.SetPod(stuck("web", "1"), start)
			b.SetWorkload(workload(3), start.Add(30*time.Second))
		}, after: 30 * time.Second, want: none, full: true},
		"pods that no node has room for, and no more of them": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(1), start)
			b.SetPod(stuck("web", "1"), start)
		}, after: 30 * time.Second, want: none},
		"one of many that asks for less": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.SetPod(stuck("big", "2"), start)
		}, after: 30 * time.Second, want: cpus(3, 3)},
		"one that asks for more": {happens: func(b *demand.Book) {
			b.SetPod(stuck("web", "1"), start)
			b.Hold(key, bare, signature.Of(spec("2")), cpus(2, 1), start)
		}, after: 30 * time.Second, want: none, full: true},
		"one for other nodes": {happens: func(b *demand.Book) {
			b.SetPod(stuck("gpu", "1", func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"gpu": "yes"} }), start)
			b.SetWorkload(workload(3), start)
		}, after: 30 * time.Second, want: cpus(3, 3)},
		"one that waits for a GPU": {happens: func(b *demand.Book) {
			b.SetPod(stuck("gpu", "1", func(s *corev1.PodSpec) {
				s.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
			}), start)
			b.SetWorkload(workload(3), start)
		}, after: 30 * time.Second, want: cpus(3, 3)},
		"one of a lower priority": {happens: func(b *demand.Book) {
			b.SetPod(stuck("low", "1", func(s *corev1.PodSpec) { s.PriorityClassName = "low" }), start)
			b.SetWorkload(workload(3), start)
		}, after: 30 * time.Second, want: cpus(3, 3)},
		"one with the tolerations that every pod gets": {happens: func(b *demand.Book) {
			b.SetPod(stuck("other", "1", func(s *corev1.PodSpec) {
				s.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
			}), start)
			b.SetWorkload(workload(3), start)
		}, after: 30 * time.Second, want: none, full: true},
		"one of a group that has yet to be complete": {happens: func(b *demand.Book) {
			waiting := stuck("web", "1")
			waiting.Grouped = true
			b.SetWorkload(workload(3), start)
			b.SetPod(waiting, start)
		}, after: 30 * time.Second, want: cpus(2, 2)},
		"pods that were scheduled after all": {happens: func(b *demand.Book) {
			b.SetWorkload(workload(3), start)
			b.SetPod(stuck("web", "1"), start)
			b.SetPod(podOf("web", "1"), start)
		}, after: 30 * time.Second, want: cpus(2, 2)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			if tc.share != nil {
				tc.share(s)
			}
			tc.happens(b)
			got := total(b, s, start.Add(tc.after))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if full := b.Full(s, start.Add(tc.after)); full != tc.full {
				t.Errorf("full: %t", full)
			}
		})
	}
}

func TestAsleep(t *testing.T) {
	refuse := func(b *demand.Book) {
		b.Hold(key, web, onePod, cpus(2, 1), start)
		b.End(key, web, cpus(2, 1), false, start)
	}
	tests := map[string]struct {
		happens func(b *demand.Book)
		after   time.Duration
		want    int64 // missing pods
		refused bool
	}{
		"about to make its pods": {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }},
		"stopped":                {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start) }, after: later, want: 3},
		"wants room alone":       {happens: func(b *demand.Book) { b.SetWorkload(stating(3), start) }, after: later},
		"refused":                {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start); refuse(b) }, want: 3, refused: true},
		"refused long ago":       {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start); refuse(b) }, after: time.Hour, want: 3, refused: true},
		"its controller says that it was refused": {happens: func(b *demand.Book) {
			w := workload(3)
			w.RefusedBy = key.Name
			b.SetWorkload(w, start)
		}, after: later, want: 3, refused: true},
		"its request is held":         {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start); b.Hold(key, web, onePod, cpus(1, 1), start) }, after: later},
		"refused, and complete since": {happens: func(b *demand.Book) { b.SetWorkload(workload(3), start); refuse(b); b.SetWorkload(workload(0), start) }, after: later},
		"blocked": {happens: func(b *demand.Book) {
			w := workload(3)
			w.Blocked = true
			b.SetWorkload(w, start)
		}, after: later},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := demand.NewBook()
			tc.happens(b)
			var got int64
			for _, sleeper := range b.Asleep(share(), start.Add(tc.after)) {
				got += sleeper.Missing
				if sleeper.Refused != tc.refused {
					t.Errorf("refused: %t", sleeper.Refused)
				}
			}
			if got != tc.want {
				t.Errorf("got %d missing pods of sleepers, want %d", got, tc.want)
			}
		})
	}
}

// total returns all of the demand in a book.
func total(b *demand.Book, share *quotav1alpha1.QuotaShare, now time.Time, elsewhere ...map[string]shape.Shape) amount.List {
	needs, _ := b.Demand(share, now, elsewhere...)
	return shape.Total(needs)
}
