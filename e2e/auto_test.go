//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/system"
)

// following makes limits follow demand, and headroom follow soon.
func following(fq *quotav1alpha1.FederatedQuota) {
	fq.Spec.Rebalance = quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceAuto, DampingSeconds: new(int32(5))}
}

// deployment returns a ReplicaSet, which is what a Deployment makes, of pods that ask for cpu.
func (s *scenario) deployment(name string, replicas int32, cpus string) *appsv1.ReplicaSet {
	labels := map[string]string{loadLabel: "true", "app": name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: newPod("", "", cpus).Spec},
		},
	}
}

// deploy creates a ReplicaSet in a member.
func (s *scenario) deploy(member, name string, replicas int32, cpus string) {
	s.Helper()
	s.namespaceIn(member)
	s.must(s.member(member).Create(s.Context(), s.deployment(name, replicas, cpus)))
}

// tryScale changes how many pods a ReplicaSet wants.
func (s *scenario) tryScale(ctx context.Context, member, name string, replicas int32) error {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	return s.member(member).Patch(ctx, set, patch)
}

// undeploy ends a ReplicaSet with its pods.
func (s *scenario) undeploy(member, name string) {
	s.Helper()
	set := s.deployment(name, 0, "1")
	s.must(client.IgnoreNotFound(s.member(member).Delete(s.Context(), set, client.PropagationPolicy(metav1.DeletePropagationBackground))))
	s.runs(member, name, 0)
}

// podsOf returns the pods of a ReplicaSet that are not being deleted.
func (s *scenario) podsOf(ctx context.Context, member, name string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := s.member(member).List(ctx, &list, client.InNamespace(s.key.Namespace), client.MatchingLabels{"app": name})
	pods := list.Items[:0]
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, err
}

// runs waits until a ReplicaSet has so many pods, and returns how long that took.
func (s *scenario) runs(member, name string, count int) time.Duration {
	s.Helper()
	start := time.Now()
	s.eventually(fmt.Sprintf("%d pods of %s in %s", count, name, member), func(ctx context.Context) error {
		pods, err := s.podsOf(ctx, member, name)
		if err == nil && len(pods) != count {
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
	return time.Since(start)
}

// refusals returns how often quota refused the creation of pods for a ReplicaSet, as its events tell. A conflict is
// none: the API server gives up a charge when the ResourceQuota has changed a few times meanwhile, with native quota,
// too (kubernetes/kubernetes#67761).
func (s *scenario) refusals(member, name string) int {
	s.Helper()
	var events corev1.EventList
	s.must(s.member(member).List(s.Context(), &events, client.InNamespace(s.key.Namespace)))
	count := 0
	for i := range events.Items {
		if e := &events.Items[i]; e.Reason == "FailedCreate" && e.InvolvedObject.Name == name && strings.Contains(e.Message, "exceeded quota") {
			count += int(max(e.Count, 1))
		}
	}
	return count
}

// rest waits until no limit has moved for longer than a move for headroom is put off: one follows each change of
// demand. Limits that swing never get there.
func (s *scenario) rest(what string) {
	s.Helper()
	s.eventually(what, func(ctx context.Context) error { return errors.Join(s.allUnmoved(ctx, 10*time.Second), ctx.Err()) })
}

// still sees by watches that no limit moves in any member for a while: neither is spec.hard written nor a revision
// taken.
func (s *scenario) still(what string, duration time.Duration) {
	s.Helper()
	if err := s.allUnmoved(s.Context(), duration); err != nil {
		s.Fatalf("%s: %v\n%s", what, err, s.dump())
	}
}

// allUnmoved watches the limits of all members for a while, and says how they moved.
func (s *scenario) allUnmoved(ctx context.Context, duration time.Duration) error {
	errs := make([]error, len(s.Members))
	var watching sync.WaitGroup
	for i, member := range s.names() {
		watching.Go(func() { errs[i] = s.unmoved(ctx, member, duration) })
	}
	watching.Wait()
	return errors.Join(errs...)
}

// unmoved watches the ResourceQuota of a member, for a while from when the watch shows it, and says how its limit
// moved.
func (s *scenario) unmoved(ctx context.Context, member string, duration time.Duration) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c, err := system.ClientOf(s.watchers[member])
	if err != nil {
		return err
	}
	watch, err := c.Watch(ctx, &corev1.ResourceQuotaList{}, client.InNamespace(s.key.Namespace), client.MatchingFields{"metadata.name": s.key.Name})
	if err != nil {
		return err
	}
	defer watch.Stop()
	var first *corev1.ResourceQuota
	for event := range watch.ResultChan() {
		quota, ok := event.Object.(*corev1.ResourceQuota)
		switch {
		case ctx.Err() != nil:
		case !ok:
			return fmt.Errorf("cluster %s: the watch says %+v", member, event.Object)
		case first == nil:
			first = quota
			time.AfterFunc(duration, end)
		case !quotav1.Equals(first.Spec.Hard, quota.Spec.Hard) ||
			first.Annotations[quotav1alpha1.RevisionAnnotation] != quota.Annotations[quotav1alpha1.RevisionAnnotation]:
			return fmt.Errorf("cluster %s: the limit moved from %s at revision %s to %s at revision %s", member, text(first.Spec.Hard),
				first.Annotations[quotav1alpha1.RevisionAnnotation], text(quota.Spec.Hard), quota.Annotations[quotav1alpha1.RevisionAnnotation])
		}
	}
	if first == nil || ctx.Err() == nil {
		return fmt.Errorf("cluster %s: the watch ended early", member)
	}
	return nil
}

// bursts scale a ReplicaSet in each member up and down at random, far beyond the member's part and to nothing, until
// the returned function is called, which leaves nothing of them.
func (s *scenario) bursts() (end func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	for _, member := range s.names() {
		s.deploy(member, "burst", 0, loadPod)
		running.Go(func() {
			for ctx.Err() == nil {
				_ = s.tryScale(ctx, member, "burst", []int32{0, 4, 16, 50}[rand.IntN(4)])
				pause(ctx, time.Duration(200+rand.IntN(2500))*time.Millisecond)
			}
		})
	}
	return func() {
		s.Helper()
		cancel()
		running.Wait()
		for _, member := range s.names() {
			s.undeploy(member, "burst")
		}
	}
}

// follows sees that the whole chain works after what was done to it: a member gets for its demand what others do not
// use.
func (s *scenario) follows(member string, replicas int32) {
	s.Helper()
	s.deploy(member, "proof", replicas, loadPod)
	took := s.runs(member, "proof", int(replicas))
	s.Logf("%d pods in %s after %s", replicas, member, took.Round(time.Millisecond))
	s.recount()
	s.undeploy(member, "proof")
}

// misfit tries to create a pod in a member that asks for the whole budget, some of which is used, and returns how long
// the answer took.
func (s *scenario) misfit(member string) time.Duration {
	s.Helper()
	start := time.Now()
	err := s.member(member).Create(s.Context(), newPod(s.key.Namespace, "misfit", "30"))
	if !apierrors.IsForbidden(err) {
		s.Errorf("a pod that fits nowhere, in %s: got %v, want Forbidden", member, err)
	}
	return time.Since(start)
}
