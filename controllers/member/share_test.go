package member_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

type l = []string

func TestCreation(t *testing.T) {
	w := newWorld(t)
	w.share(3, "pods", "10")
	w.reconcile()
	w.wantsQuota("3", "pods", "10")
	if w.quota().Labels["quota.fedquota.io/managed"] != "true" {
		t.Error("the ResourceQuota is not labelled as managed")
	}
	w.wantsReport(0, nil, nil)
	w.wantsReason("Pending")
	w.count("pods", "4")
	w.reconcile()
	w.wantsReport(3, l{"pods", "10"}, l{"pods", "4"})
	w.wantsReason("Enforced")
	w.wantsConditions()
	w.unwritten(func() { w.reconcile() })
}

// TestAsksBeforeTheFirstLimit has API servers ask the webhook before there is a limit, and once.
func TestAsksBeforeTheFirstLimit(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.agent.Ask = func(ctx context.Context) {
		asked++
		if err := w.hub.Get(ctx, w.key, &corev1.ResourceQuota{}); !apierrors.IsNotFound(err) {
			t.Errorf("asked when there was a ResourceQuota, or not: %v", err)
		}
	}
	w.share(1, "pods", "0")
	w.reconcile()
	w.wantsQuota("1", "pods", "0")
	w.count("pods", "0")
	w.share(2, "pods", "10")
	w.reconcile()
	w.wantsQuota("2", "pods", "10")
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

func TestRaiseAndLower(t *testing.T) {
	for name, tc := range map[string]struct {
		limit, used, want string
		settled           bool
	}{
		"raise":                   {limit: "20", used: "8", want: "20"},
		"lower above what's used": {limit: "9", used: "8", want: "9"},
		"lower to what is used":   {limit: "8", used: "8", want: "8"},
		"lower below what's used": {limit: "2", used: "8", want: "8"},
		"lower to nothing":        {limit: "0", used: "8", want: "8"},
		"confirm":                 {limit: "10", used: "8", want: "10"},
		"raise, overcharged":      {limit: "11", used: "12", want: "11"},
		"lower, overcharged":      {limit: "4", used: "12", want: "10"},
		"confirm, overcharged":    {limit: "10", used: "12", want: "10"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", tc.used})
			w.share(2, "pods", tc.limit)
			w.reconcile()
			w.wantsQuota("2", "pods", tc.want)
			// The agent brings the limit into force itself, so one pass confirms.
			w.wantsReport(2, l{"pods", tc.want}, l{"pods", tc.used})
			w.wantsReason("Enforced")
		})
	}
}

func TestFollowsUsageDown(t *testing.T) {
	w := settled(t, 1, l{"pods", "10", "services", "5"}, l{"pods", "8", "services", "1"})
	w.share(2, "pods", "3", "services", "5")
	w.reconcile()
	for _, step := range []struct{ used, want string }{{"6", "6"}, {"7", "6"}, {"4", "4"}, {"1", "3"}, {"2", "3"}} {
		w.pass()
		w.count("pods", step.used, "services", "1")
		w.reconcile()
		w.wantsQuota("2", "pods", step.want, "services", "5")
		w.pass()
		w.reconcile()
		w.wantsReport(2, l{"pods", step.want, "services", "5"}, l{"pods", step.used, "services", "1"})
	}
}

// TestYields lets usage rise between the agent's read and its write, as under a storm of creates: each try leaves more
// room.
func TestYields(t *testing.T) {
	for name, tc := range map[string]struct {
		charges []string
		want    string
	}{
		"once":       {charges: l{"90"}, want: "92"}, // a quarter of the way from what was used to the limit
		"twice":      {charges: l{"90", "94"}, want: "96"},
		"every time": {charges: l{"90", "94", "98", "99", "100"}, want: "100"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "100"}, l{"pods", "88"})
			charges := tc.charges
			w.agent.Client = preceded(as(t, agent), func() bool {
				q := w.quota()
				q.Status.Used = list("pods", charges[0])
				must(t, as(t, apiServer).Status().Update(t.Context(), q))
				charges = charges[1:]
				return len(charges) > 0
			})
			w.share(2, "pods", "10")
			w.reconcile()
			w.wantsQuota("2", "pods", tc.want)
			w.pass()
			w.agent = w.newAgent()
			w.count("pods", "5")
			w.reconcile()
			w.wantsQuota("2", "pods", "10")
		})
	}
}

// TestStaleShare has a share come back at an older revision, as after it was deleted by hand and restored from the
// past.
func TestStaleShare(t *testing.T) {
	w := settled(t, 5, l{"pods", "10"}, l{"pods", "8"})
	w.leave("")
	w.reconcile()
	if !w.gone() {
		t.Fatal("a share deleted by hand does not go")
	}
	w.wantsQuota("5", "pods", "10")
	w.share(4, "pods", "50")
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("StaleShare")
	w.share(6, "pods", "12")
	w.reconcile()
	w.wantsReport(6, l{"pods", "12"}, l{"pods", "8"})
}

func TestNames(t *testing.T) {
	w := settled(t, 1, l{"pods", "10", "services", "5"}, l{"pods", "8", "services", "1"})
	w.share(2, "pods", "10", "secrets", "7")
	w.reconcile()
	w.wantsQuota("2", "pods", "10", "secrets", "7")
	// Nobody knows yet how many secrets there are: the limit is not brought into force by the agent.
	w.wantsReason("Pending")
	if _, limited := w.quota().Status.Hard["secrets"]; limited {
		t.Error("a name is limited whose usage is not known")
	}
	w.count("pods", "8", "secrets", "9")
	w.reconcile()
	w.wantsReport(2, l{"pods", "10", "secrets", "7"}, l{"pods", "8", "secrets", "9"})
	w.wantsReason("Enforced")
}

// TestRename has a budget count the same under another name: until the quota controller has counted that, the name that
// left is all that limits the namespace.
func TestRename(t *testing.T) {
	w := settled(t, 1, l{"configmaps", "2"}, l{"configmaps", "2"})
	w.share(2, "count/configmaps", "2")
	w.reconcile()
	w.wantsQuota("2", "count/configmaps", "2")
	if diff := cmp.Diff(list("configmaps", "2"), w.quota().Status.Hard); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
	w.wantsReport(1, l{"configmaps", "2"}, l{"configmaps", "2"})
	w.wantsReason("Pending")
	eventually(t, func(ctx context.Context) string {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "third"}}
		if err := client.NewDryRunClient(w.hub).Create(ctx, object); !apierrors.IsForbidden(err) {
			return fmt.Sprintf("creating above the limit: %v", err)
		}
		return ""
	})
	w.unwritten(func() { w.reconcile() })

	w.count("count/configmaps", "2")
	w.reconcile()
	w.wantsReport(2, l{"count/configmaps", "2"}, l{"count/configmaps", "2"})
	w.wantsReason("Enforced")
	w.unwritten(func() { w.reconcile() })
}

// TestNameThatComesBack has a name leave and come back before the quota controller has seen either: it was in force all
// the time, so that its usage is known.
func TestNameThatComesBack(t *testing.T) {
	w := settled(t, 1, l{"pods", "10", "services", "5"}, l{"pods", "8", "services", "1"})
	w.share(2, "pods", "9")
	w.reconcile()
	if diff := cmp.Diff(list("pods", "9", "services", "5"), w.quota().Status.Hard); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
	w.wantsReport(1, l{"pods", "10", "services", "5"}, l{"pods", "8", "services", "1"})
	q := w.quota()
	q.Status.Used = list("pods", "8", "services", "4")
	must(t, as(t, apiServer).Status().Update(t.Context(), q))
	w.share(3, "pods", "9", "services", "0")
	w.reconcile()
	w.wantsQuota("3", "pods", "9", "services", "4")
	w.wantsReport(3, l{"pods", "9", "services", "4"}, l{"pods", "8", "services", "4"})
	w.wantsReason("Enforced")
}

func TestUncountedName(t *testing.T) {
	w := newWorld(t)
	w.share(1, "pods", "10", "count/widgets.example.com", "3")
	w.reconcile()
	w.count("pods", "4")
	w.reconcile()
	w.wantsReason("KindNotServed")
	w.wantsReport(1, l{"pods", "10", "count/widgets.example.com", "3"}, l{"pods", "4"})
	w.count("pods", "4", "count/widgets.example.com", "1") // the CRD has come
	w.reconcile()
	w.wantsReason("Enforced")
	w.wantsReport(1, l{"pods", "10", "count/widgets.example.com", "3"}, l{"pods", "4", "count/widgets.example.com", "1"})
	w.share(2, "pods", "10", "nvidia.com/gpu", "1")
	w.reconcile()
	w.count("pods", "4")
	w.reconcile()
	w.wantsReason("UnknownResource")
	w.share(3, "pods", "10")
	w.reconcile()
	w.count("pods", "4")
	w.reconcile()
	w.wantsReason("Enforced")
}

func TestForeignQuota(t *testing.T) {
	for name, tc := range map[string]struct {
		ours, theirs []corev1.ResourceQuotaScope
		want         []string
	}{
		"no scopes":       {want: l{"ForeignQuota"}},
		"one has scopes":  {theirs: []corev1.ResourceQuotaScope{"BestEffort"}, want: l{"ForeignQuota"}},
		"the same scopes": {ours: []corev1.ResourceQuotaScope{"BestEffort"}, theirs: []corev1.ResourceQuotaScope{"BestEffort"}, want: l{"ForeignQuota"}},
		"opposite scopes": {ours: []corev1.ResourceQuotaScope{"NotTerminating"}, theirs: []corev1.ResourceQuotaScope{"Terminating"}, want: l{"ForeignQuota"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			foreign := quota("theirs").hard("pods", "5").in(w.key.Namespace).Obj()
			foreign.Spec.Scopes = tc.theirs
			must(t, w.hub.Create(t.Context(), foreign))
			w.scoped(1, tc.ours, "pods", "10")
			w.reconcile()
			w.wantsConditions(tc.want...)
			must(t, w.hub.Delete(t.Context(), foreign))
			w.reconcile()
			w.wantsConditions()
		})
	}
}

// TestAcceptedQuota has one ResourceQuota that the budget accepts, and one that a tool makes again and again.
func TestAcceptedQuota(t *testing.T) {
	w := newWorld(t)
	kyverno := quota("theirs").hard("pods", "5").in(w.key.Namespace).Obj()
	kyverno.Labels["generate.kyverno.io/policy-name"] = "add-quota"
	must(t, w.hub.Create(t.Context(), kyverno))
	must(t, w.hub.Create(t.Context(), quota("gke-resource-quotas").hard("pods", "1500").in(w.key.Namespace).Obj()))
	w.share(1, "pods", "10")
	for _, step := range []struct {
		accepted []quotav1alpha1.QuotaName
		want     string
	}{
		{want: "gke-resource-quotas (GKE keeps it in every namespace: accept it), theirs (Kyverno policy add-quota makes it"},
		{accepted: []quotav1alpha1.QuotaName{"gke-resource-quotas"}, want: "other ResourceQuotas: theirs (Kyverno policy add-quota makes it: exclude the namespace in its rule). Each"},
		{accepted: []quotav1alpha1.QuotaName{"gke-resource-quotas", "theirs"}},
	} {
		share := w.status()
		share.Spec.ExistingQuotas.Accepted = step.accepted
		must(t, w.hub.Update(t.Context(), share))
		w.reconcile()
		c := apimeta.FindStatusCondition(w.status().Status.Conditions, "ForeignQuota")
		if (c != nil) != (step.want != "") || c != nil && !strings.Contains(c.Message, step.want) {
			t.Errorf("with %v accepted: %+v, want it to say %q", step.accepted, c, step.want)
		}
	}
}

func TestNameTaken(t *testing.T) {
	w := newWorld(t)
	taken := quota("compute").hard("pods", "5").create(t, w.key.Namespace)
	w.share(1, "pods", "10")
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")
	must(t, w.hub.Delete(t.Context(), taken))
	w.reconcile()
	w.wantsQuota("1", "pods", "10")
}

// TestOtherScopes has a managed ResourceQuota of the right name count something else than the share.
func TestOtherScopes(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "8"})
	w.leave("")
	w.reconcile()
	w.scoped(2, []corev1.ResourceQuotaScope{"BestEffort"}, "pods", "4")
	w.unwritten(func() { w.reconcile() })
	w.wantsReason("NameTaken")
	w.wantsReport(0, nil, nil)
}

func TestNamespaceTerminating(t *testing.T) {
	w := newWorld(t)
	w.share(1, "pods", "10")
	namespace := &corev1.Namespace{}
	namespace.Name = w.key.Namespace
	must(t, w.hub.Delete(t.Context(), namespace))
	w.reconcile() // and no error, which would be tried again and again
	w.wantsReason("NamespaceTerminating")
	w.leave("")
	w.reconcile()
	if !w.gone() {
		t.Error("the share keeps the namespace from going")
	}
}

func TestReportPacing(t *testing.T) {
	w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
	w.count("pods", "5")
	if wait := w.reconcile().RequeueAfter; wait != time.Second {
		t.Errorf("waits %s, want 1s", wait)
	}
	w.wantsReport(1, l{"pods", "10"}, l{"pods", "4"})
	// What the hub waits for does not wait.
	w.share(2, "pods", "9")
	w.reconcile()
	w.wantsReport(2, l{"pods", "9"}, l{"pods", "5"})
	w.count("pods", "6")
	w.clock.Step(time.Second)
	w.reconcile()
	w.wantsReport(2, l{"pods", "9"}, l{"pods", "6"})
}

// TestReportsWrittenByOthers has somebody else write the status of a share. Nothing tells the agent, and it reports
// anew all the same, since it looks at each share now and then.
func TestReportsWrittenByOthers(t *testing.T) {
	for name, write := range map[string]func(*quotav1alpha1.QuotaShareStatus){
		"nothing":      func(s *quotav1alpha1.QuotaShareStatus) { *s = quotav1alpha1.QuotaShareStatus{} },
		"less is used": func(s *quotav1alpha1.QuotaShareStatus) { s.Used = list("pods", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 1, l{"pods", "10"}, l{"pods", "4"})
			next := w.reconcile().RequeueAfter
			if next < time.Minute || next > 2*time.Minute {
				t.Fatalf("the next look follows %s after the last one", next)
			}
			share := w.status()
			write(&share.Status)
			must(t, w.hub.Status().Update(t.Context(), share))
			w.clock.Step(next)
			w.reconcile()
			w.wantsReport(1, l{"pods", "10"}, l{"pods", "4"})
		})
	}
}
