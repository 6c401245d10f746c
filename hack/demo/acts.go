package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// act is a part of the demo.
type act struct {
	name string
	play func(ctx context.Context, root string) error
}

// acts plays what the demo shows, in order, and keeps what each act has shown, for docs/demo.md.
func (d *display) acts(ctx context.Context, root string) error {
	acts := []act{
		{"split", d.split}, {"use", d.use}, {"reweigh", d.reweigh}, {"cut", d.cut}, {"demand", d.demand}, {"full", d.full},
		{"reclaim", d.reclaim}, {"everybody", d.everybody}, {"pool", d.pool}, {"restore", d.restore},
		{"nodes", d.nodes},
	}
	for _, act := range acts {
		d.shown.Reset()
		if err := act.play(ctx, root); err != nil {
			return err
		}
		shown := strings.TrimRight(d.shown.String(), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(d.dir, act.name+".txt"), []byte(shown), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// split applies the sample.
func (d *display) split(ctx context.Context, root string) error {
	d.say("act 1: one budget of 30 requests.cpu and 60 pods, split 3:2:1 (config/samples)")
	fq, err := sample(root)
	if err != nil {
		return err
	}
	if err := d.create(ctx, "hub", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fq.Namespace}}); err != nil {
		return err
	}
	if err := d.create(ctx, "hub", fq); err != nil {
		return err
	}
	return d.showSettled(ctx)
}

// showSettled shows the budget once it is in force everywhere.
func (d *display) showSettled(ctx context.Context) error {
	if err := d.settle(ctx); err != nil {
		return err
	}
	return d.describe(ctx)
}

// use runs more in east than fits there, and something in west.
func (d *display) use(ctx context.Context, _ string) error {
	d.say("act 2: 20 replicas of 1 cpu in east, where 15 cpu fit, and 4 in west")
	for cluster, replicas := range map[string]int32{"east": 20, "west": 4} {
		if err := d.create(ctx, cluster, deployment(quotaKey.Namespace, replicas)); err != nil {
			return err
		}
	}
	if err := d.uses(ctx, map[string]string{"east": "15", "west": "4"}); err != nil {
		return err
	}
	if err := d.showRefusal(ctx, "east", "exceeded quota"); err != nil {
		return err
	}
	return d.ask(ctx, "east", "why", "web")
}

// reweigh moves the split away from where usage is.
func (d *display) reweigh(ctx context.Context, _ string) error {
	d.say("act 3: weights 1:1:4. east gives back only what it does not use; nothing that runs is touched")
	err := d.change(ctx, func(fq *quotav1alpha1.FederatedQuota) {
		for i, weight := range []int32{1, 1, 4} {
			fq.Spec.Distribution.Rules[i].Weight = new(weight)
		}
	})
	if err != nil {
		return err
	}
	err = d.until(
		ctx, "north to be raised by what west gave back",
		func(v view) bool { return v.hard("north", corev1.ResourceRequestsCPU) == "10" },
	)
	if err != nil {
		return err
	}
	if err := d.ask(ctx, fleet.HubName, "explain", quotaKey.Name, "--resource", "requests.cpu"); err != nil {
		return err
	}
	d.say("       east scales down to 3 replicas, and the limit follows")
	if err := d.scale(ctx, "east", quotaKey.Namespace, 3); err != nil {
		return err
	}
	return d.showSettled(ctx)
}

// cut takes a part of the budget away.
func (d *display) cut(ctx context.Context, _ string) error {
	d.say("act 4: the budget is cut to 24 cpu. The plan says beforehand what that will do")
	cut := func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Hard[corev1.ResourceRequestsCPU] = resource.MustParse("24")
	}
	if err := d.seen(ctx, map[string]string{"east": "3", "west": "4"}); err != nil {
		return err
	}
	if err := d.plan(ctx, cut); err != nil {
		return err
	}
	if err := d.change(ctx, cut); err != nil {
		return err
	}
	return d.showSettled(ctx)
}

// plan shows what a change would do.
func (d *display) plan(ctx context.Context, mutate func(*quotav1alpha1.FederatedQuota)) error {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := d.clients[fleet.HubName].Get(ctx, quotaKey, fq); err != nil {
		return err
	}
	mutate(fq)
	content, err := yaml.Marshal(&quotav1alpha1.FederatedQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: quotav1alpha1.GroupVersion.String(), Kind: "FederatedQuota"},
		ObjectMeta: metav1.ObjectMeta{Namespace: fq.Namespace, Name: fq.Name},
		Spec:       fq.Spec,
	})
	if err != nil {
		return err
	}
	file := filepath.Join(d.dir, "cut.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	shown, err := filepath.Rel(d.root, file)
	if err != nil {
		return err
	}
	return d.ask(ctx, fleet.HubName, "plan", "-f", shown)
}

// restore brings the demo back to the sample.
func (d *display) restore(ctx context.Context, root string) error {
	d.say("act 10: back to the sample: 30 cpu, 3:2:1, and no pool")
	for _, cluster := range members {
		if err := d.delete(ctx, cluster, deployment("team-a", 0)); err != nil {
			return err
		}
	}
	wanted, err := sample(root)
	if err != nil {
		return err
	}
	if err := d.change(ctx, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec = wanted.Spec }); err != nil {
		return err
	}
	if err := d.dissolve(ctx); err != nil {
		return err
	}
	if err := d.showSettled(ctx); err != nil {
		return err
	}
	if err := d.ask(ctx, fleet.HubName, "history", quotaKey.Name, "--since", "15s"); err != nil {
		return err
	}
	return d.ask(ctx, fleet.HubName, "audit", quotaKey.Name, "--for", "3s")
}

// sample reads the sample that the README shows.
func sample(root string) (*quotav1alpha1.FederatedQuota, error) {
	content, err := os.ReadFile(filepath.Join(root, "config/samples/quota_v1alpha1_federatedquota.yaml"))
	if err != nil {
		return nil, err
	}
	fq := &quotav1alpha1.FederatedQuota{}
	return fq, yaml.UnmarshalStrict(content, fq)
}

// deployment returns one of pods that ask for one cpu.
func deployment(namespace string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers: []corev1.Container{{
						Name: "web", Image: "registry.k8s.io/pause:3.10",
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
					}},
				},
			},
		},
	}
}

// showRefusal shows the answer to a pod in a member at its limit, once that has the words.
func (d *display) showRefusal(ctx context.Context, cluster, words string) error {
	template := deployment(quotaKey.Namespace, 1).Spec.Template
	var answer error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: quotaKey.Namespace, Name: "one-more"}, Spec: template.Spec,
		}
		answer = d.clients[cluster].Create(ctx, pod, client.DryRunAll)
		return apierrors.IsForbidden(answer) && strings.Contains(answer.Error(), words), nil
	})
	if err != nil {
		return fmt.Errorf("one more pod in %s: got %w, want a 403 with %q", cluster, answer, words)
	}
	lines := text.Wrap(fmt.Sprintf("one more pod in %s: 403 %s", cluster, answer), text.Width)
	d.print("\n" + strings.Join(lines, "\n") + "\n")
	return nil
}
