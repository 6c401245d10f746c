package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/census"
	"github.com/fedquota/fedquota/internal/observer"
)

// witness creates pods in members, all of them if none is named, that have to outlive the scenario.
func (s *scenario) witness(perMember int, members ...string) {
	s.Helper()
	if len(members) == 0 {
		members = s.names()
	}
	for _, member := range members {
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

// finish ends all load and sees that the scenario ends well: nobody over, settled, nothing touched.
func (s *scenario) finish(except ...observer.FindingKind) {
	s.Helper()
	s.endStorms()
	s.settle()
	s.judge(except...)
	s.untouched()
}

// recount sees that no more exists than is allowed. What native quota let through it charges above its limit as soon as
// it counts everything anew; what a limit of ours let through stays too much for as long as nobody deletes it.
func (s *scenario) recount() {
	s.Helper()
	s.eventually("counting what exists", func(ctx context.Context) error {
		recount, err := census.Of(ctx, s.observer)
		if err != nil {
			return err
		}
		if over := recount.Over(); len(over) > 0 {
			pause(ctx, time.Second)
			return fmt.Errorf("%s too much: %+v", text(over), recount.Resources)
		}
		s.result.count(recount)
		return nil
	})
}

// judge stops the observer and takes its report. What a scenario brings by nature may be excepted from what counts as a
// violation.
func (s *scenario) judge(except ...observer.FindingKind) {
	s.Helper()
	s.eventually("the metrics of the hub", s.measured)
	report := s.observer.Stop()
	var table strings.Builder
	s.must(report.WriteTable(&table))
	s.Log(table.String())
	for _, violation := range report.Violations(except...) {
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

// attest makes witnesses of pods that fill created.
func (s *scenario) attest(member, name string) {
	s.Helper()
	var list corev1.PodList
	s.must(s.member(member).List(s.Context(), &list, client.InNamespace(s.key.Namespace), client.MatchingLabels{"part": name}))
	for i := range list.Items {
		s.witnesses = append(s.witnesses, witness{member: member, name: list.Items[i].Name, uid: list.Items[i].UID})
	}
}

// dismiss deletes the witnesses in a member, once they are seen to be there.
func (s *scenario) dismiss(member string) {
	s.Helper()
	s.untouched()
	s.witnesses = slices.DeleteFunc(s.witnesses, func(w witness) bool {
		if w.member != member {
			return false
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: w.name}}
		s.must(s.member(member).Delete(s.Context(), pod))
		return true
	})
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
		// A scenario that failed has left its ReplicaSets, whose pods would take the place of those of the next ones.
		for _, kind := range []client.Object{&appsv1.ReplicaSet{}, &corev1.Pod{}} {
			err := s.member(member).DeleteAllOf(ctx, kind, client.InNamespace(s.key.Namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))
			if err != nil {
				s.Errorf("emptying %s: %v", member, err)
			}
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
