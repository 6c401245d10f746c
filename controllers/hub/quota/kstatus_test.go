package quota

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// readAsGitOpsDoes has kstatus, which Flux and others tell the health of objects by, read the FederatedQuota in whatever state a test has
// brought it to.
func (w *world) readAsGitOpsDoes() {
	w.t.Helper()
	fq := w.quota()
	if got, want := kstatusOf(w.t, fq), wantedOf(fq); got != want {
		w.t.Errorf("kstatus reads %s, want %s of generation %d: %+v", got, want, fq.Generation, fq.Status.Conditions)
	}
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
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(fq)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind("FederatedQuota"))
	result, err := status.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// TestUnreadIsInProgress has GitOps wait for a FederatedQuota that the hub manager has not seen, and for a spec that it has not.
func TestUnreadIsInProgress(t *testing.T) {
	w := newWorld(t, "east")
	w.create(quotaName, weighted)
	if got := kstatusOf(t, w.quota()); got == status.FailedStatus {
		t.Errorf("a new one is %s", got)
	}
	w.settle()
	w.readAsGitOpsDoes()
	w.edit(eastFirst)
	if got := kstatusOf(t, w.quota()); got != status.InProgressStatus {
		t.Errorf("one with another spec is %s", got)
	}
	w.edit(`{hard: {count/typo: "1"}, placement: {clusterSelector: {}}}`)
	w.settle()
	if got := kstatusOf(t, w.quota()); got != status.FailedStatus {
		t.Errorf("one that is invalid is %s", got)
	}
}
