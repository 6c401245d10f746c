package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/quota/input"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/shares"
)

const (
	// mostAsked is how many clusters are asked what they serve, and askTime how long their answers are waited for:
	// somebody waits for the answer of the webhook.
	mostAsked = 10
	askTime   = time.Second
)

// Serves says whether a Cluster serves a resource. It fails if that cannot be known.
type Serves func(ctx context.Context, cluster string, resource schema.GroupResource) (bool, error)

// ServesOf asks the API servers of connected Clusters. A replica of the hub manager that does not lead is connected to
// none.
func ServesOf(connections clustercache.ClusterCache, clusters members.Namespaces) Serves {
	return func(ctx context.Context, cluster string, resource schema.GroupResource) (bool, error) {
		c, err := connections.GetUncachedClient(ctx, clusters.Key(cluster))
		if err != nil {
			return false, err
		}
		_, err = c.RESTMapper().ResourceFor(resource.WithVersion(""))
		if apimeta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	}
}

// unserved warns of names that come into the budget and under which no selected Cluster can count anything.
func (v *Validator) unserved(
	ctx context.Context, before, fq *quotav1alpha1.FederatedQuota, view *input.View,
) admission.Warnings {
	if v.Serves == nil || len(view.Selected) == 0 || len(view.Selected) > mostAsked {
		return nil
	}
	var warnings admission.Warnings
	for name := range fq.Spec.Hard {
		if _, had := hardOf(before)[name]; had || !custom(name) {
			continue
		}
		if resource, ok := nativequota.Resource(name); ok && v.servedByNone(ctx, resource, view.Selected) {
			warnings = append(warnings, fmt.Sprintf("spec.hard[%s]: none of the clusters %s serves %s: "+
				"nothing is counted there until one does", name, shares.Abbreviated(view.Selected), resource))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// custom says whether a name is one of objects of a kind that some clusters may lack.
func custom(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), "count/") && strings.Contains(string(name), ".")
}

// servedByNone says whether all of the clusters have said in time that they do not serve a resource.
func (v *Validator) servedByNone(ctx context.Context, resource schema.GroupResource, clusters []string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	absent := make(chan bool, len(clusters))
	for _, cluster := range clusters {
		go func() {
			served, err := v.Serves(ctx, cluster, resource)
			absent <- err == nil && !served
		}()
	}
	for range clusters {
		select {
		case none := <-absent:
			if !none {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}
