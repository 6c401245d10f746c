package quota

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/heartbeat"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/pace"
)

// leased makes the Lease in a member, as it comes with the agent.
func (w *world) leased(member string) {
	w.t.Helper()
	w.createNamespace(member, w.leaseMeta().Namespace)
	w.must(servers[member].Create(w.t.Context(), &coordinationv1.Lease{ObjectMeta: w.leaseMeta()}))
}

// heartbeat returns what renews the Lease in members.
func (w *world) heartbeat() *heartbeat.Heartbeat {
	return &heartbeat.Heartbeat{
		Client: w.hub.Client, Live: w.hub.Live, Members: w.members, Clusters: members.Namespaces{Home: w.clusters},
		AgentNamespace: w.leaseMeta().Namespace, Identity: "hub-0", Clock: w.clock, Timeout: w.hub.Timeout,
	}
}

func (w *world) leaseMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace + "-agents", Name: quotav1alpha1.HubLease}
}

// beat returns when the Lease in a member was renewed by the hub's clock, zero if never.
func (w *world) beat(member string) time.Time {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: w.leaseMeta()}
	w.must(servers[member].Get(w.t.Context(), client.ObjectKeyFromObject(lease), lease))
	if lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	want := coordinationv1.LeaseSpec{HolderIdentity: new("hub-0"), LeaseDurationSeconds: new(int32(15)), RenewTime: lease.Spec.RenewTime}
	if diff := cmp.Diff(want, lease.Spec); diff != "" {
		w.t.Errorf("the Lease of %s (-want +got):\n%s", member, diff)
	}
	return lease.Spec.RenewTime.Time
}

// limited returns a client of a member whose only right is to patch this one Lease.
func (w *world) limited(member string) client.Client {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: w.leaseMeta(), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: []string{quotav1alpha1.HubLease}, Verbs: []string{"patch"},
	}}}
	user := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.namespace}
	w.must(servers[member].Create(w.t.Context(), role))
	w.must(servers[member].Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: w.leaseMeta(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: []rbacv1.Subject{user},
	}))
	config := rest.CopyConfig(configs[member])
	config.Impersonate = rest.ImpersonationConfig{UserName: user.Name, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: schemes.All()})
	w.must(err)
	// The API server learns of the right by watches of its own.
	w.must(wait.PollUntilContextTimeout(w.t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{ObjectMeta: w.leaseMeta()}
		err := c.Patch(ctx, lease, client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	}))
	return c
}

// TestLeaseIsRenewed renews the Lease in members that may hold a share, by a right on this one object, and as long as
// the API server of the hub answers.
func TestLeaseIsRenewed(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.leased("east") // west has none
	w.heartbeat().RenewAll(t.Context())
	if got := w.beat("east"); !got.IsZero() {
		t.Errorf("renewed in a cluster without the marker at %s", got)
	}
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["east"].client = w.limited("east")
	for range 2 {
		w.clock.SetTime(w.clock.Now().Add(pace.LookInterval))
		w.renewed("east")
	}
	last := w.clock.Now()
	w.clock.SetTime(last.Add(pace.LookInterval))
	w.hub.Live = interceptor.NewClient(servers[hubName], interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		},
	})
	w.heartbeat().RenewAll(t.Context())
	if got := w.beat("east"); !got.Equal(last) {
		t.Errorf("renewed at %s, although the API server of the hub does not answer", got)
	}
}

// renewed lets the hub renew, and sees that it did in a member.
func (w *world) renewed(member string) {
	w.t.Helper()
	w.heartbeat().RenewAll(w.t.Context())
	if got := w.beat(member); !got.Equal(w.clock.Now()) {
		w.t.Errorf("renewed at %s, want %s", got, w.clock.Now())
	}
}

// TestLeaseIsRenewedBesideMembersThatStall renews the Lease in a member while more others do not answer than are
// written at once.
func TestLeaseIsRenewedBesideMembersThatStall(t *testing.T) {
	w := newWorld(t, "west")
	w.leased("west")
	stalled := &connection{client: w.stalled("west", "patch")}
	for i := range members.Parallel + 1 {
		name := fmt.Sprintf("stalled-%d", i) // listed before west
		w.register(name)
		w.members.byName[name] = stalled
	}
	var clusters clusterv1.ClusterList
	w.must(servers[hubName].List(t.Context(), &clusters, client.InNamespace(w.clusters)))
	for i := range clusters.Items {
		clusters.Items[i].Annotations = map[string]string{quotav1alpha1.MemberAnnotation: "1"}
		w.must(servers[hubName].Update(t.Context(), &clusters.Items[i]))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		w.heartbeat().RenewAll(ctx)
		close(ended)
	}()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return w.beat("west").Equal(w.clock.Now()), nil
	})
	if err != nil {
		t.Error("the Lease of west waits for members that do not answer")
	}
	cancel()
	<-ended
}
