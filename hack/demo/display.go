package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

const (
	interval = 50 * time.Millisecond
	patience = 2 * time.Minute
	// longWait is after how long the user is told what the demo waits for. It is longer than any act should take.
	longWait = 8 * time.Second
)

// no is the exit code of the plugin for an answer that is no.
const no = 2

var quotaKey = types.NamespacedName{Namespace: "team-a", Name: "compute"}

// display changes the demo and shows what becomes of it, by the kubectl plugin.
type display struct {
	clients map[string]client.Client
	// root is the project's folder, dir the demo's own.
	root, dir string
	// system is what runs, nil if somebody else has started it.
	system *system.System
	// tell tells the user of a step.
	tell func(string)
	// shown is what the act has shown.
	shown strings.Builder
}

// say tells the user of a step of an act.
func (d *display) say(step string) {
	d.tell(step)
	d.shown.WriteString(step + "\n")
}

// print shows what is not a step.
func (d *display) print(text string) {
	fmt.Print(text)
	d.shown.WriteString(text)
}

// newDisplay returns the display of a demo that is up.
func newDisplay(d demo) (*display, error) {
	result := &display{clients: map[string]client.Client{}, root: d.root, dir: d.dir, tell: d.say}
	for _, name := range append([]string{fleet.HubName}, members...) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(d.dir, name))
		if err != nil {
			return nil, err
		}
		config.QPS, config.Burst = 100, 200
		if result.clients[name], err = client.New(config, client.Options{Scheme: schemes.All()}); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// status shows a demo that is up.
func (d demo) status(ctx context.Context) error {
	display, err := newDisplay(d)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("No demo runs: make demo starts one.")
		return nil
	}
	if err == nil {
		err = display.describe(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\nA part of the demo does not run: make demo starts it anew", err)
	}
	return nil
}

// describe shows the budget and who holds it.
func (d *display) describe(ctx context.Context) error {
	return d.ask(ctx, fleet.HubName, "describe", quotaKey.Name, "--show-events=false")
}

// ask shows a command of the plugin about the budget, run against the hub or in a member, and its answer.
func (d *display) ask(ctx context.Context, cluster string, args ...string) error {
	return d.answer(ctx, cluster, append(args, "-n", quotaKey.Namespace)...)
}

// answer shows a command of the plugin, run against the hub or in a member, and its answer.
func (d *display) answer(ctx context.Context, cluster string, args ...string) error {
	said := "$ kubectl fedquota " + strings.Join(args, " ")
	if cluster != fleet.HubName {
		said += "   # in " + cluster
	}
	d.print("\n" + said + "\n")
	command := exec.CommandContext(
		ctx,
		filepath.Join(d.root, "bin", "kubectl-fedquota"),
		append(args, "--kubeconfig", kubeconfig(d.dir, cluster))...)
	command.Dir = d.root
	var answer, complaint bytes.Buffer
	command.Stdout, command.Stderr = &answer, &complaint
	err := command.Run()
	d.print(answer.String() + "\n")
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == no {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", said, err, complaint.String())
	}
	return nil
}

// view is what the hub says at one time, and what each member enforces and counts.
type view struct {
	fq     quotav1alpha1.FederatedQuota
	quotas map[string]corev1.ResourceQuota
}

// hard is what a member enforces of a resource.
func (v view) hard(cluster string, resource corev1.ResourceName) string {
	return amount(v.quotas[cluster].Status.Hard, resource)
}

// used is what a member has counted of a resource.
func (v view) used(cluster string, resource corev1.ResourceName) string {
	return amount(v.quotas[cluster].Status.Used, resource)
}

func amount(list corev1.ResourceList, name corev1.ResourceName) string {
	q := list[name]
	return q.String()
}

// state is the state of a member, as the hub sees it.
func (v view) state(cluster string) quotav1alpha1.ClusterState {
	for _, c := range v.fq.Status.Clusters {
		if string(c.Name) == cluster {
			return c.State
		}
	}
	return ""
}

// settled says whether the hub has seen the whole spec in force.
func (v view) settled() bool {
	ready := apimeta.FindStatusCondition(v.fq.Status.Conditions, quotav1alpha1.ConditionReady)
	moving := slices.ContainsFunc(
		v.fq.Status.Clusters, func(c quotav1alpha1.ClusterStatus) bool { return c.State != quotav1alpha1.ClusterSettled },
	)
	return ready != nil && ready.Status == "True" && ready.ObservedGeneration == v.fq.Generation && !moving
}

// demands says whether the hub knows that so many cpus are asked for beyond what is used.
func (v view) demands(cpus string) bool {
	return amount(v.fq.Status.Demand, corev1.ResourceRequestsCPU) == cpus
}

// look reads what hub and members say.
func (d *display) look(ctx context.Context) (view, error) {
	v := view{quotas: map[string]corev1.ResourceQuota{}}
	for _, name := range members {
		quota := corev1.ResourceQuota{}
		if err := d.clients[name].Get(ctx, quotaKey, &quota); client.IgnoreNotFound(err) != nil {
			return v, fmt.Errorf("reading the ResourceQuota in %s: %w", name, err)
		}
		v.quotas[name] = quota
	}
	if err := d.clients[fleet.HubName].Get(ctx, quotaKey, &v.fq); err != nil {
		return v, fmt.Errorf("reading the FederatedQuota: %w", err)
	}
	return v, nil
}

// settle waits until the spec is in force everywhere.
func (d *display) settle(ctx context.Context) error {
	return d.until(ctx, "every cluster to settle", view.settled)
}

// until waits until all is as it should be. Of a long wait it says what for.
func (d *display) until(ctx context.Context, what string, done func(view) bool) error {
	explain := time.AfterFunc(longWait, func() { d.say("       waiting for " + what) })
	defer explain.Stop()
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		v, err := d.look(ctx)
		return err == nil && done(v), err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

func (d *display) create(ctx context.Context, cluster string, object client.Object) error {
	return client.IgnoreAlreadyExists(d.clients[cluster].Create(ctx, object))
}

func (d *display) delete(ctx context.Context, cluster string, object client.Object) error {
	return client.IgnoreNotFound(d.clients[cluster].Delete(ctx, object, client.PropagationPolicy("Foreground")))
}

func (d *display) scale(ctx context.Context, cluster, namespace string, replicas int32) error {
	object := &appsv1.Deployment{}
	if err := d.clients[cluster].Get(ctx, types.NamespacedName{Namespace: namespace, Name: "web"}, object); err != nil {
		return err
	}
	stored := object.DeepCopy()
	object.Spec.Replicas = &replicas
	return d.clients[cluster].Patch(ctx, object, client.MergeFrom(stored))
}

// change changes the FederatedQuota.
func (d *display) change(ctx context.Context, mutate func(*quotav1alpha1.FederatedQuota)) error {
	fq := &quotav1alpha1.FederatedQuota{}
	if err := d.clients[fleet.HubName].Get(ctx, quotaKey, fq); err != nil {
		return err
	}
	stored := fq.DeepCopy()
	mutate(fq)
	return d.clients[fleet.HubName].Patch(ctx, fq, client.MergeFrom(stored))
}
