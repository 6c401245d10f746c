package quota

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/shares"
)

// lint returns what is wrong with how a FederatedQuota says of itself what it does.
func lint(fq *quotav1alpha1.FederatedQuota) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	conditions := fq.Status.Conditions
	ready := apimeta.FindStatusCondition(conditions, "Ready")
	switch {
	case ready == nil:
		fault("Ready is missing")
	case conditions[0].Type != "Ready":
		fault("Ready is not the first condition")
	}
	for _, c := range conditions {
		if c.Type == "Ready" {
			continue
		}
		if c.Status != metav1.ConditionTrue {
			fault("%s is there and not true", c.Type)
		}
		if ready != nil && ready.Status == metav1.ConditionTrue && !shares.Harmless(c.Type) {
			fault("%s is true while Ready is", c.Type)
		}
	}
	reconciling, stalled := apimeta.IsStatusConditionTrue(conditions, "Reconciling"), apimeta.IsStatusConditionTrue(conditions, "Stalled")
	if reconciling && stalled {
		fault("both Reconciling and Stalled")
	}
	if ready != nil && ready.Status != metav1.ConditionTrue && !reconciling && !stalled {
		fault("not Ready, and neither Reconciling nor Stalled")
	}
	for _, c := range conditions {
		if c.ObservedGeneration != fq.Status.ObservedGeneration || c.Message == "" || c.LastTransitionTime.IsZero() {
			fault("%s lacks its generation, message or time", c.Type)
		}
	}
	if fq.Status.ObservedGeneration <= 0 || fq.Status.ObservedGeneration > fq.Generation {
		fault("observedGeneration is %d of generation %d", fq.Status.ObservedGeneration, fq.Generation)
	}
	return faults
}

// check demands of every FederatedQuota that its status is sound, and of the one that the agents follow that no member
// enforces or uses more than it was granted.
func (w *world) check() {
	w.t.Helper()
	var quotas quotav1alpha1.FederatedQuotaList
	w.must(servers[hubName].List(w.t.Context(), &quotas, client.InNamespace(w.namespace)))
	for i := range quotas.Items {
		fq := &quotas.Items[i]
		if fq.Status.ObservedGeneration <= 0 && len(fq.Status.Conditions) == 0 {
			continue
		}
		for _, fault := range lint(fq) {
			w.t.Errorf("%s: %s", fq.Name, fault)
		}
		if fq.Name == quotaName {
			w.checkGranted(fq)
		}
	}
}

// checkGranted holds what the members enforce, and what they are told to, against the ledger.
func (w *world) checkGranted(fq *quotav1alpha1.FederatedQuota) {
	w.t.Helper()
	for i := range fq.Status.Clusters {
		c := &fq.Status.Clusters[i]
		a, granted := w.agents[string(c.Name)], amount.Saturate(c.Granted, amount.Up)
		if a == nil || c.Revision == 0 {
			continue
		}
		if enforced := amount.Saturate(a.hard, amount.Up); !granted.Covers(enforced.Only(granted)) {
			w.t.Errorf("%s enforces %v and was granted %v", c.Name, enforced, granted)
		}
		share := w.share(a.name)
		if share != nil && share.Spec.Revision == c.Revision && !granted.Covers(amount.Saturate(share.Spec.Hard, amount.Up)) {
			w.t.Errorf("%s is told %v and was granted %v", c.Name, share.Spec.Hard, granted)
		}
	}
}

// total returns the sum of what members enforce or use of a name.
func (w *world) total(name string) int64 {
	var sum int64
	for _, a := range w.agents {
		enforced, used := amount.Saturate(a.hard, amount.Up), amount.Saturate(a.used, amount.Up)
		for _, resource := range slices.Compact(slices.Concat(enforced.Names(), used.Names())) {
			if string(resource) == name {
				sum += max(enforced[resource], used[resource])
				break
			}
		}
	}
	return sum
}

// versions returns the resourceVersion of everything that the hub manager writes.
func (w *world) versions() map[string]string {
	w.t.Helper()
	versions := map[string]string{"quota": w.quota().ResourceVersion}
	for name := range w.agents {
		if share := w.share(name); share != nil {
			versions["share of "+name] = share.ResourceVersion
		}
		versions["cluster "+name] = w.cluster(name).ResourceVersion
	}
	return versions
}

// gone says whether the FederatedQuota is gone.
func (w *world) gone() bool {
	w.t.Helper()
	err := servers[hubName].Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: quotaName}, &quotav1alpha1.FederatedQuota{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err != nil
}
