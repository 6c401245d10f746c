package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

// unplaced returns a pod that asks for a CPU and no node has room for since then.
func unplaced(uid types.UID, since time.Time) demand.Pod {
	return demand.Pod{UID: uid, Owner: web.UID, Namespace: key.Namespace, Unplaced: since, Spec: spec("1")}
}

// TestUnscheduled has pods count that have waited for a node for a while, until they have one.
func TestUnscheduled(t *testing.T) {
	late := start.Add(pace.UnschedulableAfter)
	for name, tc := range map[string]struct {
		happens func(b *demand.Book)
		share   func(s *quotav1alpha1.QuotaShare)
		want    amount.List
		pending bool
	}{
		"none":         {happens: func(b *demand.Book) { b.SetPod(podOf("web", "1"), start) }},
		"for a while":  {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start), start); b.SetPod(unplaced("2", start), start) }, want: cpus(2, 2)},
		"for a moment": {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start.Add(1)), start) }, pending: true},
		"at once where nodes may come": {
			happens: func(b *demand.Book) { b.SetPod(unplaced("1", start.Add(1)), start) },
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.MostAllocatable = corev1.ResourceList{"cpu": resource.MustParse("8")}
			},
			want: cpus(1, 1), pending: true,
		},
		"one has a node": {happens: func(b *demand.Book) {
			b.SetPod(unplaced("1", start), start)
			b.SetPod(unplaced("2", start), start)
			b.SetPod(podOf("web", "2"), late)
		}, want: cpus(1, 1)},
		"one is gone": {happens: func(b *demand.Book) {
			b.SetPod(unplaced("1", start), start)
			b.DeletePod(key.Namespace, "1", late)
		}},
		"in another namespace": {happens: func(b *demand.Book) {
			pod := unplaced("1", start)
			pod.Namespace = "other"
			b.SetPod(pod, start)
		}},
		"of a scope that is not counted": {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start), start) },
			share: func(s *quotav1alpha1.QuotaShare) {
				s.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
			}, want: amount.List{}},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			tc.happens(b)
			if tc.share != nil {
				tc.share(s)
			}
			got, pending := b.Unscheduled(s, late)
			if diff := cmp.Diff(tc.want, got); diff != "" || pending != tc.pending {
				t.Errorf("pending: %t; -want +got:\n%s", pending, diff)
			}
		})
	}
}

// TestStranded has pods count that have waited for a while, and are larger than what any node has left.
func TestStranded(t *testing.T) {
	late := start.Add(pace.UnschedulableAfter)
	waits := func(uid types.UID, cpu string, since time.Time) demand.Pod {
		pod := unplaced(uid, since)
		pod.Spec = spec(cpu)
		pod.Unschedulable, pod.Signature = since, signature.Of(pod.Spec)
		return pod
	}
	for name, tc := range map[string]struct {
		happens func(b *demand.Book)
		want    []amount.List
	}{
		"of two shapes": {happens: func(b *demand.Book) {
			b.SetPod(waits("1", "2", start), start)
			b.SetPod(waits("2", "2", start), start)
			b.SetPod(waits("3", "3", start), start)
		}, want: []amount.List{cpus(4, 2), cpus(3, 1)}},
		"one that a node has room for": {happens: func(b *demand.Book) { b.SetPod(waits("1", "1", start), start) }},
		"for a moment":                 {happens: func(b *demand.Book) { b.SetPod(waits("1", "2", start.Add(1)), start) }},
		"one that a gate holds":        {happens: func(b *demand.Book) { b.SetPod(unplaced("1", start), start) }},
		"one that is for a node of its own": {happens: func(b *demand.Book) {
			b.SetWorkload(demand.Workload{Owner: web, Namespace: key.Namespace, Placed: true}, start)
			b.SetPod(waits("1", "2", start), start)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := demand.NewBook()
			tc.happens(b)
			var got []amount.List
			for _, s := range b.Stranded(share(), late, func(requests amount.List) bool { return requests["cpu"] <= 1000 }) {
				got = append(got, s.Amounts)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUnscheduledIsTold has a pod be told of that has waited for a while and has its node now, or is gone: nothing else
// may change then that a share is looked at for.
func TestUnscheduledIsTold(t *testing.T) {
	late := start.Add(pace.UnschedulableAfter)
	b := demand.NewBook()
	if b.SetPod(unplaced("1", start), start) || b.SetPod(unplaced("1", start), late) || b.SetPod(unplaced("2", start), late) {
		t.Error("a pod that waits on is told of")
	}
	if !b.SetPod(podOf("web", "1"), late) {
		t.Error("a pod that has its node is not told of")
	}
	if !b.DeletePod(key.Namespace, "2", late) {
		t.Error("a pod that is gone is not told of")
	}
}

// TestGrowth has pods that find no node hold back only what nodes may not come for: of four that are missing, as many
// count as fit what may still come and no other pod waits for.
func TestGrowth(t *testing.T) {
	node := func(cpu, pods int64) amount.List {
		return amount.List{corev1.ResourceCPU: cpu * 1000, corev1.ResourcePods: pods}
	}
	for name, tc := range map[string]struct {
		most    corev1.ResourceList
		has     amount.List
		waiting int    // pods of the workload without a node
		others  string // what a pod of another namespace waits for, in CPUs
		want    amount.List
		full    bool
	}{
		"nobody knows what may come":       {has: node(2, 110), waiting: 1, full: true},
		"nobody knows what there is":       {most: list("cpu", "20", "pods", "880"), waiting: 1, full: true},
		"as much as is missing":            {most: list("cpu", "8", "pods", "220"), has: node(2, 110), waiting: 2, want: cpus(4, 4)},
		"a part of it":                     {most: list("cpu", "5", "pods", "220"), has: node(2, 110), waiting: 1, want: cpus(2, 2), full: true},
		"what others wait for":             {most: list("cpu", "7", "pods", "220"), has: node(2, 110), waiting: 1, others: "2", want: cpus(2, 2), full: true},
		"all of it is waited for":          {most: list("cpu", "4", "pods", "220"), has: node(2, 110), waiting: 2, full: true},
		"all nodes have come":              {most: list("cpu", "8", "pods", "220"), has: node(8, 220), waiting: 1, full: true},
		"more nodes have come than should": {most: list("cpu", "8", "pods", "220"), has: node(9, 330), waiting: 1, full: true},
		"nothing of what they need":        {most: list("pods", "220"), has: node(2, 110), waiting: 1, full: true},
		"places for pods alone are few":    {most: list("cpu", "80", "pods", "113"), has: node(2, 110), waiting: 1, want: cpus(2, 2), full: true},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := demand.NewBook(), share()
			s.Spec.MostAllocatable = tc.most
			if tc.has != nil {
				b.SetAllocatable(tc.has)
			}
			for i := range tc.waiting {
				pod := stuck("web", "1")
				pod.UID = types.UID(fmt.Sprint(i))
				b.SetPod(pod, start)
			}
			if tc.others != "" {
				b.SetPod(demand.Pod{
					UID: "other", Namespace: "other", Unschedulable: start, Signature: signature.Of(spec(tc.others)),
				}, start)
			}
			b.SetWorkload(workload(int64(tc.waiting+4)), start)
			late := start.Add(pace.UnschedulableAfter)
			got := total(b, s, late)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if full := b.Full(s, late); full != tc.full {
				t.Errorf("full: %t", full)
			}
		})
	}
}

// list returns the quantities of pairs of names and numbers.
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}
