//go:build e2e

package plugin_test

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const vision, speech = "vision", "speech"

// pooled has two teams share a pool: one of them wants more than its part, and the other one lends what it does not use.
func (w *world) pooled() {
	cpus := func(value string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(value)}
	}
	acme := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	acme.Spec.Hard = cpus("24")
	research := &quotav1alpha1.QuotaPool{ObjectMeta: metav1.ObjectMeta{Name: "research"}}
	research.Spec.Parent, research.Spec.Hard = "acme", cpus("20")
	research.Spec.AllowedNamespaces.Selector = &metav1.LabelSelector{}
	w.must(w.clients[hub].Create(w.Context(), acme))
	w.must(w.clients[hub].Create(w.Context(), research))
	for _, namespace := range []string{vision, speech} {
		for _, c := range w.clients {
			w.must(c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		}
		fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "compute"}}
		fq.Spec.Hard, fq.Spec.Pool = cpus("20"), &quotav1alpha1.PoolReference{Name: "research"}
		fq.Spec.Placement.ClusterSelector = &metav1.LabelSelector{}
		w.must(w.clients[hub].Create(w.Context(), fq))
	}
	w.eventually("both teams to have a part of the pool", func(ctx context.Context) (bool, error) {
		fqs := &quotav1alpha1.FederatedQuotaList{}
		err := w.clients[hub].List(ctx, fqs)
		return err == nil && !slices.ContainsFunc(fqs.Items, func(fq quotav1alpha1.FederatedQuota) bool {
			return fq.Spec.Pool != nil && (fq.Status.Pool == nil || fq.Status.Pool.Revision == 0 || !settled(&fq))
		}), err
	})
	for namespace, pods := range map[string]int32{speech: 4, vision: 16} {
		d := deployment("web", pods)
		d.Namespace = namespace
		w.must(w.clients[east].Create(w.Context(), d))
	}
	w.eventually("vision to have what speech does not use", func(ctx context.Context) (bool, error) {
		var used [2]resource.Quantity
		for i, namespace := range []string{vision, speech} {
			fq := &quotav1alpha1.FederatedQuota{}
			if err := w.clients[hub].Get(ctx, client.ObjectKey{Namespace: namespace, Name: "compute"}, fq); err != nil {
				return false, err
			}
			used[i] = fq.Status.Used[corev1.ResourceRequestsCPU]
		}
		if err := w.clients[hub].Get(ctx, client.ObjectKeyFromObject(acme), acme); err != nil {
			return false, err
		}
		below := acme.Status.Used[corev1.ResourceRequestsCPU]
		return used[0].String() == "16" && used[1].String() == "4" && below.String() == "20", nil
	})
	// Only now: while limits go up, native quota may let a pod too many in, of which there are none so far.
	more := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":18}}`))
	web := deployment("web", 0)
	web.Namespace = vision
	w.must(w.clients[east].Patch(w.Context(), web, more))
	w.eventually("vision to want 2 more", func(ctx context.Context) (bool, error) {
		err := w.clients[hub].Get(ctx, client.ObjectKeyFromObject(research), research)
		demand := research.Status.Demand[corev1.ResourceRequestsCPU]
		return err == nil && demand.String() == "2", err
	})
	w.has("tree", w.page("tree", hub, "tree"), "acme", "research", "speech", "vision")
	w.shows(hub, "describe compute -n vision", "Pool", "research", "gives 16")
	w.page("children", hub, "explain", "qp/research")
	w.has("why", w.page("climb", hub, "why", "fq/compute", "-n", vision), "research")
	w.has("audit", w.page("levels", hub, "audit", "qp/acme", "--for", "2s"), "Never exceeded")
	w.shows(hub, "list --pools", "research", "100%")
	w.scrapes()

	for _, namespace := range []string{vision, speech} {
		d := deployment("web", 0)
		d.Namespace = namespace
		w.must(w.clients[east].Delete(w.Context(), d, client.PropagationPolicy(metav1.DeletePropagationForeground)))
		fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "compute"}}
		w.must(w.clients[hub].Delete(w.Context(), fq))
	}
	w.must(w.clients[hub].Delete(w.Context(), research))
	w.must(w.clients[hub].Delete(w.Context(), acme))
}
