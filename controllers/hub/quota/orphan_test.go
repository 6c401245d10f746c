package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

// enforces makes the ResourceQuota that the agent of a member would have made, but for what mutate changes.
func (w *world) enforces(member string, mutate func(*corev1.ResourceQuota)) *corev1.ResourceQuota {
	w.t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: quotaName,
			Labels:      map[string]string{quotav1alpha1.ManagedLabel: "true"},
			Annotations: map[string]string{quotav1alpha1.RevisionAnnotation: "7"},
		},
		Spec: corev1.ResourceQuotaSpec{Hard: list("pods", "12")},
	}
	mutate(quota)
	w.must(servers[member].Create(w.t.Context(), quota))
	return quota
}

// bereaved is a world in which the share of west was deleted by hand, and then the ledger lost: the limit in west is
// all that tells of the pods that are used there.
func bereaved(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	w.agents["west"].uses(list("pods", "7"))
	w.enforces("west", func(*corev1.ResourceQuota) {})
	w.loseShare("west")
	w.replaceStatus(quotav1alpha1.FederatedQuotaStatus{})
	w.restart()
	return w
}

// TestLostLedgerAndShareOfAClusterThatLeaves counts what is used in a cluster that is not selected any more, and of
// which neither ledger nor share tell.
func TestLostLedgerAndShareOfAClusterThatLeaves(t *testing.T) {
	w := bereaved(t)
	w.edit(eastOnly)
	w.settle()
	w.wantLedger("east 23/23 Settled", "west 0/7 Leaving")
	w.agents["west"].uses(nil)
	w.settle()
	w.wantLedger("east 30/30 Settled")
}

// TestLostLedgerAndShareOfARemoval tells a cluster what shall become of its ResourceQuota that has no share, so that a
// FederatedQuota which is created again finds no limit that nobody knows of.
func TestLostLedgerAndShareOfARemoval(t *testing.T) {
	w := bereaved(t)
	w.must(servers[hubName].Delete(t.Context(), w.quota()))
	for range 6 {
		w.round()
		w.act()
	}
	if !w.gone() {
		t.Errorf("the FederatedQuota is still there: %v", w.ledger("pods"))
	}
	if got := w.agents["west"].removal; got != "Retain" {
		t.Errorf("west was told to %q", got)
	}
}

// TestTornFinalizer has somebody take the finalizer off a share that was told to go, before the agent has acted on it.
func TestTornFinalizer(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted)
	w.settle()
	quota := w.enforces("west", func(*corev1.ResourceQuota) {})
	w.edit(eastOnly)
	for range 6 {
		if w.round(); !w.share("west").DeletionTimestamp.IsZero() {
			break
		}
		w.act()
	}
	if w.share("west").DeletionTimestamp.IsZero() {
		t.Fatal("the share of west is not told to go")
	}
	w.loseShare("west")
	w.settle()
	w.wantLedger("east 30/30 Settled")
	if err := servers["west"].Get(t.Context(), client.ObjectKeyFromObject(quota), quota); !apierrors.IsNotFound(err) {
		t.Errorf("reading the ResourceQuota in west: got %v, want NotFound", err)
	}
}

func TestOrphan(t *testing.T) {
	tests := map[string]struct {
		mutate func(*corev1.ResourceQuota)
		want   *ledger.Share
	}{
		"managed": {
			mutate: func(*corev1.ResourceQuota) {},
			want:   &ledger.Share{InForce: 7},
		},
		"at what the agent takes for no revision": {
			mutate: func(q *corev1.ResourceQuota) { q.Annotations[quotav1alpha1.RevisionAnnotation] = "+7" },
			want:   &ledger.Share{},
		},
		"at no revision": {
			mutate: func(q *corev1.ResourceQuota) { q.Annotations = nil },
			want:   &ledger.Share{},
		},
		"at a revision that no ledger gave": {
			mutate: func(q *corev1.ResourceQuota) {
				q.Annotations[quotav1alpha1.RevisionAnnotation] = "9223372036854775807"
			},
			want: &ledger.Share{},
		},
		"released": {mutate: func(q *corev1.ResourceQuota) {
			q.Labels, q.Annotations = nil, map[string]string{quotav1alpha1.ReleasedAnnotation: "7"}
		}},
		"about to be taken over": {
			mutate: func(q *corev1.ResourceQuota) {
				q.Labels, q.Annotations = nil, map[string]string{quotav1alpha1.ToBeTakenOverAnnotation: "true"}
			},
			want: &ledger.Share{},
		},
		"somebody else's": {mutate: func(q *corev1.ResourceQuota) { q.Labels, q.Annotations = nil, nil }},
		"of other scopes": {mutate: func(q *corev1.ResourceQuota) {
			q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
		}},
		"of another name": {mutate: func(q *corev1.ResourceQuota) { q.Name = "other" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east")
			w.create(quotaName, eastAlone)
			w.enforces("east", test.mutate)
			got, err := orphan(t.Context(), servers["east"], w.scope())
			w.must(err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("being deleted", func(t *testing.T) {
		w := newWorld(t, "east")
		w.create(quotaName, eastAlone)
		quota := w.enforces("east", func(q *corev1.ResourceQuota) { q.Finalizers = []string{"example.com/hold"} })
		w.must(servers["east"].Delete(t.Context(), quota))
		got, err := orphan(t.Context(), servers["east"], w.scope())
		w.must(err)
		if got != nil {
			t.Errorf("got %v", got)
		}
		quota.Finalizers = nil
		w.must(servers["east"].Patch(t.Context(), quota, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	})
}
