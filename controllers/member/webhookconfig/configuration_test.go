package webhookconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	manifests "github.com/fedquota/fedquota/config/member/webhook"
	"github.com/fedquota/fedquota/controllers/serving"
)

func shareOf(namespace string, names ...corev1.ResourceName) quotav1alpha1.QuotaShare {
	share := quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
	share.Spec.Hard = corev1.ResourceList{}
	for _, name := range names {
		share.Spec.Hard[name] = resource.MustParse("1")
	}
	return share
}

// TestRulesFollowShares sees no call for a kind that no share of a namespace counts.
func TestRulesFollowShares(t *testing.T) {
	template, err := serving.NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Template: template, Certificate: &serving.Certificate{}}
	off := shareOf("off", "pods")
	off.Spec.Admission.Mode = quotav1alpha1.AdmissionOff
	gone := shareOf("gone", "pods")
	gone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	ending, lasting := shareOf("a", "pods"), shareOf("b", "requests.cpu")
	ending.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	lasting.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
		ScopeName: corev1.ResourceQuotaScopeNotTerminating, Operator: corev1.ScopeSelectorOpExists,
	}}}
	tests := map[string]struct {
		shares []quotav1alpha1.QuotaShare
		want   []string
	}{
		"none":         {},
		"off or going": {shares: []quotav1alpha1.QuotaShare{off, gone}},
		"pods": {shares: []quotav1alpha1.QuotaShare{shareOf("b", "requests.cpu", "pods", "requests.nvidia.com/gpu"), shareOf("a", "limits.memory")},
			want: []string{"pods.fedquota.io [a b]: CREATE pods, UPDATE pods/resize", "resourceclaims.resource.k8s.io.fedquota.io [b]: CREATE+UPDATE resource.k8s.io/resourceclaims"}},
		"scopes that go by a deadline": {shares: []quotav1alpha1.QuotaShare{ending, lasting, shareOf("c", "pods")}, want: []string{
			"deadlines.pods.fedquota.io [a b]: UPDATE pods", "pods.fedquota.io [a b c]: CREATE pods, UPDATE pods/resize",
		}},
		"each namespace its own": {shares: []quotav1alpha1.QuotaShare{
			shareOf("a", "requests.storage", "count/deployments.apps"),
			shareOf("b", "gold.storageclass.storage.k8s.io/persistentvolumeclaims", "services.nodeports", "configmaps"),
			shareOf("c", "gpu.deviceclass.resource.k8s.io/devices", "count/configmaps"),
		}, want: []string{
			"configmaps.fedquota.io [b c]: CREATE configmaps",
			"deployments.apps.fedquota.io [a]: CREATE apps/deployments",
			"persistentvolumeclaims.fedquota.io [a b]: CREATE+UPDATE persistentvolumeclaims",
			"resourceclaims.resource.k8s.io.fedquota.io [c]: CREATE+UPDATE resource.k8s.io/resourceclaims",
			"services.fedquota.io [b]: CREATE+UPDATE services",
		}},
		"a name that counts nothing": {shares: []quotav1alpha1.QuotaShare{shareOf("a", "nvidia.com/gpu", "limits.nvidia.com/gpu", "count/")}},
		"a name that no resource can have": {
			shares: []quotav1alpha1.QuotaShare{
				shareOf("a", "count/Foo.example.com", "count/pods/status", "count/.apps", "count/*.apps", "count/"+corev1.ResourceName(strings.Repeat("a", 253))),
				shareOf("b", "count/jobs.batch"),
			},
			want: []string{"jobs.batch.fedquota.io [b]: CREATE batch/jobs"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, webhook := range r.webhooks(tc.shares) {
				var rules []string
				for _, rule := range webhook.Rules {
					var operations []string
					for _, operation := range rule.Operations {
						operations = append(operations, string(operation))
					}
					rules = append(rules, strings.Join(operations, "+")+" "+strings.TrimPrefix(rule.APIGroups[0]+"/"+rule.Resources[0], "/"))
				}
				slices.Sort(rules)
				got = append(got, fmt.Sprintf("%s %v: %s", webhook.Name, webhook.NamespaceSelector.MatchExpressions[0].Values, strings.Join(rules, ", ")))
				if *webhook.FailurePolicy != "Ignore" || *webhook.SideEffects != "NoneOnDryRun" {
					t.Errorf("%s: failurePolicy %s, sideEffects %s", webhook.Name, *webhook.FailurePolicy, *webhook.SideEffects)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTimeouts has API servers wait for an agent that hangs little longer than the longest hold takes.
func TestTimeouts(t *testing.T) {
	template, err := serving.NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	waits := func(milliseconds int32, names ...corev1.ResourceName) quotav1alpha1.QuotaShare {
		share := shareOf("a", names...)
		share.Spec.Admission.WaitMilliseconds = &milliseconds
		return share
	}
	r := &Reconciler{Template: template, Certificate: &serving.Certificate{}}
	got := map[string]int32{}
	for _, webhook := range r.webhooks([]quotav1alpha1.QuotaShare{
		waits(1000, "pods"), waits(1001, "pods", "services"), waits(1, "configmaps"), waits(5000, "secrets"), shareOf("b", "secrets", "requests.storage"),
		waits(100000, "count/jobs.batch"),
	}) {
		got[webhook.Name] = *webhook.TimeoutSeconds
	}
	want := map[string]int32{
		"pods.fedquota.io": 4, "services.fedquota.io": 4, "configmaps.fedquota.io": 3, "secrets.fedquota.io": 7,
		"persistentvolumeclaims.fedquota.io": 3, "jobs.batch.fedquota.io": 30,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWebhookOfAProcess(t *testing.T) {
	template, err := serving.NewTemplate(manifests.Manifests, "quota-system")
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Template: template, Certificate: &serving.Certificate{}, URL: "https://127.0.0.1:9443"}
	shares := []quotav1alpha1.QuotaShare{shareOf("a", "pods")}
	if config := r.webhooks(shares)[0].ClientConfig; config.Service != nil || *config.URL != "https://127.0.0.1:9443/admit" {
		t.Errorf("got %+v", config)
	}
	r.URL = ""
	if config := r.webhooks(shares)[0].ClientConfig; config.URL != nil || config.Service.Name != "fedquota-agent" || *config.Service.Path != Path {
		t.Errorf("got %+v", config)
	}
}
