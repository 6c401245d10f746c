package tenant

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
)

// wants compares what a round leaves in a namespace.
func (h *hub) wants(namespace, want string) {
	h.Helper()
	if diff := cmp.Diff(want, h.round(namespace)); diff != "" {
		h.Errorf("in namespace %s -want +got:\n%s", namespace, diff)
	}
}

func TestTenant(t *testing.T) {
	h := newHub(t)
	h.pool("OWN", `{hard: {pods: 20}, namespaces: {selector: {matchLabels: {team: OWN}}}}`)
	h.namespace("a", "team=OWN")
	h.namespace("b")
	h.wants("a", "budget OWN 20")
	h.wants("b", "")
	if report, err := h.r.Report(t.Context(), h.own); report != nil || err != nil {
		t.Errorf("%+v is reported before all namespaces were looked at: %v", report, err)
	}
	fq := h.quota("a", "budget")
	if got := fq.Labels[quotav1alpha1.KeptLabel]; got != "QuotaPool" || len(fq.OwnerReferences) > 0 {
		t.Errorf("its label is %q, its owners %v", got, fq.OwnerReferences)
	}
	version := fq.ResourceVersion
	h.wants("a", "budget OWN 20")
	if got := h.quota("a", "budget").ResourceVersion; got != version {
		t.Error("it is written again though nothing has changed")
	}

	fq.Spec.Hard["pods"], fq.Spec.Hard["services"] = fq.Spec.Hard["pods"].DeepCopy(), fq.Spec.Hard["pods"].DeepCopy()
	fq.Spec.Pool = nil
	h.must(h.Update(t.Context(), fq))
	h.wants("a", "budget OWN 20") // what somebody has taken out is there again
	if _, stays := h.quota("a", "budget").Spec.Hard["services"]; !stays {
		t.Error("what somebody sets beside the template is gone")
	}

	h.pool("OWN", `{hard: {pods: 30}, namespaces: {selector: {matchLabels: {team: OWN}}, template: {name: other}}}`)
	h.wants("a", "budget OWN 30")
	h.pool("OWN", `{hard: {pods: 30}, namespaces: {selector: {matchLabels: {team: OWN}}, template: {hard: {pods: 4}, rebalance: {mode: Static}}}}`)
	h.wants("a", "budget OWN 4")
	if got := h.quota("a", "budget").Spec.Rebalance.Mode; got != quotav1alpha1.RebalanceStatic {
		t.Errorf("mode %q", got)
	}
}

// TestLeaving has namespaces leave a pool: what is used counts there until it is gone.
func TestLeaving(t *testing.T) {
	const selecting, none = `{hard: {pods: 20}, namespaces: {selector: {matchLabels: {team: OWN}}}}`, `{hard: {pods: 20}}`
	h := newHub(t)
	pool := h.pool("OWN", selecting)
	for _, name := range []string{"idle", "busy", "deselected", "back"} {
		h.namespace(name, "team=OWN")
		h.wants(name, "budget OWN 20")
	}
	h.uses("busy", "3")
	h.uses("back", "3")
	h.uses("deselected", "3")
	for _, name := range []string{"idle", "busy", "back"} {
		h.namespace(name)
	}
	h.wants("idle", "")
	h.wants("busy", "budget OWN 20")
	h.uses("busy", "0")
	h.wants("busy", "budget OWN 20 leaving")
	h.wants("back", "budget OWN 20")
	h.namespace("back", "team=OWN")
	h.uses("back", "0")
	h.wants("back", "budget OWN 20")

	h.pool("OWN", `{hard: {pods: 20}, distribution: {rules: [{min: {pods: 30}}]}}`)
	h.uses("deselected", "0")
	h.wants("deselected", "budget OWN 20") // nothing goes while the spec cannot be acted on
	h.uses("deselected", "1")
	h.pool("OWN", none)
	h.wants("deselected", "budget OWN 20")
	pool.Finalizers, pool.ResourceVersion = []string{quotav1alpha1.Finalizer}, ""
	h.must(h.Patch(t.Context(), pool, client.Merge))
	h.must(h.Delete(t.Context(), pool))
	h.wants("deselected", "budget OWN 20 leaving")
}

// TestPoolThatIsMissing has FederatedQuotas stay while their pool is not there: it may be about to be restored.
func TestPoolThatIsMissing(t *testing.T) {
	h := newHub(t)
	pool := h.pool("OWN", `{hard: {pods: 20}, namespaces: {selector: {matchLabels: {team: OWN}}}}`)
	h.namespace("a", "team=OWN")
	h.wants("a", "budget OWN 20")
	h.gone(pool)
	h.wants("a", "budget OWN 20")
	h.pool("OWN", `{hard: {pods: 21}, namespaces: {selector: {matchLabels: {team: OWN}}}}`)
	h.wants("a", "budget OWN 21")
}

// TestDefaultForAll has a pool for all namespaces, and one for some of them.
func TestDefaultForAll(t *testing.T) {
	h := newHub(t)
	h.pool("OWN-all", `{hard: {pods: 20}, namespaces: {selector: {matchExpressions: [{key: of, operator: In, values: [OWN]}, {key: opt, operator: NotIn, values: ["out"]}]}}}`)
	h.namespace("a", "of=OWN", "team=x")
	h.namespace("b", "of=OWN")
	h.wants("a", "budget OWN-all 20")
	h.wants("b", "budget OWN-all 20")
	uid := h.quota("a", "budget").UID
	h.pool("OWN-x", `{hard: {pods: 30}, namespaces: {selector: {matchLabels: {of: OWN, team: x}}, template: {name: other}}}`)
	h.wants("a", "budget OWN-x 30")
	h.wants("b", "budget OWN-all 20")
	if h.quota("a", "budget").UID != uid {
		t.Error("a namespace that comes to another pool gets another FederatedQuota: want it to move with what it has")
	}
	if diff := cmp.Diff("1/1 1/1", h.reports("OWN-all")+" "+h.reports("OWN-x")); diff != "" {
		t.Errorf("reported -want +got:\n%s", diff)
	}
	h.namespace("a", "of=OWN")
	h.wants("a", "budget OWN-all 20")
}

// TestOwnQuotas leaves alone what people have made.
func TestOwnQuotas(t *testing.T) {
	h := newHub(t)
	const own = `{hard: {pods: 5}, placement: {clusterSelector: {}}}`
	for _, name := range []string{"mine", "taken", "scoped", "inside", "released"} {
		h.namespace(name, "team=OWN")
	}
	mine := h.makes("mine", "compute", own)
	h.makes("taken", "budget", `{hard: {pods: 5}, scopes: [Terminating], placement: {clusterSelector: {}}}`)
	h.makes("scoped", "compute", `{hard: {pods: 5}, scopes: [Terminating], placement: {clusterSelector: {}}}`)
	h.makes("inside", "compute", `{hard: {pods: 5}, pool: {name: OWN}, placement: {clusterSelector: {}}}`)
	h.pool("OWN", `{hard: {pods: 20}, namespaces: {selector: {matchLabels: {team: OWN}}}}`)
	h.wants("mine", "compute  5")
	h.wants("taken", "budget  5")
	h.wants("scoped", "budget OWN 20, compute  5")
	h.wants("inside", "compute OWN 5")
	h.wants("released", "budget OWN 20")
	const way = " of its own: delete it, have it name the pool in spec.pool, or hand it over by the label quota.fedquota.io/kept-by=QuotaPool"
	want := "3/5\nnamespace OWN-mine has FederatedQuota compute" + way + "\nnamespace OWN-taken has FederatedQuota budget" + way
	if diff := cmp.Diff(want, h.reports("OWN")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	mine.Labels = map[string]string{quotav1alpha1.KeptLabel: "QuotaPool"}
	h.must(h.Update(t.Context(), mine))
	h.wants("mine", "compute OWN 20")

	released := h.quota("released", "budget")
	released.Labels, released.Spec.Pool = nil, nil
	h.must(h.Update(t.Context(), released))
	h.wants("released", "budget  20")
}

// TestRefusals tells what was refused, and goes on elsewhere.
func TestRefusals(t *testing.T) {
	h := newHub(t)
	h.pool("OWN", `{hard: {pods: 20}, namespaces: {selector: {matchLabels: {team: OWN}}}}`)
	h.namespace("a", "team=OWN")
	h.namespace("b", "team=OWN")
	h.namespace("gone", "team=OWN")
	n := namespaces.Metadata()
	n.Name = h.own + "-gone"
	h.must(h.Delete(t.Context(), n)) // nobody ends that here
	h.r.Client = refusing{h.Client}
	h.wants("a", "")
	h.r.Client = h.Client
	h.wants("b", "budget OWN 20")
	h.wants("gone", "")
	const want = "1/2\nFederatedQuota OWN-a/budget was refused: federatedquotas.quota.fedquota.io \"budget\" is forbidden: no"
	if diff := cmp.Diff(want, h.reports("OWN")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// refusing refuses what is applied.
type refusing struct{ client.Client }

func (refusing) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	resource := quotav1alpha1.GroupVersion.WithResource("federatedquotas").GroupResource()
	return apierrors.NewForbidden(resource, "budget", errors.New("no"))
}
