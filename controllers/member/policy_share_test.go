package member_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const fromHub = "is written from FederatedQuota"

// shareRow is one request and what the share policy says of it.
type shareRow struct {
	by string
	// as is the field manager that is stated, if any.
	as string
	do shareRequest
	// refused is what the reason says, empty if the request is to be allowed.
	refused string
}

// shareRequest is a write of the share newShare, tried without effect.
type shareRequest func(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error

// newShare is what the hub writes at first.
func newShare(namespace string) *quotav1alpha1.QuotaShare {
	return &quotav1alpha1.QuotaShare{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "compute", Finalizers: []string{"quota.fedquota.io/removal"},
			Annotations: map[string]string{"quota.fedquota.io/cluster": "uid"},
		},
		Spec: quotav1alpha1.QuotaShareSpec{Revision: 5, Hard: list("pods", "10")},
	}
}

func shareRows() map[string]shareRow {
	rows := map[string]shareRow{
		"an administrator deletes":                       {do: removeShare},
		"an administrator takes the finalizer off":       {do: patchShare(`{"metadata":{"finalizers":null}}`)},
		"an administrator adds another annotation":       {do: patchShare(`{"metadata":{"annotations":{"note":"a"}}}`)},
		"an administrator adds a label":                  {do: patchShare(`{"metadata":{"labels":{"team":"a"}}}`)},
		"an administrator writes back what is there":     {do: putShare(func(*quotav1alpha1.QuotaShare) {})},
		"an administrator creates":                       {do: createShare, refused: fromHub},
		"an administrator edits limit and revision":      {do: patchShare(`{"spec":{"revision":6,"hard":{"pods":"99"}}}`), refused: fromHub},
		"an administrator replaces":                      {do: putShare(raiseShare), refused: fromHub},
		"an administrator applies":                       {as: "kubectl", do: applyShare("compute"), refused: fromHub},
		"an administrator applies a new one":             {as: "kubectl", do: applyShare("another"), refused: fromHub},
		"a backup restores one that is gone":             {as: "velero-server", do: createShare, refused: "needs no restore from a backup"},
		"an administrator edits what is said of the hub": {do: patchShare(`{"spec":{"pong":7}}`), refused: fromHub},
		"an administrator orders a removal":              {do: patchShare(`{"metadata":{"annotations":{"quota.fedquota.io/removal":"Delete"}}}`), refused: fromHub},
		"an administrator gives it to another Cluster":   {do: patchShare(`{"metadata":{"annotations":{"quota.fedquota.io/cluster":"another"}}}`), refused: fromHub},
		"an administrator takes all annotations off":     {do: patchShare(`{"metadata":{"annotations":null}}`), refused: fromHub},
		"a backup of another field manager is restored":  {as: "velero-server", do: putShare(raiseShare), refused: fromHub},
		"the agent takes the finalizer off":              {by: agent, do: patchShare(`{"metadata":{"finalizers":null}}`)},
		"the agent reports":                              {by: agent, do: reportShare},
		"the agent edits":                                {by: agent, do: patchShare(`{"spec":{"revision":6,"hard":{"pods":"99"}}}`), refused: "QuotaShare"},
	}
	for what, do := range map[string]shareRequest{
		"creates":           createShare,
		"patches":           patchShare(`{"spec":{"revision":6,"hard":{"pods":"99"}}}`),
		"replaces":          putShare(raiseShare),
		"applies":           applyShare("compute"),
		"applies a new one": applyShare("another"),
		"orders a removal":  patchShare(`{"metadata":{"annotations":{"quota.fedquota.io/removal":"Delete"}}}`),
	} {
		rows["the hub "+what] = shareRow{as: "fedquota-hub", do: do}
	}
	return rows
}

func TestSharePolicy(t *testing.T) {
	for name, r := range shareRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			share := newShare(newNamespace(t))
			must(t, asHub(t).Create(t.Context(), share))
			c := client.NewDryRunClient(as(t, r.by))
			if r.as != "" {
				c = client.WithFieldOwner(c, r.as)
			}
			switch got := refusal(t, r.do(t.Context(), c, share)); {
			case r.refused == "" && got != "":
				t.Error("refused: " + got)
			case !strings.Contains(got, r.refused):
				t.Errorf("refused for %q; want: %s", got, r.refused)
			}
		})
	}
}

// TestRefusalOfAShareSaysWhatToDo shows the whole message, as somebody sees it who asks with kubectl.
func TestRefusalOfAShareSaysWhatToDo(t *testing.T) {
	share := newShare(newNamespace(t))
	must(t, asHub(t).Create(t.Context(), share))
	want := fmt.Sprintf("QuotaShare %[1]s/compute is written from FederatedQuota %[1]s/compute on the hub: change that instead", share.Namespace)
	raiseShare(share)
	if got := refusal(t, as(t, admin).Update(t.Context(), share)); got != want {
		t.Errorf("got:  %s\nwant: %s", got, want)
	}
}

func createShare(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
	another := newShare(share.Namespace)
	another.Name = "another"
	return c.Create(ctx, another)
}

func patchShare(patch string) shareRequest {
	return func(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
		return c.Patch(ctx, share, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

// putShare is the request that writes the whole share back after a change.
func putShare(change func(share *quotav1alpha1.QuotaShare)) shareRequest {
	return func(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
		change(share)
		return c.Update(ctx, share)
	}
}

func raiseShare(share *quotav1alpha1.QuotaShare) {
	share.Spec.Revision, share.Spec.Hard = 6, list("pods", "99")
}

// applyShare is kubectl apply --server-side --force-conflicts.
func applyShare(name string) shareRequest {
	return func(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "quota.fedquota.io/v1alpha1", "kind": "QuotaShare",
			"metadata": map[string]any{"namespace": share.Namespace, "name": name},
			"spec":     map[string]any{"revision": int64(6), "hard": map[string]any{"pods": "99"}},
		}}), client.ForceOwnership)
	}
}

func reportShare(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
	stored := share.DeepCopy()
	share.Status.Revision = 5
	return c.Status().Patch(ctx, share, client.MergeFrom(stored))
}

func removeShare(ctx context.Context, c client.Client, share *quotav1alpha1.QuotaShare) error {
	return c.Delete(ctx, share)
}
