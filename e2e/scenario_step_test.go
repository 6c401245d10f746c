//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// killPoint is a step of a change at which a process is killed.
type killPoint struct {
	after string
	// kind is what is watched, in the members unless onHub, for two versions of an object between which the step was done.
	kind  client.ObjectList
	onHub bool
	done  func(before, now client.Object) bool
	// agent says that the agent of the member where it was seen is killed, rather than the hub manager.
	agent bool
	// slow delays what the hub sends to members, so that the hub manager is killed before the next step for certain.
	slow bool
	// missed says that the next step was done all the same before the process was gone.
	missed func(ctx context.Context, s *scenario, member string) (bool, error)
}

// killPoints are the steps of a change, in order.
func killPoints() []killPoint {
	quotas, shares, limits := &quotav1alpha1.FederatedQuotaList{}, &quotav1alpha1.QuotaShareList{}, &corev1.ResourceQuotaList{}
	told := func(before, now client.Object) bool {
		return now.(*quotav1alpha1.QuotaShare).Spec.Revision > before.(*quotav1alpha1.QuotaShare).Spec.Revision
	}
	reported := func(before, now client.Object) bool {
		return now.(*quotav1alpha1.QuotaShare).Status.Revision > before.(*quotav1alpha1.QuotaShare).Status.Revision
	}
	revision := func(o client.Object) string { return o.GetAnnotations()[quotav1alpha1.RevisionAnnotation] }
	inForce := func(o client.Object) bool {
		quota := o.(*corev1.ResourceQuota)
		return quotav1.Equals(quota.Spec.Hard, quota.Status.Hard)
	}
	return []killPoint{
		{after: "spec changed", kind: quotas, onHub: true, done: func(before, now client.Object) bool {
			return now.GetGeneration() > before.GetGeneration()
		}},
		{after: "ledger stored", kind: quotas, onHub: true, slow: true, missed: allTold, done: func(before, now client.Object) bool {
			was, is := &before.(*quotav1alpha1.FederatedQuota).Status, &now.(*quotav1alpha1.FederatedQuota).Status
			return is.ObservedGeneration > was.ObservedGeneration && is.Revision > was.Revision
		}},
		{after: "first share written", kind: shares, done: told},
		{after: "first report written", kind: shares, done: reported},
		{after: "share written", kind: shares, agent: true, done: told, missed: enforced},
		{after: "spec.hard written", kind: limits, agent: true, missed: confirmed, done: func(before, now client.Object) bool {
			return revision(now) != revision(before)
		}},
		{after: "status.hard written", kind: limits, agent: true, missed: confirmed, done: func(before, now client.Object) bool {
			return !inForce(before) && inForce(now)
		}},
		{after: "report written", kind: shares, agent: true, done: reported},
	}
}

// allTold says whether all shares are of the revision of their entries.
func allTold(ctx context.Context, s *scenario, _ string) (bool, error) {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range fq.Status.Clusters {
		share := &quotav1alpha1.QuotaShare{}
		if err := s.member(string(c.Name)).Get(ctx, s.key, share); err != nil || share.Spec.Revision < c.Revision {
			return false, err
		}
	}
	return true, nil
}

// enforced says whether the ResourceQuota of a member is of the revision of its share.
func enforced(ctx context.Context, s *scenario, member string) (bool, error) {
	share := &quotav1alpha1.QuotaShare{}
	quota, err := s.quota(ctx, member)
	err = errors.Join(err, s.member(member).Get(ctx, s.key, share))
	return quota.Annotations[quotav1alpha1.RevisionAnnotation] == fmt.Sprint(share.Spec.Revision), err
}

// confirmed says whether a member reports the revision of its ResourceQuota.
func confirmed(ctx context.Context, s *scenario, member string) (bool, error) {
	share := &quotav1alpha1.QuotaShare{}
	quota, err := s.quota(ctx, member)
	err = errors.Join(err, s.member(member).Get(ctx, s.key, share))
	return quota.Annotations[quotav1alpha1.RevisionAnnotation] == fmt.Sprint(share.Status.Revision), err
}

// testSteps kills hub manager and agents right after each step of a change, under load.
func testSteps(t *testing.T, w *world) {
	s := newScenario(t, w, "steps", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.storm()
	const rounds = 3
	var told []string
	n := 0
	for _, point := range killPoints() {
		killed, before := 0, 0
		for range rounds {
			n++
			missed := s.killAt(point, func() { s.turn(n % 3) })
			killed++
			if !missed {
				before++
			}
		}
		who := "hub manager"
		if point.agent {
			who = "agent"
		}
		text := fmt.Sprintf("%s after %s %d times", who, point.after, killed)
		if point.missed != nil {
			text += fmt.Sprintf(" (before the next step: %d)", before)
		}
		if point.slow && before < killed {
			s.Errorf("killed too late: %s", text)
		}
		told = append(told, text)
	}
	s.fault("killed (SIGKILL): %s", strings.Join(told, ", "))
	s.turn(0)
	s.endStorms()
	s.split(sample)
	s.finish()
}

// killAt makes a change and kills what the point says as soon as its step is seen; then it starts it again. It says
// whether the kill came too late to be before the next step. Nothing is left to do of the change before: its step could
// be taken for one of this change, which the hub manager would not have begun, and the next one might then ask for what
// there is.
func (s *scenario) killAt(point killPoint, change func()) (missed bool) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var swift []func()
	s.lull()
	if point.slow {
		for _, member := range s.names() {
			swift = append(swift, s.toxic(member, "latency", "upstream", `{"latency": 5000}`))
		}
	}
	seen := make(chan string, 1)
	if point.onHub {
		s.sight(ctx, s.hub, "", point, seen)
	} else {
		for _, member := range s.names() {
			s.sight(ctx, s.member(member), member, point, seen)
		}
	}
	change()
	var member string
	select {
	case member = <-seen:
	case <-time.After(patience):
		s.Fatalf("the step %q was not seen\n%s", point.after, s.dump())
	}
	return s.kill(point, member, swift)
}

// kill kills and restarts the process of a point.
func (s *scenario) kill(point killPoint, member string, swift []func()) (missed bool) {
	s.Helper()
	victim := s.HubManager
	if point.agent {
		victim = s.Agents[member]
	}
	s.must(victim.Kill())
	if point.missed != nil {
		var err error
		missed, err = point.missed(s.Context(), s, member)
		s.must(err)
	}
	for _, remove := range swift {
		remove()
	}
	s.must(victim.Restart(s.Context()))
	return missed
}

// sight watches the objects of the scenario on one API server, and says its name once it has seen the step.
func (s *scenario) sight(ctx context.Context, c client.WithWatch, name string, point killPoint, seen chan<- string) {
	s.Helper()
	events, err := c.Watch(ctx, point.kind.DeepCopyObject().(client.ObjectList), client.InNamespace(s.key.Namespace))
	s.must(err)
	first := <-events.ResultChan()
	go func() {
		defer events.Stop()
		before, _ := first.Object.(client.Object)
		for event := range events.ResultChan() {
			now, ok := event.Object.(client.Object)
			if event.Type != watch.Modified || !ok {
				continue
			}
			if before != nil && point.done(before, now) {
				select {
				case seen <- name:
				default:
				}
				return
			}
			before = now
		}
	}()
}
