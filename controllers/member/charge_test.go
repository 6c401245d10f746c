package member_test

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noCharge is what a policy demands that refuses each charge.
const noCharge = "!has(request.subResource) || request.userInfo.username != 'system:apiserver'"

// TestChargesBesideAPolicyThatLabels has a policy add a label and an annotation to every write of a ResourceQuota and of
// its status, as policy engines with wildcards do: what it adds is its own, and objects are created and charged.
func TestChargesBesideAPolicyThatLabels(t *testing.T) {
	namespace := newNamespace(t)
	mutate(t, namespace, "Object{metadata: Object.metadata{labels: {'seen': 'true'}, annotations: {'seen-by': request.userInfo.username}}}")
	q := quota("compute").managed("5").hard("configmaps", "3").status("configmaps", "1").create(t, namespace)
	c := as(t, admin)
	eventually(t, func(ctx context.Context) string {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "charged-"}}
		if err := c.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
		must(t, c.Get(ctx, client.ObjectKeyFromObject(q), q))
		if q.Annotations["seen-by"] == apiServer {
			return ""
		}
		must(t, c.Delete(ctx, object))
		q.Status.Used = list("configmaps", "1")
		must(t, as(t, quotaController).Status().Update(ctx, q))
		return "the policy is not in force"
	})
	if used := q.Status.Used["configmaps"]; used.String() != "2" {
		t.Errorf("used %s, want 2", used.String())
	}
	for name, r := range map[string]row{
		"the agent enforces":           {by: agent, do: enforce("6", "configmaps", "4")},
		"a tenant states a reason":     {by: tenant, do: annotate(glassAnnotation, "why")},
		"a tenant writes it back":      {by: tenant, do: put},
		"a tenant edits":               {by: tenant, do: limit("configmaps", "9"), refused: systemOfRecord},
		"a tenant unlabels its status": {by: tenant, do: statusPatch(`{"metadata":{"labels":null}}`), refused: throughStatus},
	} {
		if message := r.verdict(t, q); message != "" {
			t.Errorf("%s: %s", name, message)
		}
	}
}

// TestCanarySeesChargesRefused shows that the canary quotes who keeps charges from being stored, whatever the means.
func TestCanarySeesChargesRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		meddle func(t *testing.T, namespace string) (undo func())
		want   string
	}{
		"a policy refuses charges": {
			meddle: func(t *testing.T, namespace string) func() {
				t.Helper()
				return validate(t, namespace, noCharge)
			},
			want: "ValidatingAdmissionPolicy 'meddling-",
		},
		"a policy changes what is charged": {
			meddle: func(t *testing.T, namespace string) func() {
				t.Helper()
				return mutate(t, namespace, "Object{status: Object.status{used: {'resourcequotas': '0'}}}")
			},
			want: "a mutating policy or webhook of the cluster had changed the usage",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAviary(t).settle()
			undo := tc.meddle(t, a.key.Namespace)
			a.probesUntil(func(uncharged string) bool { return strings.Contains(uncharged, tc.want) })
			undo()
			a.probesUntil(func(uncharged string) bool { return uncharged == "" })
		})
	}
}

// TestCanaryMayNotAsk shows that who refuses the canary's own request says nothing of charges.
func TestCanaryMayNotAsk(t *testing.T) {
	a := newAviary(t).settle()
	validate(t, a.key.Namespace, "request.operation == 'UPDATE' || object.metadata.name != 'fedquota-canary'")
	eventually(t, func(ctx context.Context) string {
		err := as(t, admin).Create(ctx, quota(a.key.Name).in(a.key.Namespace).Obj(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "meddling-") {
			return "the policy is not in force"
		}
		return ""
	})
	a.clock.Step(15 * time.Second)
	a.round()
	if got := a.Verdict().Uncharged; got != "" {
		t.Errorf("says %q", got)
	}
}

// TestReportsChargesRefused shows that the share quotes it, and goes on otherwise.
func TestReportsChargesRefused(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	undo := validate(t, w.canary.key.Namespace, noCharge)
	w.canary.probesUntil(func(uncharged string) bool { return uncharged != "" })
	w.share(2, "pods", "9")
	w.reconcile()
	w.wantsConditions("ChargesRefused")
	w.wantsReport(2, l{"pods", "9"}, l{"pods", "8"})
	undo()
	w.canary.probesUntil(func(uncharged string) bool { return uncharged == "" })
	w.reconcile()
	w.wantsConditions()
}

// probesUntil lets intervals pass until the canary says of charges what it should.
func (a *aviary) probesUntil(want func(uncharged string) bool) {
	a.t.Helper()
	eventually(a.t, func(context.Context) string {
		a.clock.Step(15 * time.Second)
		a.round()
		a.follow()
		a.round()
		if uncharged := a.Verdict().Uncharged; !want(uncharged) {
			return "the canary says: " + uncharged
		}
		return ""
	})
}

// ofQuotas are the writes of ResourceQuotas and their status in a namespace.
func ofQuotas(namespace string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"resourcequotas", "resourcequotas/status"}},
		}}},
	}
}

// validate has a policy demand something of each write of a ResourceQuota in a namespace, until it is undone.
func validate(t *testing.T, namespace, expression string) (undo func()) {
	t.Helper()
	about := metav1.ObjectMeta{Name: "meddling-" + namespace}
	return meddle(t,
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: about, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: ofQuotas(namespace), Validations: []admissionregistrationv1.Validation{{Expression: expression}},
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: about, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: about.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}})
}

// mutate has a policy change each write of a ResourceQuota in a namespace, until it is undone.
func mutate(t *testing.T, namespace, expression string) (undo func()) {
	t.Helper()
	about := metav1.ObjectMeta{Name: "meddling-" + namespace}
	return meddle(t,
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: about, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: ofQuotas(namespace), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
			}},
		}},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: about, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: about.Name,
		}})
}

func meddle(t *testing.T, policy, binding client.Object) (undo func()) {
	t.Helper()
	c := as(t, admin)
	must(t, c.Create(t.Context(), policy))
	must(t, c.Create(t.Context(), binding))
	undone := false
	undo = func() {
		if !undone {
			must(t, c.Delete(context.WithoutCancel(t.Context()), binding))
			must(t, c.Delete(context.WithoutCancel(t.Context()), policy))
			undone = true
		}
	}
	t.Cleanup(undo)
	return undo
}
