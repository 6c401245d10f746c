//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// testMemberRestored puts the etcd of a member back to a snapshot: once to one with a lower limit than granted, once to
// one with a higher limit than granted. The latter exceeds the budget, which nobody can prevent; it has to end by
// itself, under load that has filled the higher limit, and is judged from then on. Nobody restarts agent or hub
// manager: a watch that goes on from a version which has not happened yet is silent until it has, so both have to
// notice.
func testMemberRestored(t *testing.T, w *world) {
	s := newScenario(t, w, "member-restored", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	s.must(w.Member(west).Snapshot(t.Context(), snapshot))
	// Only now: pods of the load that a rollback brings back would be nobody's, and fill a lower limit for good.
	s.storm()

	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(2, 3, 1) })
	s.split(amounts{cpu: {"10", "15", "5"}})
	s.judge()
	s.fault("etcd of west rolled back from a limit of 15 to one of 10 cpu, under load")
	s.must(w.Member(west).Restore(t.Context(), snapshot))
	s.observeAnew(budget("30", "60"))
	s.split(amounts{cpu: {"10", "15", "5"}})
	s.turn(0)
	s.split(sample)

	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(3, 1, 2) })
	s.split(amounts{cpu: {"15", "5", "10"}})
	s.judge()
	s.fault("etcd of west rolled back from a limit of 5 to one of 10 cpu, under load")
	s.must(w.Member(west).Restore(t.Context(), snapshot))
	restored := time.Now()
	s.split(amounts{cpu: {"15", "5", "10"}})
	s.Logf("the excess that the rollback itself is was gone after %s", time.Since(restored).Round(time.Millisecond))
	s.observeAnew(budget("30", "60"))
	s.finish()
}

// testHubRestored puts the etcd of the hub back to a snapshot under a hub manager that nobody restarts: the ledger
// meets members with higher revisions, learns what they hold, and goes on above.
func testHubRestored(t *testing.T, w *world) {
	s := newScenario(t, w, "hub-restored", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	s.must(w.Hub.Snapshot(t.Context(), snapshot))

	s.fault("etcd of the hub rolled back while the agent of east is paused (SIGSTOP), which holds more than the ledger says then")
	s.turn(4)
	s.split(amounts{cpu: {"20", "5", "5"}})
	s.pause(w.Agents[east])
	s.must(w.Hub.Restore(t.Context(), snapshot))
	s.eventually("a revision above all that members have seen", s.ahead)
	s.holds("west to wait for east", 3*time.Second, func(ctx context.Context) error {
		return s.limits(ctx, amounts{cpu: {"20", "5", "5"}})
	})
	s.must(w.Agents[east].Resume())
	s.split(sample)

	s.fault("etcd of the hub rolled back by one change, and its store ahead again before the hub manager has looked (SIGSTOP)")
	s.must(w.Hub.Snapshot(t.Context(), snapshot+"-before"))
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Distribution.Rules = weights(6, 4, 2) })
	s.progress()
	s.pause(w.HubManager)
	version := s.version()
	s.must(w.Hub.Restore(t.Context(), snapshot+"-before"))
	s.overtake(version)
	s.must(w.HubManager.Resume())
	s.turn(1)
	s.split(amounts{cpu: {"5", "15", "10"}})
	s.turn(0)
	s.split(sample)

	s.storm()
	for n := range 4 {
		s.turn(n + 1)
		s.progress()
	}
	s.fault("etcd of the hub rolled back by 4 changes of the weights, under load")
	s.must(w.Hub.Restore(t.Context(), snapshot))
	s.eventually("a revision above all that members have seen", s.ahead)
	s.fault("and rolled back in the middle of a change")
	s.turn(2)
	s.moment(stepWindow)
	s.must(w.Hub.Restore(t.Context(), snapshot))
	s.endStorms()
	s.split(sample)
	s.finish()
}

// testHubForgetsSelection puts the etcd of the hub back to a time when west was not selected. Nothing in the ledger
// tells of what west holds, nor does east, which was never told of west: only the share in west does.
func testHubForgetsSelection(t *testing.T, w *world) {
	placed := func(most string, members ...quotav1alpha1.ClusterName) func(*quotav1alpha1.FederatedQuota) {
		return func(fq *quotav1alpha1.FederatedQuota) {
			fq.Spec.Placement.ClusterSelector, fq.Spec.Placement.Clusters = nil, members
			fq.Spec.Distribution.Rules = []quotav1alpha1.DistributionRule{{Clusters: []quotav1alpha1.ClusterName{east}, RuleTerms: quotav1alpha1.RuleTerms{Max: budget(most, "60")}}}
		}
	}
	s := newScenario(t, w, "hub-forgets", budget("30", "60"))
	s.create(budget("30", "60"), placed("10", east))
	s.split(amounts{cpu: {"10", "", ""}})
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	s.must(w.Hub.Snapshot(t.Context(), snapshot))
	s.change(placed("10", east, west))
	s.split(amounts{cpu: {"10", "20", ""}})
	s.storm(east, west)

	s.fault("etcd of the hub rolled back to before west was selected, and east to be given all")
	s.must(w.Hub.Restore(t.Context(), snapshot))
	s.change(placed("30", east))
	s.eventually("west to be found", func(ctx context.Context) error {
		fq, err := s.federatedQuota(ctx)
		if err == nil && len(fq.Status.Clusters) != 2 {
			err = fmt.Errorf("the ledger has %d entries", len(fq.Status.Clusters))
		}
		return err
	})
	s.change(placed("10", east, west))
	s.split(amounts{cpu: {"10", "20", ""}})
	s.finish()
}

// testOrphan takes from the hub whatever tells of the limit in west, which is not selected any more: the ledger, and
// the share there. Its ResourceQuota is left, with the marker on the Cluster that says to look for it: it counts while
// the FederatedQuota is there, and is released when that is deleted.
func testOrphan(t *testing.T, w *world) {
	s := newScenario(t, w, "orphan", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(2)
	s.storm()
	orphan := func(meanwhile func()) {
		s.pause(w.HubManager)
		s.label(west, "test")
		s.Cleanup(func() { _ = s.relabel(context.Background(), west, "prod") })
		share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
		s.must(s.member(west).Delete(s.Context(), share))
		s.eventually("the share in west to be gone", func(ctx context.Context) error {
			err := s.member(west).Get(ctx, s.key, share)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it is still there"), err)
		})
		s.must(s.loseLedger(s.Context()))
		meanwhile()
		s.must(w.HubManager.Resume())
	}

	s.fault("the ledger lost, and the share of west deleted by hand, which is not selected any more")
	orphan(func() {})
	s.eventually("west to leave", func(ctx context.Context) error { return s.leaving(ctx, west) })
	s.label(west, "prod")
	s.split(sample)

	s.finish()
	for _, member := range s.names() {
		s.recounted(member, budget("200m", "2"))
	}
	orphan(func() { s.must(s.hub.Delete(s.Context(), newQuota(s.key, budget("30", "60")))) })
	s.eventually("the FederatedQuota to be gone", func(ctx context.Context) error {
		_, err := s.federatedQuota(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
	for _, member := range s.names() {
		s.released(member, quotav1alpha1.RemovalRetain)
	}
	s.untouched()
}

// loseLedger wipes the status, as a restore without it does.
func (s *scenario) loseLedger(ctx context.Context) error {
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
	return s.hub.Status().Patch(ctx, fq, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)))
}

// leaving says whether the share of a member is of nothing.
func (s *scenario) leaving(ctx context.Context, member string) error {
	share := &quotav1alpha1.QuotaShare{}
	if err := s.member(member).Get(ctx, s.key, share); err != nil {
		return err
	}
	if limit := share.Spec.Hard[cpu]; !limit.IsZero() {
		return fmt.Errorf("the share in %s is %s", member, limit.String())
	}
	return nil
}

// version returns the resourceVersion that the store of the hub is at.
func (s *scenario) version() string {
	s.Helper()
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	s.must(s.hub.List(s.Context(), namespaces))
	return namespaces.ResourceVersion
}

// overtake writes on the hub until its store is ahead of a version that it has forgotten: that it went back no longer
// shows by that.
func (s *scenario) overtake(version string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.key.Namespace}}
	for n := 0; ; n++ {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e.fedquota.io/write":"%d"}}}`, n)
		s.must(s.hub.Patch(s.Context(), namespace, client.RawPatch(types.MergePatchType, patch)))
		order, err := resourceversion.CompareResourceVersion(namespace.ResourceVersion, version)
		s.must(err)
		if order > 0 {
			return
		}
	}
}

// ahead says which member has seen a higher revision than the ledger knows.
func (s *scenario) ahead(ctx context.Context) error {
	fq, err := s.federatedQuota(ctx)
	if err != nil {
		return err
	}
	return s.aheadOf(ctx, fq)
}

// aheadOf says which member has seen a higher revision than a ledger that was read before.
func (s *scenario) aheadOf(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	for _, member := range s.names() {
		share := &quotav1alpha1.QuotaShare{}
		if err := s.member(member).Get(ctx, s.key, share); err != nil {
			return err
		}
		if seen := max(share.Spec.Revision, share.Status.Revision); seen > fq.Status.Revision {
			return fmt.Errorf("cluster %s has seen revision %d, the ledger is at %d", member, seen, fq.Status.Revision)
		}
	}
	return nil
}
