//go:build e2e

package system_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/observer"
)

// moved is a fleet of which one hub takes over what another one has.
type moved struct {
	*installed

	old, next *system.System
	members   map[string]client.Client
}

// TestMove brings Clusters, kubeconfig Secrets and a budget to another hub as clusterctl move and a user do: without
// status, with other UIDs. The hub manager of the old one goes on, against the page, and wants the opposite: never do
// both give away the same room, and the new hub has its way as soon as it has heard every member.
func TestMove(t *testing.T) {
	t.Parallel()
	m := startMoved(t)
	m.budgetOf(m.hub, "1", "1")
	m.eventually("the budget to be enforced", m.ready)
	m.limits(map[string]int64{"east": 5, "west": 5})
	watch, err := observer.Watch(context.WithoutCancel(t.Context()), observer.Options{
		Members:   map[string]*rest.Config{"east": m.old.Members[0].Config, "west": m.old.Members[1].Config},
		Namespace: team, Name: "compute", Budget: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
	})
	if err != nil {
		t.Fatal(err)
	}

	next := on(t, m.next)
	way := m.copies("west", "https://127.0.0.1:1")
	m.copies("east", "")
	m.budgetOf(next.hub, "3", "7")
	next.begins()
	next.condition(quotav1alpha1.ConditionRebuilding, "west")
	m.limits(map[string]int64{"east": 3, "west": 5}) // what takes nothing from anybody need not wait
	m.stays(map[string]int64{"east": 3, "west": 5})

	if err := next.hub.Update(t.Context(), way); err != nil {
		t.Fatal(err)
	}
	m.limits(map[string]int64{"east": 3, "west": 7})
	next.eventually("the budget to be enforced by the new hub", next.ready)

	m.ruled(`{"clusters":["east"],"weight":9},{"clusters":["west"],"weight":1}`)
	m.condition(quotav1alpha1.ConditionUnreachable, "another hub has taken this cluster over")
	m.stays(map[string]int64{"east": 3, "west": 7})

	if err := m.old.HubManager.Stop(); err != nil {
		t.Fatal(err)
	}
	p := openPage(t, "move-the-hub.md", m.next)
	if err := os.Symlink(m.old.Hub.Kubeconfig, filepath.Join(p.folder, "old.kubeconfig")); err != nil {
		t.Fatal(err)
	}
	p.runs("Take the budgets off the old hub")
	if err := m.hub.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "compute"}, &quotav1alpha1.FederatedQuota{}); !apierrors.IsNotFound(err) {
		t.Errorf("the budget is on the old hub: %v", err)
	}
	m.stays(map[string]int64{"east": 3, "west": 7})
	for _, finding := range watch.Stop().Violations() {
		t.Errorf("%s", finding)
	}
}

// startMoved starts a fleet with two members, and another hub without any.
func startMoved(t *testing.T) *moved {
	t.Helper()
	old := startSystem(t, system.Options{Fleet: fleet.Options{Members: []fleet.ControlPlaneOptions{{Name: "east"}, {Name: "west"}}}})
	next := startSystem(t, system.Options{Bare: true, Fleet: fleet.Options{Members: []fleet.ControlPlaneOptions{}}})
	m := &moved{old: old, next: next, members: map[string]client.Client{}}
	m.installed = on(t, old)
	for _, member := range old.Members {
		c, err := system.Client(member)
		if err != nil {
			t.Fatal(err)
		}
		m.members[member.Name] = c
	}
	return m
}

// on looks at a hub.
func on(t *testing.T, s *system.System) *installed {
	t.Helper()
	hub, err := system.Client(s.Hub)
	if err != nil {
		t.Fatal(err)
	}
	return &installed{T: t, system: s, hub: hub}
}

// budgetOf makes the budget on a hub, split by these weights.
func (m *moved) budgetOf(hub client.Client, east, west string) {
	m.Helper()
	rules := fmt.Sprintf(`{"clusters":["east"],"weight":%s},{"clusters":["west"],"weight":%s}`, east, west)
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "compute"},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
			Placement: quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{"east", "west"}, CreateNamespace: new(true)},
			Rebalance: quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceStatic}, Distribution: quotav1alpha1.Distribution{Weights: quotav1alpha1.WeightsStatic},
		},
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, fq} {
		if err := hub.Create(m.Context(), object); err != nil {
			m.Fatal(err)
		}
	}
	(&installed{T: m.T, hub: hub}).ruled(rules)
}

// copies brings a Cluster and its kubeconfig Secret to the new hub, where Cluster API says of it what it said before. It
// returns the Secret as it should be; another server may be in its place.
func (m *moved) copies(name, elsewhere string) *corev1.Secret {
	m.Helper()
	next := on(m.T, m.next).hub
	cluster, way := &clusterv1.Cluster{}, &corev1.Secret{}
	for key, object := range map[string]client.Object{name: cluster, name + "-kubeconfig": way} {
		if err := m.hub.Get(m.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: key}, object); err != nil {
			m.Fatal(err)
		}
		object.SetUID("")
		object.SetResourceVersion("")
		object.SetOwnerReferences(nil)
		object.SetManagedFields(nil)
	}
	right := way.DeepCopy()
	if elsewhere != "" {
		way.Data = map[string][]byte{"value": []byte(strings.ReplaceAll(string(way.Data["value"]), m.serverOf(name), elsewhere))}
	}
	status := cluster.Status
	for _, object := range []client.Object{way, cluster} {
		if err := next.Create(m.Context(), object); err != nil {
			m.Fatal(err)
		}
	}
	cluster.Status = status
	if err := next.Status().Update(m.Context(), cluster); err != nil {
		m.Fatal(err)
	}
	return right
}

// serverOf is where a member's API server is.
func (m *moved) serverOf(name string) string {
	for _, member := range m.old.Members {
		if member.Name == name {
			return member.Config.Host
		}
	}
	return ""
}

// inForce says whether the members have these limits in force.
func (m *moved) inForce(ctx context.Context, want map[string]int64) error {
	for name, c := range m.members {
		quota := &corev1.ResourceQuota{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: team, Name: "compute"}, quota); err != nil {
			return err
		}
		if hard := quota.Status.Hard.Pods().Value(); hard != want[name] {
			return fmt.Errorf("%s has %d in force", name, hard)
		}
	}
	return nil
}

// limits waits for limits.
func (m *moved) limits(want map[string]int64) {
	m.Helper()
	m.eventually(fmt.Sprintf("limits %v", want), func(ctx context.Context) error { return m.inForce(ctx, want) })
}

// stays sees that limits stay as they are for a while.
func (m *moved) stays(want map[string]int64) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), 6*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if err := m.inForce(m.Context(), want); err != nil {
			m.Errorf("limits were to stay %v: %v", want, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
