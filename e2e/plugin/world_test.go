//go:build e2e

package plugin_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/recorded"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

const (
	hub, east, west = "hub", "east", "west"
	team            = "team-a"
	patience        = 2 * time.Minute
	// still is for how long limits must not move to be at rest.
	still = 2 * time.Second
)

var record = flag.String("record", "", "The folder to record states in, for the tests of cmd/kubectl-fedquota.")

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// world is fedquota on a hub and two members.
type world struct {
	*testing.T
	*system.System

	clients map[string]client.WithWatch
	root    string
	asked   *systemtest.Asked
}

func startWorld(t *testing.T) *world {
	t.Helper()
	options := system.Options{HubArgs: []string{recordInterval, "--metrics-per-cluster"}}
	for _, name := range []string{east, west} {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ControlPlaneOptions{Name: name, Labels: map[string]string{"tier": "prod"}})
	}
	s := systemtest.Start(t, options)
	w := &world{T: t, System: s, clients: map[string]client.WithWatch{}, root: systemtest.Root(t), asked: systemtest.AskedFor(t)}
	for _, c := range append([]*fleet.ControlPlane{s.Hub}, s.Members...) {
		var err error
		if w.clients[c.Name], err = system.Client(c); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) plane(name string) *fleet.ControlPlane {
	if name == hub {
		return w.Hub
	}
	return w.Member(name)
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits for a condition.
func (w *world) eventually(what string, condition func(ctx context.Context) (bool, error)) {
	w.Helper()
	began := time.Now()
	if err := wait.PollUntilContextTimeout(w.Context(), 50*time.Millisecond, patience, true, condition); err != nil {
		_, budgets, _ := w.run(hub, "describe")
		_, pools, _ := w.run(hub, "tree")
		w.Fatalf("waiting for %s: %v\n%s\n%s\n%s", what, err, budgets, pools, w.counted())
	}
	if took := time.Since(began); took > still {
		w.Logf("waited %s for %s", took.Round(100*time.Millisecond), what)
	}
}

// counted tells how many pods there are in each member, and what its quota controller has counted.
func (w *world) counted() string {
	var out strings.Builder
	for name, c := range w.clients {
		pods, quota := &corev1.PodList{}, &corev1.ResourceQuota{}
		err := c.List(w.Context(), pods, client.InNamespace(team))
		err = errors.Join(err, client.IgnoreNotFound(c.Get(w.Context(), client.ObjectKey{Namespace: team, Name: "compute"}, quota)))
		fmt.Fprintf(&out, "%s: %d pods, status of the ResourceQuota: %v, %v\n", name, len(pods.Items), quota.Status, err)
	}
	return out.String()
}

// state records what the API servers hold now, if that is asked for.
func (w *world) state(name string) {
	w.Helper()
	w.Logf("state %s\n%s", name, w.out(hub, "describe", "--show-events=false"))
	if *record == "" {
		return
	}
	servers := map[string]*recorded.Server{}
	for server, c := range w.clients {
		held := &recorded.Server{At: time.Now().UTC().Truncate(time.Second)}
		lists := []client.ObjectList{&quotav1alpha1.QuotaShareList{}, &corev1.ResourceQuotaList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{},
			&corev1.PodList{}, &corev1.LimitRangeList{}, &corev1.EventList{}}
		if server == hub {
			lists = []client.ObjectList{&quotav1alpha1.FederatedQuotaList{}, &corev1.EventList{}, &clusterv1.ClusterList{}}
			held.Lacks = []string{"QuotaShare.quota.fedquota.io"}
		} else {
			held.Lacks = []string{"FederatedQuota.quota.fedquota.io", "Cluster.cluster.x-k8s.io"}
		}
		for _, list := range lists {
			options := []client.ListOption{client.InNamespace(team)}
			if _, clusters := list.(*clusterv1.ClusterList); clusters {
				options = nil
			}
			if err := c.List(w.Context(), list, options...); err != nil {
				held = nil // a cluster that is cut off holds what nobody can read
				break
			}
			w.must(apimeta.EachListItem(list, func(object runtime.Object) error { return held.Add(c.Scheme(), object.(client.Object)) }))
		}
		if held != nil {
			servers[server] = held
		}
	}
	w.must(recorded.Write(filepath.Join(*record, name), servers))
}

// budget returns the FederatedQuota.
func (w *world) budget(ctx context.Context) (*quotav1alpha1.FederatedQuota, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	return fq, w.clients[hub].Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, fq)
}

// change changes the FederatedQuota.
func (w *world) change(mutate func(*quotav1alpha1.FederatedQuota)) {
	w.Helper()
	w.must(wait.PollUntilContextTimeout(w.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		fq, err := w.budget(ctx)
		if err != nil {
			return false, err
		}
		mutate(fq)
		return w.clients[hub].Update(ctx, fq) == nil, nil
	}))
}

// becomes waits until the FederatedQuota is so.
func (w *world) becomes(what string, condition func(*quotav1alpha1.FederatedQuota) bool) {
	w.Helper()
	w.eventually(what, func(ctx context.Context) (bool, error) {
		fq, err := w.budget(ctx)
		return err == nil && fq.Status.ObservedGeneration == fq.Generation && condition(fq), err
	})
}

// inState says whether a cluster is in a state.
func inState(name string, state quotav1alpha1.ClusterState) func(*quotav1alpha1.FederatedQuota) bool {
	return func(fq *quotav1alpha1.FederatedQuota) bool {
		for _, c := range fq.Status.Clusters {
			if string(c.Name) == name {
				return c.State == state
			}
		}
		return false
	}
}

func settled(fq *quotav1alpha1.FederatedQuota) bool {
	return apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) && fq.Status.Settled == "2/2"
}

// deployment asks for pods of 1 CPU each.
func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}}},
		}},
	}
}

// scale scales a Deployment.
func (w *world) scale(server, name string, replicas int32) {
	w.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":`+resource.NewQuantity(int64(replicas), resource.DecimalSI).String()+`}}`))
	w.must(w.clients[server].Patch(w.Context(), deployment(name, 0), patch))
}

// uses waits until a cluster is known to use so many CPUs.
func (w *world) uses(name, cpus string) {
	w.Helper()
	w.becomes(name+" to use "+cpus, func(fq *quotav1alpha1.FederatedQuota) bool {
		for _, c := range fq.Status.Clusters {
			if used := c.Used[corev1.ResourceRequestsCPU]; string(c.Name) == name {
				return used.Cmp(resource.MustParse(cpus)) == 0
			}
		}
		return false
	})
}

// predicts asks what a change would do, makes it, and demands that limits come to rest where that says.
func (w *world) predicts(what string, mutate func(*quotav1alpha1.FederatedQuota)) {
	w.Helper()
	fq, err := w.budget(w.Context())
	w.must(err)
	mutate(fq)
	content, err := yaml.Marshal(&quotav1alpha1.FederatedQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: quotav1alpha1.GroupVersion.String(), Kind: "FederatedQuota"},
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"}, Spec: fq.Spec,
	})
	w.must(err)
	file := filepath.Join(w.TempDir(), "wanted.yaml")
	w.must(os.WriteFile(file, content, 0o600))
	var planned view.Plan
	w.must(yaml.Unmarshal([]byte(w.out(hub, "plan", "-f", file, "-o", "json")), &planned))
	w.change(mutate)
	differs, revision, moved := "", int64(0), time.Now()
	err = wait.PollUntilContextTimeout(w.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		fq, err := w.budget(ctx)
		if err != nil || fq.Status.ObservedGeneration != fq.Generation {
			return false, err
		}
		if fq.Status.Revision != revision {
			revision, moved = fq.Status.Revision, time.Now()
		}
		differs = difference(fq, &planned)
		return differs == "" && time.Since(moved) > still, nil
	})
	if err != nil {
		w.Errorf("%s: the plan is wrong: %s\n%s\n%s", what, differs, w.out(hub, "plan", "-f", file, "--all"), w.out(hub, "describe"))
	}
}

// difference says where the ledger is another one than was planned.
func difference(fq *quotav1alpha1.FederatedQuota, planned *view.Plan) string {
	for _, limit := range planned.Limits {
		target := resource.Quantity{}
		for _, c := range fq.Status.Clusters {
			if string(c.Name) == limit.Cluster {
				target = c.Granted[limit.Resource]
				if c.Target != nil {
					target = c.Target[limit.Resource]
				}
			}
		}
		if target.Cmp(resource.MustParse(limit.Planned)) != 0 {
			return fmt.Sprintf("%s %s is %s, planned was %s", limit.Cluster, limit.Resource, target.String(), limit.Planned)
		}
	}
	return ""
}

// account returns a kubeconfig of somebody in a member who has a role there, or none.
func (w *world) account(server, name, role string) string {
	w.Helper()
	c := w.clients[server]
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	w.must(c.Create(w.Context(), account))
	if role != "" {
		w.must(c.Create(w.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: team, Name: name}},
		}))
	}
	kubeconfig := filepath.Join(w.TempDir(), name)
	w.must(w.plane(server).ServiceAccountKubeconfig(w.Context(), team, name, kubeconfig))
	return kubeconfig
}
