package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

const (
	interval = 50 * time.Millisecond
	patience = 2 * time.Minute
	// longWait is after how long the user is told what the demo waits for. It is longer than any act should take.
	longWait = 8 * time.Second
)

var (
	quotaKey = types.NamespacedName{Namespace: "team-a", Name: "compute"}
	columns  = []corev1.ResourceName{corev1.ResourceRequestsCPU, corev1.ResourcePods}
)

// display changes the demo and prints what becomes of it.
type display struct {
	clients map[string]client.Client
	say     func(string)
	last    string
}

func newDisplay(dir string) (*display, error) {
	d := &display{clients: map[string]client.Client{}, say: func(string) {}}
	for _, name := range append([]string{fleet.HubName}, members...) {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(dir, name))
		if err != nil {
			return nil, err
		}
		config.QPS, config.Burst = 100, 200
		if d.clients[name], err = client.New(config, client.Options{Scheme: system.Scheme()}); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// status prints the table of a demo that is up.
func status(ctx context.Context, dir string) error {
	d, err := newDisplay(dir)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("No demo runs: make demo starts one.")
		return nil
	}
	if err != nil {
		return err
	}
	t, err := d.look(ctx)
	if err != nil {
		return fmt.Errorf("%w\nA part of the demo does not run: make demo starts it anew", err)
	}
	fmt.Print(t)
	return nil
}

// table is what hub and members say at one time.
type table struct {
	fq   quotav1alpha1.FederatedQuota
	rows []row
}

// row is one member: what its own API server enforces and counts, and what the hub's ledger says of it.
type row struct {
	cluster, state string
	hard, used     map[corev1.ResourceName]string
	granted        map[corev1.ResourceName]string
}

func (t table) row(cluster string) row {
	for _, r := range t.rows {
		if r.cluster == cluster {
			return r
		}
	}
	return row{}
}

// settled says whether the hub has seen the whole spec in force.
func (t table) settled() bool {
	ready := apimeta.FindStatusCondition(t.fq.Status.Conditions, quotav1alpha1.ConditionReady)
	moving := slices.ContainsFunc(t.fq.Status.Clusters, func(c quotav1alpha1.ClusterStatus) bool { return c.State != quotav1alpha1.ClusterSettled })
	return ready != nil && ready.Status == "True" && ready.ObservedGeneration == t.fq.Generation && !moving
}

// demands says whether the hub knows that so many cpus are asked for beyond what is used.
func (t table) demands(cpus string) bool {
	demand := t.fq.Status.Demand[corev1.ResourceRequestsCPU]
	return demand.String() == cpus
}

// look reads what hub and members say, at a time when the ledger did not move.
func (d *display) look(ctx context.Context) (table, error) {
	for {
		before, t := quotav1alpha1.FederatedQuota{}, table{}
		if err := d.clients["hub"].Get(ctx, quotaKey, &before); err != nil {
			return t, fmt.Errorf("reading the FederatedQuota: %w", err)
		}
		if err := d.lookAtMembers(ctx, &t); err != nil {
			return t, err
		}
		if err := d.clients["hub"].Get(ctx, quotaKey, &t.fq); err != nil {
			return t, fmt.Errorf("reading the FederatedQuota: %w", err)
		}
		if t.fq.Status.Revision == before.Status.Revision {
			t.addLedger()
			return t, nil
		}
	}
}

func (d *display) lookAtMembers(ctx context.Context, t *table) error {
	for _, name := range members {
		quota := &corev1.ResourceQuota{}
		if err := d.clients[name].Get(ctx, quotaKey, quota); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the ResourceQuota in %s: %w", name, err)
		}
		t.rows = append(t.rows, row{cluster: name, state: "-", hard: texts(quota.Status.Hard), used: texts(quota.Status.Used)})
	}
	return nil
}

// addLedger adds what the ledger says of each member.
func (t *table) addLedger() {
	for _, c := range t.fq.Status.Clusters {
		for i := range t.rows {
			if t.rows[i].cluster == string(c.Name) {
				t.rows[i].state, t.rows[i].granted = string(c.State), texts(c.Granted)
			}
		}
	}
}

func texts(list corev1.ResourceList) map[corev1.ResourceName]string {
	result := map[corev1.ResourceName]string{}
	for name, q := range list {
		result[name] = q.String()
	}
	return result
}

// String is the table as it is printed.
func (t table) String() string {
	head := []string{"CLUSTER"}
	for _, name := range columns {
		head = append(head, string(name)+" HARD", "USED", "GRANTED")
	}
	lines := [][]string{append(head, "STATE")}
	for _, r := range t.rows {
		line := []string{r.cluster}
		for _, name := range columns {
			line = append(line, r.hard[name], r.used[name], r.granted[name])
		}
		lines = append(lines, append(line, r.state))
	}
	sums := []string{"sum"}
	for _, name := range columns {
		granted, budget := t.fq.Status.Granted[name], t.fq.Spec.Hard[name]
		sums = append(sums, t.sum(func(r row) string { return r.hard[name] }),
			t.sum(func(r row) string { return r.used[name] }), granted.String()+" of "+budget.String())
	}
	ready := "not ready"
	if t.settled() {
		ready = "ready"
	}
	return aligned(append(lines, append(sums, ready)))
}

// aligned returns the lines with their cells in columns.
func aligned(lines [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		_, _ = fmt.Fprintln(w, "         "+strings.Join(line, "\t"))
	}
	_ = w.Flush()
	return b.String()
}

// sum adds up a column.
func (t table) sum(cell func(row) string) string {
	sum := resource.Quantity{Format: resource.DecimalSI}
	for _, r := range t.rows {
		if q, err := resource.ParseQuantity(cell(r)); err == nil {
			sum.Add(q)
		}
	}
	return sum.String()
}

// follow prints the table each time it changes, until the spec is in force everywhere.
func (d *display) follow(ctx context.Context) error {
	return d.until(ctx, "every cluster to settle", table.settled)
}

// until prints the table each time it changes, until it is as it should be. Of a long wait it says what for.
func (d *display) until(ctx context.Context, what string, done func(table) bool) error {
	explain := time.AfterFunc(longWait, func() { d.say("       waiting for " + what) })
	defer explain.Stop()
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		t, err := d.look(ctx)
		if err != nil {
			return false, err
		}
		if text := t.String(); text != d.last {
			d.last = text
			fmt.Println(text)
		}
		return done(t), nil
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
	if err := d.clients["hub"].Get(ctx, quotaKey, fq); err != nil {
		return err
	}
	stored := fq.DeepCopy()
	mutate(fq)
	return d.clients["hub"].Patch(ctx, fq, client.MergeFrom(stored))
}
