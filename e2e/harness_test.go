package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/observer"
)

const (
	pollInterval = 25 * time.Millisecond
	// patience is how long anything may take that is bound to come.
	patience = 90 * time.Second

	cpu  = corev1.ResourceRequestsCPU
	pods = corev1.ResourcePods

	quotaName = "compute"
)

// scenario is one FederatedQuota in a namespace of its own, watched by an observer until finish.
type scenario struct {
	*world
	*testing.T
	key      types.NamespacedName
	observer *observer.Observer
	began    time.Time

	storms    []*storm
	witnesses []witness
	result    result
}

// witness is a pod that has to outlive the scenario.
type witness struct {
	member, name string
	uid          types.UID
}

// amounts are limits of a resource, member by member.
type amounts map[corev1.ResourceName][]string

// newScenario makes the namespace on the hub, and starts the observer before there is a FederatedQuota.
func newScenario(t *testing.T, w *world, namespace string, hard corev1.ResourceList) *scenario {
	t.Helper()
	s := &scenario{world: w, T: t, key: types.NamespacedName{Namespace: namespace, Name: quotaName}, began: time.Now()}
	s.result.Scenario, s.result.Members = t.Name(), len(w.Members)
	s.must(client.IgnoreAlreadyExists(w.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})))
	s.observe(hard)
	t.Cleanup(s.cleanup)
	return s
}

// observe starts an observer. The context of a test ends before its cleanups, and this one is stopped there at the latest.
func (s *scenario) observe(hard corev1.ResourceList) {
	s.Helper()
	o, err := observer.Watch(context.WithoutCancel(s.Context()), observer.Options{
		Members: s.watchers, Namespace: s.key.Namespace, Name: s.key.Name, Budget: hard,
		OnExcess: func(e observer.Excess) { s.Logf("EXCESS: %+v", e) },
	})
	s.must(err)
	s.observer = o
}

// must ends the scenario if there is an error.
func (s *scenario) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until check finds nothing wrong.
func (s *scenario) eventually(what string, check func(ctx context.Context) error) {
	s.Helper()
	if err := await(s.Context(), check); err != nil {
		s.Fatalf("%s: %v\n%s", what, err, s.dump())
	}
}

// await polls until check finds nothing wrong, or returns the last that was.
func await(ctx context.Context, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}

// holds sees that check finds nothing wrong for a while.
func (s *scenario) holds(what string, duration time.Duration, check func(ctx context.Context) error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), duration)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if err := check(s.Context()); err != nil {
			s.Fatalf("%s: %v\n%s", what, err, s.dump())
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// federatedQuota reads the FederatedQuota.
func (s *scenario) federatedQuota(ctx context.Context) (*quotav1alpha1.FederatedQuota, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	return fq, s.hub.Get(ctx, s.key, fq)
}

// create creates the FederatedQuota over all members of tier prod, weights 3:2:1, changed by mutate.
func (s *scenario) create(hard corev1.ResourceList, mutate ...func(*quotav1alpha1.FederatedQuota)) {
	s.Helper()
	fq := newQuota(s.key, hard)
	for _, m := range mutate {
		m(fq)
	}
	s.must(s.hub.Create(s.Context(), fq))
}

func newQuota(key types.NamespacedName, hard corev1.ResourceList) *quotav1alpha1.FederatedQuota {
	return &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: hard,
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{tierLabel: "prod"}},
				CreateNamespace: new(true),
			},
			Distribution: quotav1alpha1.Distribution{Weights: quotav1alpha1.WeightsStatic, Rules: weights(3, 2, 1)},
			Rebalance:    quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceStatic},
		},
	}
}

// weights are the rules that give east, west and north these weights.
func weights(values ...int32) []quotav1alpha1.DistributionRule {
	var rules []quotav1alpha1.DistributionRule
	for i, name := range []quotav1alpha1.ClusterName{east, west, north} {
		rules = append(rules, quotav1alpha1.DistributionRule{Clusters: []quotav1alpha1.ClusterName{name}, Weight: &values[i]})
	}
	return rules
}

// budget is a list of cpu and pods.
func budget(cpus, count string) corev1.ResourceList {
	return corev1.ResourceList{cpu: resource.MustParse(cpus), pods: resource.MustParse(count)}
}

// change changes the FederatedQuota, and tells the observer of another budget.
func (s *scenario) change(mutate func(*quotav1alpha1.FederatedQuota)) {
	s.Helper()
	s.must(s.tryChange(s.Context(), mutate))
}

func (s *scenario) tryChange(ctx context.Context, mutate func(*quotav1alpha1.FederatedQuota)) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	stored := fq.DeepCopy()
	mutate(fq)
	write := func(ctx context.Context) error { return s.hub.Patch(ctx, fq, client.MergeFrom(stored)) }
	if quotav1.Equals(stored.Spec.Hard, fq.Spec.Hard) {
		return write(ctx)
	}
	return s.observer.ChangeBudget(ctx, fq.Spec.Hard, write)
}

// quota reads the ResourceQuota of a member.
func (s *scenario) quota(ctx context.Context, member string) (*corev1.ResourceQuota, error) {
	quota := &corev1.ResourceQuota{}
	return quota, s.member(member).Get(ctx, s.key, quota)
}

// settle waits until the hub says that all is settled and the members show it, and lowers the observer's ceiling to what
// is granted then.
func (s *scenario) settle() {
	s.Helper()
	start := time.Now()
	s.eventually("settling", s.settled)
	s.result.longestSettle(time.Since(start))
	fq, err := s.federatedQuota(s.Context())
	s.must(err)
	s.observer.SetGranted(fq.Status.Granted, time.Now())
}

// settled says what is not settled.
func (s *scenario) settled(ctx context.Context) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	ready := apimeta.FindStatusCondition(fq.Status.Conditions, quotav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != fq.Generation {
		return fmt.Errorf("not ready: %+v", ready)
	}
	var errs []error
	for _, c := range fq.Status.Clusters {
		errs = append(errs, s.enforces(ctx, c))
	}
	return errors.Join(errs...)
}

// enforces says how a member differs from its settled entry.
func (s *scenario) enforces(ctx context.Context, c quotav1alpha1.ClusterStatus) error {
	quota, err := s.quota(ctx, string(c.Name))
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	revision := quota.Annotations[quotav1alpha1.RevisionAnnotation]
	if c.Target != nil || revision != fmt.Sprint(c.Revision) ||
		!quotav1.Equals(quota.Spec.Hard, c.Granted) || !quotav1.Equals(quota.Status.Hard, c.Granted) {
		return fmt.Errorf("cluster %s: granted %s target %s revision %d; enforced %s, in force %s, revision %s", c.Name,
			text(c.Granted), text(c.Target), c.Revision, text(quota.Spec.Hard), text(quota.Status.Hard), revision)
	}
	return nil
}

// split waits until everything is settled with these limits, in the order of the members.
func (s *scenario) split(want amounts) {
	s.Helper()
	s.settle()
	if err := s.limits(s.Context(), want); err != nil {
		s.Fatalf("settled with other limits: %v\n%s", err, s.dump())
	}
}

// limits says which limits in force differ.
func (s *scenario) limits(ctx context.Context, want amounts) error {
	var errs []error
	for name, list := range want {
		for i, member := range s.names() {
			if list[i] == "" {
				continue
			}
			quota, err := s.quota(ctx, member)
			if err != nil {
				errs = append(errs, fmt.Errorf("cluster %s: %w", member, err))
				continue
			}
			got := quota.Status.Hard[name]
			if got.Cmp(resource.MustParse(list[i])) != 0 {
				errs = append(errs, fmt.Errorf("cluster %s: %s is %s, want %s", member, name, got.String(), list[i]))
			}
		}
	}
	return errors.Join(errs...)
}

// condition waits until a condition of the FederatedQuota is true (or, for Ready, false) and its message has all parts.
func (s *scenario) condition(kind string, parts ...string) {
	s.Helper()
	s.eventually("condition "+kind, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err != nil {
			return err
		}
		return hasCondition(fq, kind, parts...)
	})
}

func hasCondition(fq *quotav1alpha1.FederatedQuota, kind string, parts ...string) error {
	c := apimeta.FindStatusCondition(fq.Status.Conditions, kind)
	switch {
	case c == nil, kind != quotav1alpha1.ConditionReady && c.Status != metav1.ConditionTrue, c.ObservedGeneration != fq.Generation:
		return fmt.Errorf("no condition %s of generation %d: %+v", kind, fq.Generation, fq.Status.Conditions)
	case !containsAll(c.Message, parts):
		return fmt.Errorf("condition %s says %q, want all of %q", kind, c.Message, parts)
	}
	return nil
}

// noCondition waits until a condition is gone.
func (s *scenario) noCondition(kind string) {
	s.Helper()
	s.eventually("end of condition "+kind, func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && apimeta.FindStatusCondition(fq.Status.Conditions, kind) != nil {
			err = fmt.Errorf("still there: %+v", fq.Status.Conditions)
		}
		return err
	})
}

// witness creates pods in each member that have to outlive the scenario.
func (s *scenario) witness(perMember int) {
	s.Helper()
	for _, member := range s.names() {
		for i := range perMember {
			pod := newPod(s.key.Namespace, fmt.Sprintf("witness-%d", i), "100m")
			s.eventually("creating a witness in "+member, func(ctx context.Context) error {
				return client.IgnoreAlreadyExists(s.member(member).Create(ctx, pod.DeepCopy()))
			})
			s.must(s.member(member).Get(s.Context(), client.ObjectKeyFromObject(pod), pod))
			s.witnesses = append(s.witnesses, witness{member: member, name: pod.Name, uid: pod.UID})
		}
	}
}

// newPod is a pod that asks for cpu.
func newPod(namespace, name, cpus string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}},
			}},
		},
	}
}

// finish ends all load and sees that the scenario ends well: settled, nobody over, nothing touched.
func (s *scenario) finish() {
	s.Helper()
	s.endStorms()
	s.settle()
	recount, err := s.observer.Recount(s.Context())
	s.must(err)
	if over := recount.Over(); len(over) > 0 {
		s.Errorf("more exists than the budget allows: %s", text(over))
	}
	s.judge()
	s.untouched()
}

// judge stops the observer and takes its report.
func (s *scenario) judge() {
	s.Helper()
	report := s.observer.Stop()
	var table strings.Builder
	s.must(report.WriteTable(&table))
	s.Log(table.String())
	for _, violation := range report.Violations() {
		s.Errorf("violation: %s", violation)
	}
	s.result.take(report)
	s.Logf("load: %+v, faults: %d", s.result.Load, len(s.result.Faults))
}

// untouched sees that all witnesses are there.
func (s *scenario) untouched() {
	s.Helper()
	for _, w := range s.witnesses {
		pod := &corev1.Pod{}
		err := s.member(w.member).Get(s.Context(), types.NamespacedName{Namespace: s.key.Namespace, Name: w.name}, pod)
		if err != nil || pod.UID != w.uid || pod.DeletionTimestamp != nil {
			s.Errorf("pod %s in %s was touched: %v %+v", w.name, w.member, err, pod.ObjectMeta)
		}
	}
}

// cleanup ends what is left, so that the next scenario on the same fleet has it for itself.
func (s *scenario) cleanup() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.stopStorms()
	s.observer.Stop()
	s.result.Seconds = time.Since(s.began).Round(100 * time.Millisecond).Seconds()
	s.result.Passed = !s.Failed()
	record(s.result)
	if s.Failed() {
		s.Log(s.dump())
	}
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
	if err := s.hub.Delete(ctx, fq); err != nil && !apierrors.IsNotFound(err) {
		s.Errorf("deleting the FederatedQuota: %v", err)
	}
	err := await(ctx, func(ctx context.Context) error {
		err := s.hub.Get(ctx, s.key, fq)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w: %+v", err, fq.Status)
	})
	if err != nil {
		s.Errorf("deleting the FederatedQuota: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, member := range s.names() {
		if err := s.member(member).DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(s.key.Namespace)); err != nil {
			s.Errorf("emptying %s: %v", member, err)
		}
	}
}

// dump says how things are, for a person who asks why.
func (s *scenario) dump() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var b strings.Builder
	fq, err := s.federatedQuota(ctx)
	fmt.Fprintf(&b, "FederatedQuota %s generation %d revision %d budget %s granted %s: %v\n", s.key, fq.Generation, fq.Status.Revision,
		text(fq.Spec.Hard), text(fq.Status.Granted), err)
	for _, c := range fq.Status.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, c := range fq.Status.Clusters {
		fmt.Fprintf(&b, "  %s %s revision %d granted %s target %s %s\n", c.Name, c.State, c.Revision, text(c.Granted), text(c.Target), c.Message)
	}
	for _, member := range s.names() {
		share := &quotav1alpha1.QuotaShare{}
		if err := s.member(member).Get(ctx, s.key, share); err != nil {
			fmt.Fprintf(&b, "  share in %s: %v\n", member, err)
		} else {
			fmt.Fprintf(&b, "  share in %s: revision %d hard %s; reports revision %d hard %s used %s %+v\n", member, share.Spec.Revision, text(share.Spec.Hard),
				share.Status.Revision, text(share.Status.Hard), text(share.Status.Used), share.Status.Conditions)
		}
		quota, err := s.quota(ctx, member)
		fmt.Fprintf(&b, "  quota in %s: %v hard %s in force %s used %s: %v\n", member, quota.Annotations,
			text(quota.Spec.Hard), text(quota.Status.Hard), text(quota.Status.Used), err)
	}
	return b.String()
}

// text is a list in one line.
func text(list corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		parts = append(parts, fmt.Sprintf("%s=%s", name, q.String()))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func containsAll(s string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(s, part) })
}
