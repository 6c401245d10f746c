//go:build e2e

package system_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
	"github.com/fedquota/fedquota/internal/observer"
)

// TestNamespaces has one budget over two clusters whose Clusters have one name, in two namespaces of the hub: each has
// its own entry, share and part, and when one of them goes nobody takes the other one for it.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := startSystem(t, system.Options{
		Bare: true, HubInstalls: true, Standalone: true, HubArgs: []string{"--further-cluster-namespaces=emea"},
		Fleet: fleet.Options{Members: []fleet.ControlPlaneOptions{{Name: "east"}, {Name: "west"}}},
	})
	i := &installed{T: t, system: s}
	i.connects()
	west, err := system.Client(s.Members[1])
	if err != nil {
		t.Fatal(err)
	}
	p := openPage(t, "join-without-cluster-api.md", s)
	p.runs("A hub without Cluster API")
	here := openPage(t, "clusters-in-namespaces.md", s)
	here.runs("Give the rights")
	i.begins()
	i.selectsProd()
	p.runs("Join")
	here.runs("Join a cluster there")
	i.eventually("the Deployment of the agent", i.deployed)
	i.runsAgent()
	i.eventually("the account of the agent in west", func(ctx context.Context) error {
		return west.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: "fedquota-agent"}, &corev1.ServiceAccount{})
	})
	if s.Agents["west"], err = s.StartAgent(t.Context(), s.Members[1], system.Agent("west")); err != nil {
		t.Fatal(err)
	}
	i.eventually("the budget to be enforced", i.ready)
	i.holds(t, map[string]types.UID{"east": i.uid("default"), "emea/east": i.uid("emea")})
	watch, err := observer.Watch(context.WithoutCancel(t.Context()), observer.Options{
		Members:   map[string]*rest.Config{"east": s.Members[0].Config, "emea/east": s.Members[1].Config},
		Namespace: team, Name: "compute", Budget: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
	})
	if err != nil {
		t.Fatal(err)
	}
	i.hasRules(`{"clusters":["emea/east"],"max":{"pods":"3"}}`)
	there := &installed{T: t, system: s, hub: i.hub, member: west}
	there.fills(3)
	there.isFullWith(3)
	i.fills(7)
	i.isFullWith(7)
	i.losesTheName()
	there.isFullWith(3)
	i.isFullWith(7)
	for _, finding := range watch.Stop().Violations() {
		t.Errorf("%s", finding)
	}
}

// uid is that of the Cluster east in a namespace.
func (i *installed) uid(namespace string) types.UID {
	i.Helper()
	cluster := &clusterv1.Cluster{}
	if err := i.hub.Get(i.Context(), client.ObjectKey{Namespace: namespace, Name: "east"}, cluster); err != nil {
		i.Fatal(err)
	}
	return cluster.UID
}

// holds sees that the ledger has these entries, each of its Cluster.
func (i *installed) holds(t *testing.T, want map[string]types.UID) {
	t.Helper()
	fq, got := i.compute(), map[string]types.UID{}
	for _, c := range fq.Status.Clusters {
		got[string(c.Name)] = types.UID(c.UID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func (i *installed) compute() *quotav1alpha1.FederatedQuota {
	i.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	if err := i.hub.Get(i.Context(), client.ObjectKey{Namespace: team, Name: "compute"}, fq); err != nil {
		i.Fatal(err)
	}
	return fq
}

// hasRules gives the budget rules, and waits until they are enforced.
func (i *installed) hasRules(rules string) {
	i.Helper()
	i.ruled(rules)
	i.eventually("the rules to be acted on", func(context.Context) error {
		if now := i.compute(); now.Status.ObservedGeneration != now.Generation {
			return fmt.Errorf("generation %d of %d", now.Status.ObservedGeneration, now.Generation)
		}
		return i.ready(i.Context())
	})
}

// ruled gives the budget rules.
func (i *installed) ruled(rules string) {
	i.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"distribution":{"rules":[%s]}}}`, rules))
	if err := i.hub.Patch(i.Context(), i.compute(), patch); err != nil {
		i.Fatal(err)
	}
}

// isFullWith sees that no pod is admitted above so many. While a limit rises native quota may forget one for a moment.
func (i *installed) isFullWith(count int) {
	i.Helper()
	i.eventually("native quota to count all pods", func(context.Context) error {
		if used := i.enforced().Status.Used[corev1.ResourcePods]; used.Value() != int64(count) {
			return fmt.Errorf("it counts %s of %d", used.String(), count)
		}
		return nil
	})
	if err := i.member.Create(i.Context(), kept(count)); !apierrors.IsForbidden(err) {
		i.Errorf("a pod above %d: %v", count, err)
	}
}

// losesTheName deletes the Cluster east in default, and leads a new one of its name to the cluster of emea/east: it gets
// nothing of what the old one holds, and what emea/east holds stays its own.
func (i *installed) losesTheName() {
	i.Helper()
	before := i.uid("emea")
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "east"}}
	way, other := &corev1.Secret{}, &corev1.Secret{}
	if err := errors.Join(
		i.hub.Get(i.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "east-kubeconfig"}, way),
		i.hub.Get(i.Context(), client.ObjectKey{Namespace: "emea", Name: "east-kubeconfig"}, other),
		i.hub.Delete(i.Context(), way), i.hub.Delete(i.Context(), cluster),
	); err != nil {
		i.Fatal(err)
	}
	i.condition(quotav1alpha1.ConditionUnreachable, "there is no Cluster default/east")
	again := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: way.Namespace, Name: way.Name, Labels: way.Labels}, Type: way.Type, Data: other.Data,
	}
	if err := i.hub.Create(i.Context(), again); err != nil {
		i.Fatal(err)
	}
	i.condition(quotav1alpha1.ConditionUnreachable, "lead to the same API server")
	for _, c := range i.compute().Status.Clusters {
		pods := c.Granted[corev1.ResourcePods]
		if want := map[quotav1alpha1.ClusterName]int64{"east": 7, "emea/east": 3}[c.Name]; pods.Value() != want {
			i.Errorf("%s is granted %s, want %d", c.Name, pods.String(), want)
		}
		if c.Name == "emea/east" && (c.UID != string(before) || c.State != quotav1alpha1.ClusterSettled) {
			i.Errorf("emea/east is %+v", c)
		}
	}
}

// condition waits until the budget has a condition, and says why.
func (i *installed) condition(kind, why string) {
	i.Helper()
	i.eventually("the condition", func(context.Context) error {
		c := apimeta.FindStatusCondition(i.compute().Status.Conditions, kind)
		if c == nil || !strings.Contains(c.Message, why) {
			return fmt.Errorf("got %+v", c)
		}
		return nil
	})
}
