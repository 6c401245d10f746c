package demand_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// rolling is a book in which a Deployment of four pods is about to be updated.
type rolling struct {
	*demand.Book
	now  time.Time
	pods int // ever made
}

// set notes a ReplicaSet of the Deployment, which is to have so many pods of all its ReplicaSets.
func (r *rolling) set(revision, desired int64, of *int64, change ...func(*demand.Workload)) bool {
	w := workload(desired)
	if desired == 0 {
		w.Template = nil
	}
	w.UID = types.UID(fmt.Sprint(revision))
	w.Rollout = demand.Rollout{Of: "deployment", Revision: revision, Pods: of}
	for _, c := range change {
		c(&w)
	}
	return r.SetWorkload(w, r.now)
}

// add adds pods of a revision.
func (r *rolling) add(revision int64, pods int) {
	for range pods {
		r.pods++
		r.SetPod(podOf(types.UID(fmt.Sprint(revision)), types.UID(fmt.Sprint(r.pods))), r.now)
	}
}

// end has the n-th pod end, and go has it gone.
func (r *rolling) end(revision int64, n int) {
	p := podOf(types.UID(fmt.Sprint(revision)), types.UID(fmt.Sprint(n)))
	p.Terminating = true
	r.SetPod(p, r.now)
}

func (r *rolling) gone(n int) { r.DeletePod(key.Namespace, types.UID(fmt.Sprint(n)), r.now) }

func (r *rolling) wait(d time.Duration) { r.now = r.now.Add(d) }

// lost looks at what is kept, as an agent does now and then while anything is.
func (r *rolling) lost() amount.List {
	lost, _ := r.Replacing(share(), r.now)
	return lost
}

// TestReplacing follows updates of a Deployment with four pods of a CPU each.
func TestReplacing(t *testing.T) {
	four := new(int64(4))
	update := func(r *rolling) { // one pod of each revision is missing
		r.set(2, 1, four)
		r.set(1, 3, four)
	}
	for name, tc := range map[string]struct {
		happens func(r *rolling)
		want    amount.List
	}{
		"nothing":                       {happens: func(*rolling) {}},
		"a pod that somebody deletes":   {happens: func(r *rolling) { r.end(1, 1) }},
		"new pods beside the others":    {happens: func(r *rolling) { r.set(2, 1, four) }},
		"a pod that is to go":           {happens: update, want: cpus(1, 1)},
		"that ends":                     {happens: func(r *rolling) { update(r); r.end(1, 1) }, want: cpus(1, 1)},
		"that is gone":                  {happens: func(r *rolling) { update(r); r.end(1, 1); r.gone(1) }, want: cpus(1, 1)},
		"that was gone first":           {happens: func(r *rolling) { r.set(2, 1, four); r.gone(1); r.set(1, 3, four) }, want: cpus(1, 1)},
		"in whose place another one is": {happens: func(r *rolling) { update(r); r.gone(1); r.add(2, 1) }},
		"all pods made anew at once":    {happens: func(r *rolling) { r.set(1, 0, four) }, want: cpus(4, 4)},
		"all, and new ones are to come": {happens: func(r *rolling) { r.set(1, 0, four); r.gone(1); r.set(2, 4, four) }, want: cpus(4, 4)},
		"all but the last one":          {happens: func(r *rolling) { r.set(1, 0, four); r.set(2, 4, four); r.add(2, 3) }, want: cpus(1, 1)},
		"scaled down":                   {happens: func(r *rolling) { r.set(1, 3, new(int64(3))) }},
		"scaled down to nothing":        {happens: func(r *rolling) { r.set(1, 0, new(int64(0))) }},
		"scaled down within":            {happens: func(r *rolling) { update(r); r.set(2, 1, new(int64(3))); r.set(1, 2, new(int64(3))) }, want: cpus(1, 1)},
		"scaled up":                     {happens: func(r *rolling) { r.set(1, 6, new(int64(6))) }},
		"scaled up within":              {happens: func(r *rolling) { update(r); r.set(2, 3, new(int64(6))) }, want: cpus(1, 1)},
		"back to an earlier revision":   {happens: func(r *rolling) { r.set(0, 0, new(int64(1))); r.set(3, 0, new(int64(1))); r.set(1, 3, four) }, want: cpus(1, 1)},
		"deleted": {happens: func(r *rolling) {
			update(r)
			r.DeleteWorkload(key.Namespace, "1")
			r.DeleteWorkload(key.Namespace, "2")
		}},
		"left to nobody":              {happens: func(r *rolling) { update(r); r.set(1, 3, nil, alone); r.set(2, 1, nil, alone) }},
		"by who says no number":       {happens: func(r *rolling) { r.set(2, 1, nil); r.set(1, 3, nil) }, want: cpus(1, 1)},
		"for long":                    {happens: func(r *rolling) { update(r); r.wait(pace.RolloutPatience - 1) }, want: cpus(1, 1)},
		"for too long":                {happens: func(r *rolling) { update(r); r.wait(pace.RolloutPatience) }},
		"and the next one after that": {happens: func(r *rolling) { update(r); r.wait(pace.RolloutPatience); r.set(1, 2, four) }},
		"again and again": {happens: func(r *rolling) {
			r.repeat(9*time.Minute, 0)
			r.set(3, 1, four)
			r.set(2, 3, four)
			r.wait(time.Minute)
		}},
		"again when it has rested": {happens: func(r *rolling) {
			r.repeat(9*time.Minute, time.Minute)
			r.set(3, 1, four)
			r.set(2, 3, four)
			r.wait(time.Minute)
		}, want: cpus(1, 1)},
		"it rests no longer than it had": {happens: func(r *rolling) {
			r.repeat(time.Minute, time.Hour)
			r.set(3, 1, four)
			r.set(2, 3, four)
			r.wait(pace.RolloutPatience)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rolling{Book: demand.NewBook(), now: start}
			r.set(1, 4, four)
			r.add(1, 4)
			tc.happens(r)
			if diff := cmp.Diff(tc.want, r.lost()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// alone makes a ReplicaSet one of its own.
func alone(w *demand.Workload) { w.Rollout = demand.Rollout{} }

// repeat has an update lack a pod for so long, and then nothing happen for a while.
func (r *rolling) repeat(lacks, rests time.Duration) {
	four := new(int64(4))
	r.set(2, 1, four)
	r.set(1, 0, four)
	r.wait(lacks)
	r.set(2, 4, four)
	r.add(2, 4)
	for n := range 4 {
		r.gone(n + 1)
	}
	r.wait(rests)
}

// TestReplacingIsTold has what is kept be looked at when it changes, and as long as time may change it.
func TestReplacingIsTold(t *testing.T) {
	four := new(int64(4))
	r := &rolling{Book: demand.NewBook(), now: start}
	r.set(1, 4, four)
	r.add(1, 4)
	if _, pending := r.Replacing(share(), r.now); pending {
		t.Error("time changes what is not kept")
	}
	if r.set(2, 0, four) {
		t.Error("told of an update that has ended no pod")
	}
	if !r.set(1, 3, four) {
		t.Error("not told that a pod is to go")
	}
	if _, pending := r.Replacing(share(), r.now); !pending {
		t.Error("time does not change what is kept")
	}
	if !r.set(1, 4, four) {
		t.Error("not told that it stays")
	}
}

// TestReplacingInVain has an update make nothing of the room there is: none is kept for it, until there is none.
func TestReplacingInVain(t *testing.T) {
	four := new(int64(4))
	r := &rolling{Book: demand.NewBook(), now: start}
	r.set(1, 4, four)
	r.add(1, 4)
	r.set(2, 1, four)
	r.set(1, 3, four)
	s := share()
	for _, tc := range []struct {
		hard, used string
		after      time.Duration
		want       amount.List
	}{
		{"4", "4", pace.FutileAfter, cpus(1, 1)},
		{"4", "3", 0, cpus(1, 1)},
		{"4", "3", pace.UnseenFor, cpus(1, 1)},
		{"4", "3", pace.UnseenFor, cpus(1, 1)},
		{"4", "3", pace.UnseenFor, nil},
		{"3", "3", 1, cpus(1, 1)},
	} {
		r.wait(tc.after)
		s.Status.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse(tc.hard), "pods": resource.MustParse(tc.hard)}
		s.Status.Used = corev1.ResourceList{"requests.cpu": resource.MustParse(tc.used), "pods": resource.MustParse(tc.used)}
		got, pending := r.Replacing(s, r.now)
		if diff := cmp.Diff(tc.want, got); diff != "" || !pending {
			t.Errorf("%s of %s used, pending is %t: -want +got:\n%s", tc.used, tc.hard, pending, diff)
		}
	}
}

// TestReplacingWithin has a StatefulSet replace its own pods, one by one.
func TestReplacingWithin(t *testing.T) {
	r := &rolling{Book: demand.NewBook(), now: start}
	within := func(replaces bool) {
		r.set(0, 4, new(int64(4)), func(w *demand.Workload) { w.OneByOne, w.Rollout.Within = true, replaces })
	}
	within(false)
	r.add(0, 4)
	within(true)
	steps := []struct {
		what    string
		happens func()
		want    amount.List
	}{
		{"nothing has ended", func() {}, nil},
		{"one ends", func() { r.end(0, 4) }, cpus(1, 1)},
		{"one is gone", func() { r.gone(4) }, cpus(1, 1)},
		{"it is there again", func() { r.add(0, 1) }, nil},
		{"the last one is gone", func() { r.gone(1) }, cpus(1, 1)},
		{"its controller has ended the update", func() { within(false) }, cpus(1, 1)},
		{"it is there again", func() { r.add(0, 1) }, nil},
		{"somebody deletes one", func() { r.gone(2) }, nil},
	}
	for _, step := range steps {
		step.happens()
		if diff := cmp.Diff(step.want, r.lost()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", step.what, diff)
		}
	}
}
