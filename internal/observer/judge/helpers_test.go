package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/observer/report"
)

// quota builds a version of the managed object as a member would deliver it.
type quota struct{ rq *corev1.ResourceQuota }

func makeQuota(resourceVersion int) quota {
	return quota{&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
		Name: "compute", Namespace: "team-a", UID: "one", ResourceVersion: strconv.Itoa(resourceVersion),
		Labels:      map[string]string{"quota.fedquota.io/managed": "true"},
		Annotations: map[string]string{"quota.fedquota.io/revision": "1"},
	}}}
}

func (q quota) UID(uid types.UID) quota { q.rq.UID = uid; return q }
func (q quota) Unmanaged() quota        { q.rq.Labels = nil; return q }
func (q quota) Revision(r string) quota {
	q.rq.Annotations["quota.fedquota.io/revision"] = r
	return q
}

// Released hands it over to the users of the member.
func (q quota) Released() quota {
	q.rq.Labels, q.rq.Annotations = nil, map[string]string{"quota.fedquota.io/released": "1"}
	return q
}
func (q quota) Spec(hard string) quota { q.rq.Spec.Hard = amounts(hard); return q }
func (q quota) Hard(hard string) quota { q.rq.Status.Hard = amounts(hard); return q }
func (q quota) Used(used string) quota { q.rq.Status.Used = amounts(used); return q }

// Limit sets the limit both in the spec and in force.
func (q quota) Limit(hard string) quota    { return q.Spec(hard).Hard(hard) }
func (q quota) Obj() *corev1.ResourceQuota { return q.rq }
func pods(hard, used int64, rv int) quota {
	return makeQuota(rv).Limit(podText(hard)).Used(podText(used))
}
func podText(n int64) string                     { return fmt.Sprintf("pods=%d", n) }
func amount(text string) resource.Quantity       { return resource.MustParse(text) }
func same(q resource.Quantity, text string) bool { return q.Cmp(amount(text)) == 0 }

// amounts reads "pods=3,requests.cpu=500m".
func amounts(text string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			list[corev1.ResourceName(name)] = resource.MustParse(value)
		}
	}
	return list
}

// run drives a judge along a clock of its own, one millisecond per call.
type run struct {
	*Judge
	now time.Time
}

func newRun(budget string, members ...string) *run {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &run{Judge: New(members, amounts(budget), start), now: start}
}

func (r *run) tick() time.Time {
	r.now = r.now.Add(time.Millisecond)
	return r.now
}

func (r *run) see(member string, how Step, q quota) bool {
	return r.Observe(member, q.Obj(), r.tick(), how)
}
func (r *run) seeGone(member string) bool { return r.Observe(member, nil, r.tick(), Next) }
func (r *run) probe()                     { r.Begin(r.tick()) }
func (r *run) reads(member string, rv int) {
	r.Read(member, Reading{ResourceVersion: strconv.Itoa(rv), At: r.tick()})
}

func (r *run) resource(t *testing.T, name corev1.ResourceName) report.ResourceReport {
	t.Helper()
	resources := r.Report(r.now).Resources
	i := slices.IndexFunc(resources, func(res report.ResourceReport) bool { return res.Name == name })
	if i < 0 {
		t.Fatalf("no report for %s", name)
	}
	return resources[i]
}

// twoFull returns a run in which a and b hold 6 + 4 of 10.
func twoFull() *run {
	r := newRun("pods=10", "a", "b")
	r.see("a", First, pods(6, 0, 1))
	r.see("b", First, pods(4, 0, 1))
	return r
}
