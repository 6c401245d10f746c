//go:build e2e

package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/system"
)

// refuses has kubectl show what API servers answer to those who ask for what they cannot have.
func (w *world) refuses() {
	w.has("create", w.kubectlPage("exceeded", west, "create --dry-run=server -f "+files+"pod.yaml"), "exceeded quota: compute, requested: requests.cpu=1", "waiting: west")
	w.has("run", w.kubectlPage("unstated", west, "run web --image=web -n team-a"), "failed quota: compute: must specify requests.cpu for: web")
	w.has("patch", w.kubectlPage("guarded", west, "patch", "resourcequota", "compute", "-n", team, "--type=merge", "-p", `{"spec":{"hard":{"pods":"99"}}}`),
		"fedquota-guard", "change that instead")
	w.has("replace", w.kubectlPage("invalid", hub, "replace -f "+files+"invalid.yaml"), "must be at most spec.hard[pods]")
	w.has("apply", w.kubectlPage("conflicting", hub, "apply -f "+files+"conflict.yaml"), "covers the same scope")
	w.has("get", w.kubectlPage("waiting", west, "get events -n team-a --field-selector reason=WaitingForQuota"), "Warning", "WaitingForQuota", "replicaset/batch-",
		"the fleet is full: requests.cpu 12 of 12 used; waiting: west")
	wide, _ := w.kubectl(west, "get", "qs", "-o", "wide", "-n", team)
	w.has("get qs -o wide", wide, "FLEET USED", "BUDGET", "WAITING", `"requests.cpu":"12"`, `"requests.cpu":"12"`, `["west"]`)
	w.has("get", w.kubectlPage("shares", west, "get qs,resourcequota -n team-a"), "quotashare.quota.fedquota.io/compute", "resourcequota/compute")
}

// redraws has the live table drawn again until it is interrupted, which is later on a busy machine.
func (w *world) redraws() {
	for duration := 2 * time.Second; ; duration *= 2 {
		out := w.live(hub, team, duration)
		if strings.Count(out, "RAISES/MIN") >= 2 {
			return
		}
		if duration > patience/2 {
			w.Errorf("in %s, top -w printed %s", duration, out)
			return
		}
	}
}

// live returns what the live table has shown for a while.
func (w *world) live(server, namespace string, duration time.Duration) string {
	ctx, cancel := context.WithTimeout(w.Context(), duration)
	defer cancel()
	code, out, errOut := w.runBy(ctx, w.plane(server).Kubeconfig, "top", "-w", "--interval", "100ms", "-n", namespace)
	if code != 0 {
		w.Errorf("top -w ended with %d and printed %s%s", code, out, errOut)
	}
	return out
}

// counts has the live table count pods that are refused in east while it looks, on the hub and there. Each time they are
// those of another Deployment: of one object, events tell no more than 25 times at once.
func (w *world) counts(namespace string) {
	refused := regexp.MustCompile(`compute +pods .* [1-9][0-9.]*\n`)
	for _, server := range []string{hub, east} {
		shown := make(chan string)
		go func() { shown <- w.live(server, namespace, 6*time.Second) }()
		more := deployment("more-for-"+server, 1)
		more.Namespace = namespace
		w.must(w.clients[east].Create(w.Context(), more))
		for deadline := time.After(3 * time.Second); ; *more.Spec.Replicas++ { // a controller that is told something new tries at once
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *more.Spec.Replicas)
			w.must(w.clients[east].Patch(w.Context(), more.DeepCopy(), client.RawPatch(types.MergePatchType, patch)))
			select {
			case <-deadline:
			case <-time.After(200 * time.Millisecond):
				continue
			}
			break
		}
		if out := <-shown; !refused.MatchString(out) {
			w.Errorf("top -w against %s has counted no refusals:\n%s", server, out)
		}
	}
}

// rights has somebody who may view the namespace in a member ask, and somebody who may do nothing.
func (w *world) rights(why []string) {
	viewer, stranger := w.account(west, "viewer", "view"), w.account(west, "stranger", "")
	code, out, errOut := w.runBy(w.Context(), viewer, "why", "batch")
	if code != 2 {
		w.Errorf("why ended with %d", code)
	}
	w.has("why batch", out+errOut, why...)
	code, out, errOut = w.runBy(w.Context(), viewer, "describe", "compute")
	if code != 0 {
		w.Errorf("describe ended with %d", code)
	}
	w.has("describe compute", out+errOut, "requests.cpu 3 3 3 5", "Waiting: west")
	code, out, errOut = w.runBy(w.Context(), stranger, "describe", "compute")
	if code != 3 {
		w.Errorf("describe ended with %d", code)
	}
	w.has("describe compute", out+errOut, "you lack the right to get quotashares.quota.fedquota.io in namespace team-a: ", "fedquota-quotashare-viewer in a member")
}

// converts has the hub take what quotas of other systems are converted to, and enforce all of it.
func (w *world) converts() {
	quotas := []client.ObjectKey{{Namespace: "search", Name: "compute"}, {Namespace: "for-name", Name: "for-name"}, {Namespace: "acme", Name: "acme-hrq"},
		{Namespace: "oil", Name: "oil-0"}, {Namespace: "oil", Name: "oil-2"}}
	for _, c := range w.clients {
		for _, namespace := range []string{team, "search", "for-name", "acme", "oil"} {
			w.must(c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		}
	}
	w.page("convert", hub, "convert -f "+files+"others.yaml --selector tier=prod")
	file := filepath.Join(w.TempDir(), "budgets.yaml")
	w.must(os.WriteFile(file, []byte(w.out(hub, "convert", "-f", files+"others.yaml", "--selector", "tier=prod")), 0o600))
	w.eventually("the webhook of the hub to answer", func(context.Context) (bool, error) {
		out, _ := w.kubectl(hub, "apply", "--dry-run=server", "-f", files+"invalid.yaml")
		return strings.Contains(out, "must be at most spec.hard[pods]"), nil
	})
	for _, args := range [][]string{{"--dry-run=server"}, nil} {
		out, err := w.kubectl(hub, append([]string{"apply", "-f", file}, args...)...)
		if err != nil || strings.Count(out, "created") != len(quotas) {
			w.Fatalf("apply %v of what was converted: %v\n%s", args, err, out)
		}
	}
	for _, key := range quotas {
		fq := &quotav1alpha1.FederatedQuota{}
		w.eventually(key.String()+" to be enforced", func(ctx context.Context) (bool, error) {
			err := w.clients[hub].Get(ctx, key, fq)
			return err == nil && settled(fq), err
		})
	}
	for _, key := range quotas {
		fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		w.must(w.clients[hub].Delete(w.Context(), fq))
		w.eventually(key.String()+" to be gone", func(ctx context.Context) (bool, error) {
			err := w.clients[hub].Get(ctx, key, fq)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
}

// adopts makes a budget out of ResourceQuotas that limit a namespace, while pods are created in it as fast as that
// goes: none of them is without a limit at any instant, nor admits more than it did before.
func (w *world) adopts() {
	const other = "team-b"
	for _, c := range w.clients {
		w.must(c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}))
	}
	limits := map[string]int64{east: 6, west: 4}
	watches := map[string]watch.Interface{}
	for cluster, pods := range limits {
		c := w.clients[cluster]
		w.must(c.Create(w.Context(), &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "compute"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}},
		}))
		stream, err := c.Watch(w.Context(), &corev1.ResourceQuotaList{}, client.InNamespace(other))
		w.must(err)
		watches[cluster] = stream
		storm := deployment("storm", 20)
		storm.Namespace = other
		w.must(c.Create(w.Context(), storm))
	}
	w.answers(hub, "adopt compute -n team-b --clusters east,north", 1, "north-kubeconfig")
	w.has("adopt", w.page("adopt", hub, "adopt compute -n team-b --clusters east,west"), "kind: FederatedQuota", `pods: "10"`)
	calm := w.storm(other)
	w.shows(hub, "adopt compute -n team-b --clusters east,west --apply", `pods: "10"`)
	fq := &quotav1alpha1.FederatedQuota{}
	w.must(w.clients[hub].Get(w.Context(), client.ObjectKey{Namespace: other, Name: "compute"}, fq))
	if !apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) {
		w.Errorf("the budget is not enforced: %+v", fq.Status.Conditions)
	}
	for cluster, stream := range watches {
		w.unbroken(cluster, stream, limits[cluster])
	}
	calm()
	held := 0
	for cluster := range limits {
		pods := &corev1.PodList{}
		w.must(w.clients[cluster].List(w.Context(), pods, client.InNamespace(other)))
		held += len(pods.Items)
	}
	if held > 10 {
		w.Errorf("the clusters have %d pods under a budget of 10", held)
	}
	w.counts(other)
	w.must(w.clients[hub].Delete(w.Context(), fq))
}

// storm has pods created in a namespace of both members as fast as API servers answer, until calm is called.
func (w *world) storm(namespace string) (calm func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var writers sync.WaitGroup
	var tried, created atomic.Int64
	for _, cluster := range []string{east, west} {
		c, err := system.Client(w.Member(cluster))
		w.must(err)
		for range 8 { // each may be held for half a second once the agent is there
			writers.Go(func() {
				for ctx.Err() == nil {
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "gust-"}}
					pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
					if c.Create(ctx, pod) == nil {
						created.Add(1)
					}
					tried.Add(1)
				}
			})
		}
	}
	return func() {
		cancel()
		writers.Wait()
		w.Logf("storm: %d pods were asked for, %d created", tried.Load(), created.Load())
		if tried.Load() < 100 {
			w.Error("that is no storm")
		}
	}
}

// unbroken demands that each version of the ResourceQuota which was seen limits pods to no more than before, until the
// agent has it, and that the agent got it.
func (w *world) unbroken(cluster string, stream watch.Interface, most int64) {
	w.Helper()
	w.eventually("the last version in "+cluster, func(context.Context) (bool, error) {
		select {
		case event := <-stream.ResultChan():
			quota, ok := event.Object.(*corev1.ResourceQuota)
			if !ok || event.Type == watch.Deleted {
				w.Fatalf("%s: %s of %T", cluster, event.Type, event.Object)
			}
			limit, limited := quota.Spec.Hard[corev1.ResourcePods]
			_, managed := quota.Labels[quotav1alpha1.ManagedLabel]
			if !limited || !managed && limit.Value() != most {
				w.Errorf("%s: a version limits pods to %v", cluster, quota.Spec.Hard)
			}
			if used := quota.Status.Used[corev1.ResourcePods]; used.Value() > 10 {
				w.Errorf("%s: %d pods are counted", cluster, used.Value())
			}
			return managed && limit.Value() > 0, nil
		default:
			return false, nil
		}
	})
	stream.Stop()
}
