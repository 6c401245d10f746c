package quota

import (
	"os"
	"path/filepath"
	"testing"

	lua "github.com/yuin/gopher-lua"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	luajson "layeh.com/gopher-json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// readAsGitOpsDoes has kstatus, which Flux and others tell the health of objects by, and the rule for Argo CD read the
// FederatedQuota in whatever state a test has brought it to.
func (w *world) readAsGitOpsDoes() {
	w.t.Helper()
	fq := w.quota()
	want := wantedOf(fq)
	if got := kstatusOf(w.t, fq); got != want {
		w.t.Errorf("kstatus reads %s, want %s of generation %d: %+v", got, want, fq.Generation, fq.Status.Conditions)
	}
	got, message := argoHealthOf(w.t, fq)
	if got != argoHealths[want] || message == "" {
		w.t.Errorf("Argo CD reads %s, %q, want %s of generation %d: %+v", got, message, argoHealths[want], fq.Generation, fq.Status.Conditions)
	}
}

// argoHealths are the words of Argo CD for those of kstatus.
var argoHealths = map[status.Status]string{
	status.CurrentStatus: "Healthy", status.FailedStatus: "Degraded", status.InProgressStatus: "Progressing", status.TerminatingStatus: "Progressing",
}

// argoHealthOf runs the rule of config/argocd as Argo CD does, by the same interpreter of Lua.
func argoHealthOf(t *testing.T, fq *quotav1alpha1.FederatedQuota) (health, message string) {
	t.Helper()
	machine := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer machine.Close()
	machine.Push(machine.NewFunction(lua.OpenBase)) // ipairs
	machine.Call(0, 0)
	text, err := unstructuredOf(t, fq).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	object, err := luajson.Decode(machine, text)
	if err != nil {
		t.Fatal(err)
	}
	machine.SetGlobal("obj", object)
	if err := machine.DoString(argoRule(t)); err != nil {
		t.Fatal(err)
	}
	table, ok := machine.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the rule returns %v", machine.Get(-1))
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String()
}

// argoRule reads the rule.
func argoRule(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "argocd", "health.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var patch struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		t.Fatal(err)
	}
	return patch.Data["resource.customizations.health.quota.fedquota.io_FederatedQuota"]
}

// wantedOf returns what a FederatedQuota means to GitOps.
func wantedOf(fq *quotav1alpha1.FederatedQuota) status.Status {
	switch is := func(condition string) bool { return apimeta.IsStatusConditionTrue(fq.Status.Conditions, condition) }; {
	case !fq.DeletionTimestamp.IsZero():
		return status.TerminatingStatus
	case fq.Status.ObservedGeneration != fq.Generation:
		return status.InProgressStatus
	case is(quotav1alpha1.ConditionReady):
		return status.CurrentStatus
	case is(quotav1alpha1.ConditionStalled):
		return status.FailedStatus
	}
	return status.InProgressStatus
}

func kstatusOf(t *testing.T, fq *quotav1alpha1.FederatedQuota) status.Status {
	t.Helper()
	result, err := status.Compute(unstructuredOf(t, fq))
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func unstructuredOf(t *testing.T, fq *quotav1alpha1.FederatedQuota) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(fq)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("FederatedQuota"))
	return object
}

// TestUnreadIsInProgress has GitOps wait for a FederatedQuota that the hub manager has not seen, and for a spec that it
// has not.
func TestUnreadIsInProgress(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	if got := kstatusOf(t, w.quota()); got != status.InProgressStatus {
		t.Errorf("a new one is %s", got)
	}
	if got, _ := argoHealthOf(t, w.quota()); got != "Progressing" {
		t.Errorf("to Argo CD a new one is %s", got)
	}
	w.settle()
	w.readAsGitOpsDoes()
	w.edit(eastFirst)
	w.readAsGitOpsDoes()
	w.edit(`{hard: {count/typo: "1"}, placement: {clusterSelector: {}}}`)
	w.settle()
	if got := kstatusOf(t, w.quota()); got != status.FailedStatus {
		t.Errorf("one that is invalid is %s", got)
	}
	w.readAsGitOpsDoes()
}
