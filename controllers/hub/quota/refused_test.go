package quota

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/shares"
)

// creates are the creates of a resource, for a policy or a webhook to judge.
func creates(group, resource string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}
}

// demand has the API server of a member demand something of the objects of this test that are created, once it does so.
func (w *world) demand(member string, rules []admissionregistrationv1.RuleWithOperations, expression, message string, probe client.Object) {
	w.t.Helper()
	named := make([]admissionregistrationv1.NamedRuleWithOperations, len(rules))
	for i := range rules {
		named[i].RuleWithOperations = rules[i]
	}
	ours := "object.metadata.name == '" + w.namespace + "' || has(object.metadata.namespace) && object.metadata.namespace == '" + w.namespace + "'"
	w.must(servers[member].Create(w.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: named},
			MatchConditions:  []admissionregistrationv1.MatchCondition{{Name: "ours", Expression: ours}},
			Validations:      []admissionregistrationv1.Validation{{Expression: expression, Message: message}},
		},
	}))
	w.must(servers[member].Create(w.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: w.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}))
	w.awaitRefusal(member, probe)
}

// awaitRefusal waits until the API server of a member takes an object no more.
func (w *world) awaitRefusal(member string, probe client.Object) {
	w.t.Helper()
	for servers[member].Create(w.t.Context(), probe.DeepCopyObject().(client.Object), client.DryRunAll) == nil {
		w.must(w.t.Context().Err())
	}
}

// probe is a share of another name than that of the budget.
func (w *world) probe() *quotav1alpha1.QuotaShare {
	return &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"},
		Spec:       quotav1alpha1.QuotaShareSpec{Revision: 1, Hard: list("pods", "1")},
	}
}

// TestNamespaceIsRefused has a policy of west demand a label of each namespace. Another budget has marked west, so that
// it may hold a share for all that the hub knows, until it answers.
func TestNamespaceIsRefused(t *testing.T) {
	w := newWorld(t, "east")
	w.join("west")
	w.markAll()
	w.demand("west", creates("", "namespaces"), "has(object.metadata.labels) && 'owner' in object.metadata.labels", "a Namespace needs the label owner",
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	spec := strings.Replace(weighted, "clusterSelector: {}", "clusterSelector: {}, createNamespace: true", 1)
	w.create(quotaName, spec)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 NotReady")
	want := `west: its API server refused to create the namespace: namespaces "` + w.namespace + `" is forbidden: ValidatingAdmissionPolicy '` + w.namespace +
		`' with binding '` + w.namespace + `' denied request: a Namespace needs the label owner`
	if got := w.message("MemberNotReady"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if reason := w.quota().Status.Clusters[1].Reason; reason != quotav1alpha1.ReasonNamespaceRefused {
		t.Errorf("the reason is %s", reason)
	}

	w.edit(strings.Replace(spec, "createNamespace: true", "createNamespace: true, namespaceTemplate: {labels: {owner: a}, annotations: {for: b}}", 1))
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	namespace := &corev1.Namespace{}
	w.must(servers["west"].Get(t.Context(), client.ObjectKey{Name: w.namespace}, namespace))
	if namespace.Labels["owner"] != "a" || namespace.Annotations["for"] != "b" {
		t.Errorf("the namespace is %v", namespace.ObjectMeta)
	}
	w.must(servers["east"].Get(t.Context(), client.ObjectKey{Name: w.namespace}, namespace))
	if _, labelled := namespace.Labels["owner"]; labelled {
		t.Error("the namespace that existed in east has another label")
	}
}

// TestNamespaceIsRefusedLater has the namespace of a cluster that holds something go, and refuses the next one.
func TestNamespaceIsRefusedLater(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, strings.Replace(weighted, "clusterSelector: {}", "clusterSelector: {}, createNamespace: true", 1))
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
	w.agents["west"].down, w.agents["west"].hard = true, nil
	w.members.byName["west"].client = interceptor.NewClient(servers["west"], interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(quotav1alpha1.GroupVersion.WithResource("quotashares").GroupResource(), key.Name)
		},
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			if _, isNamespace := object.(*corev1.Namespace); isNamespace {
				return apierrors.NewForbidden(corev1.Resource("namespaces"), object.GetName(), errors.New("no"))
			}
			return apierrors.NewNotFound(corev1.Resource("namespaces"), object.GetNamespace())
		},
	})
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/0 NotReady")
	if reason := w.quota().Status.Clusters[1].Reason; reason != quotav1alpha1.ReasonNamespaceRefused {
		t.Errorf("the reason is %s", reason)
	}
}

// TestOthersGoOnBesideWhoRefuses has clusters that may hold a share for all that the hub knows, until one of them
// answers that it takes none.
func TestOthersGoOnBesideWhoRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse  func(w *world)
		message string
		state   string
	}{
		"a policy": {
			refuse: func(w *world) {
				w.demand("west", creates("quota.fedquota.io", "quotashares"), "false", "no shares here", w.probe())
			},
			message: "its API server refused the share: quotashares.quota.fedquota.io \"compute\" is forbidden: ValidatingAdmissionPolicy 'NAMESPACE' with binding 'NAMESPACE' denied request: no shares here",
		},
		"a quota": {
			refuse: func(w *world) {
				quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "objects"}}
				quota.Spec.Hard = list("count/quotashares.quota.fedquota.io", "0")
				w.must(servers["west"].Create(w.t.Context(), quota))
				quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: list("count/quotashares.quota.fedquota.io", "0")}
				w.must(servers["west"].Status().Update(w.t.Context(), quota))
				w.awaitRefusal("west", w.probe())
			},
			message: "its API server refused the share: quotashares.quota.fedquota.io \"compute\" is forbidden: exceeded quota: objects, requested: count/quotashares.quota.fedquota.io=1, used: count/quotashares.quota.fedquota.io=0, limited: count/quotasha...",
		},
		"a webhook": {
			refuse:  func(w *world) { w.deny("west", "not today") },
			message: `its API server refused the share: admission webhook "shares.example.com" denied the request: not today`,
		},
		"no kind": {
			refuse:  func(w *world) { w.members.byName["west"].client = w.recorded(hubName) },
			message: "the API QuotaShare is not installed there; install the agent's manifests", state: "Unread",
		},
		"no agent": {
			refuse: func(w *world) { w.agents["west"].down = true }, state: "Settling",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := besideAnother(t, "east", "west")
			tc.refuse(w)
			w.create(quotaName, weighted)
			w.settle()
			state := "NotReady"
			if tc.state != "" {
				state = tc.state
			}
			w.wantLedger("east 18/18 Settled", "west 0/0 "+state)
			if got := strings.ReplaceAll(w.quota().Status.Clusters[1].Message, w.namespace, "NAMESPACE"); got != tc.message {
				t.Errorf("got  %s\nwant %s", got, tc.message)
			}
		})
	}
}

// TestLimitWhereSharesAreUnknown loses the ledger, and finds the limit of a share whose kind somebody has deleted: it may
// be any.
func TestLimitWhereSharesAreUnknown(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.members.byName["west"].client = w.recorded(hubName)
	w.enforces(hubName, func(*corev1.ResourceQuota) {})
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 0/9223372036854775807 Unread")
}

// deny has a webhook deny the shares of this test.
func (w *world) deny(member, message string) {
	w.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		review := &admissionv1.AdmissionReview{}
		_ = json.NewDecoder(request.Body).Decode(review)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: message}}
		_ = json.NewEncoder(writer).Encode(review)
	}))
	w.t.Cleanup(server.Close)
	w.must(servers[member].Create(w.t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "shares.example.com", Rules: creates("quota.fedquota.io", "quotashares"), AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			SideEffects:       new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
		}},
	}))
	w.awaitRefusal(member, w.probe())
}

// TestAnswersThatDifferInNumbers keeps the words of the first answer where the next ones differ in numbers alone.
func TestAnswersThatDifferInNumbers(t *testing.T) {
	const was = "its API server refused the share: request 1f2e-33 at 12:01:59: 9 of 10"
	for now, same := range map[string]bool{
		"its API server refused the share: request 77aa-0f at 12:02:14: 10 of 10": true,
		"its API server refused the share: request 77aa-0f at 12:02:14: no more":  false,
	} {
		if got := sameButNumbers(shares.Obstacle{Reason: "Refused", Message: now}, shares.Obstacle{Reason: "Refused", Message: was}); got != same {
			t.Errorf("%s: the same is %t", now, got)
		}
	}
	if sameButNumbers(shares.Obstacle{Reason: "Refused", Message: was}, shares.Obstacle{Reason: "NotAnswered", Message: was}) {
		t.Error("two reasons are the same")
	}
}
