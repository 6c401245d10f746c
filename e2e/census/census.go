// Package census counts what exists in members, object by object, and costs it as native quota does. It shares no code
// with the operator.
//
// What exists within the scopes of a budget, whatever any ResourceQuota says of it, may be as much as the ceiling and
// what native quota overcharged. Native quota may let through what it does not count at once, so a recount above that
// which stays there, while nothing is created or deleted, is what a limit has let through.
package census

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/fedquota/fedquota/internal/observer"
	"github.com/fedquota/fedquota/internal/observer/quantity"
)

// Of counts what exists in the members that an observer watches, consistently: no cache of ours or of an API server is
// older than the call. Of a quota with scopes it counts what matches them.
func Of(ctx context.Context, o *observer.Observer) (Recount, error) {
	budget, ceiling := o.Allowed()
	result := Recount{}
	for _, name := range slices.Sorted(maps.Keys(budget)) {
		result.Resources = append(result.Resources, Resource{
			Name: name, Budget: budget[name], Ceiling: ceiling[name], Members: map[string]resource.Quantity{},
		})
	}
	places := o.Places()
	for _, member := range slices.Sorted(maps.Keys(places)) {
		counted, err := count(ctx, places[member], slices.Sorted(maps.Keys(budget)))
		if err != nil {
			return Recount{}, fmt.Errorf("recounting member %s: %w", member, err)
		}
		result.add(member, counted)
	}
	result.finish(o.Charged())
	return result, nil
}

// count returns what exists in one member, without the names that it cannot count.
func count(ctx context.Context, in observer.Place, names []corev1.ResourceName) (corev1.ResourceList, error) {
	client, err := kubernetes.NewForConfig(in.Config)
	if err != nil {
		return nil, err
	}
	namespace, core, scopes := in.Namespace, client.CoreV1(), requiredOf(in.Scopes, in.ScopeSelector)
	ofPods, ofClaims := within(scopes, podMatches, podCost(time.Now())), within(scopes, claimMatches, claimCost)
	total := corev1.ResourceList{}
	err = errors.Join(
		charge(ctx, total, keep(names, chargesPods), ofPods, listing(core.Pods(namespace).List)),
		charge(ctx, total, keep(names, chargesClaims), ofClaims, listing(core.PersistentVolumeClaims(namespace).List)),
	)
	if len(scopes) > 0 { // no other object is within a scope
		return total, err
	}
	return total, errors.Join(err,
		charge(ctx, total, keep(names, chargesServices), serviceCost, listing(core.Services(namespace).List)),
		countObjects(ctx, in, total, names),
	)
}

func keep(names []corev1.ResourceName, charges func(corev1.ResourceName) bool) []corev1.ResourceName {
	var kept []corev1.ResourceName
	for _, name := range names {
		if charges(name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// listing makes a typed list function fit for a pager.
func listing[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) pager.ListPageFunc {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}

// charge adds what all listed objects cost to total. The list leaves resourceVersion unset, so it is consistent.
func charge[T any](
	ctx context.Context, total corev1.ResourceList, names []corev1.ResourceName, cost cost[T], list pager.ListPageFunc,
) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		total[name] = resource.Quantity{Format: resource.DecimalSI}
	}
	return pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		item, ok := object.(T)
		if !ok {
			return fmt.Errorf("listed a %T", object)
		}
		for _, name := range names {
			total[name] = quantity.Plus(total[name], cost(item, name))
		}
		return nil
	})
}

// counted are the names that native quota counts without the prefix count/.
var counted = map[corev1.ResourceName]schema.GroupResource{
	corev1.ResourceServices:               {Resource: "services"},
	corev1.ResourceSecrets:                {Resource: "secrets"},
	corev1.ResourceConfigMaps:             {Resource: "configmaps"},
	corev1.ResourceReplicationControllers: {Resource: "replicationcontrollers"},
	corev1.ResourceQuotas:                 {Resource: "resourcequotas"},
}

// countedBy returns the objects whose number a name charges; pods and claims are costed, not counted.
func countedBy(name corev1.ResourceName) (schema.GroupResource, bool) {
	if group, ok := counted[name]; ok {
		return group, true
	}
	bare, ok := strings.CutPrefix(string(name), countPrefix)
	return schema.ParseGroupResource(bare), ok && bare != "pods" && !chargesClaims(name)
}

// countObjects adds the number of objects to total for every name that stands for one, and that the member serves.
func countObjects(
	ctx context.Context, in observer.Place, total corev1.ResourceList, names []corev1.ResourceName,
) error {
	client, err := metadata.NewForConfig(in.Config)
	if err != nil {
		return err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(in.Config)
	if err != nil {
		return err
	}
	for _, name := range names {
		group, ok := countedBy(name)
		if !ok {
			continue
		}
		served, found, err := serving(kinds, group)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		list := listing(client.Resource(served).Namespace(in.Namespace).List)
		number := func(*metav1.PartialObjectMetadata, corev1.ResourceName) resource.Quantity { return one }
		if err := charge(ctx, total, []corev1.ResourceName{name}, number, list); err != nil {
			return err
		}
	}
	return nil
}

// serving finds the version under which a member serves a resource.
func serving(
	client discovery.DiscoveryInterface, group schema.GroupResource,
) (schema.GroupVersionResource, bool, error) {
	lists, err := client.ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return schema.GroupVersionResource{}, false, err
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || version.Group != group.Group {
			continue
		}
		for _, served := range list.APIResources {
			if served.Name == group.Resource {
				return version.WithResource(served.Name), true, nil
			}
		}
	}
	return schema.GroupVersionResource{}, false, nil
}
