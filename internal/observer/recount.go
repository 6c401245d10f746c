package observer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
)

// Recount lists what exists in every member, consistently (no cache of ours or of an API server is older than the
// call), costs it as native quota does, and puts the result into the report. Of a quota with scopes it counts what
// matches them.
func (o *Observer) Recount(ctx context.Context) (Recount, error) {
	o.mu.Lock()
	clients := maps.Clone(o.clients)
	allowed := o.judge.epochs.at(o.clock.Now())
	o.mu.Unlock()
	result := newRecount(allowed)
	for _, name := range sortedKeys(clients) {
		counted, err := o.count(ctx, clients[name], namesOf(allowed.budget))
		if err != nil {
			return Recount{}, fmt.Errorf("recounting member %s: %w", name, err)
		}
		result.add(name, counted)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.judge.recounted(&result, o.clock.Now())
	o.recounts = append(o.recounts, result)
	return result, nil
}

func newRecount(allowed epoch) Recount {
	var r Recount
	for _, name := range namesOf(allowed.budget) {
		r.Resources = append(r.Resources, RecountResource{
			Name: name, Budget: allowed.budget[name], Ceiling: allowed.ceiling[name], Members: map[string]resource.Quantity{}})
	}
	return r
}

// recounted adds what native quota says to a recount, and finishes it.
func (j *judge) recounted(r *Recount, now time.Time) {
	for i := range r.Resources {
		res := &r.Resources[i]
		for _, m := range j.members {
			res.Recorded = plus(res.Recorded, m.last.used[res.Name])
			res.Overcharged = plus(res.Overcharged, m.last.overcharged[res.Name])
		}
	}
	r.finish(now)
}

func (r *Recount) add(member string, counted corev1.ResourceList) {
	for i, res := range r.Resources {
		if amount, ok := counted[res.Name]; ok {
			r.Resources[i].Exists = plus(res.Exists, amount)
			res.Members[member] = amount
		}
	}
}

// finish compares with what is allowed, and takes out what no member could count.
func (r *Recount) finish(now time.Time) {
	var counted []RecountResource
	for _, res := range r.Resources {
		if len(res.Members) == 0 {
			r.Uncounted = append(r.Uncounted, res.Name)
			continue
		}
		if over, isOver := above(res.Exists, plus(res.Ceiling, res.Overcharged)); isOver {
			res.Over = over
		}
		counted = append(counted, res)
	}
	r.At, r.Resources = now, counted
}

// count returns what exists in one member, without the names that it cannot count.
func (o *Observer) count(ctx context.Context, c *connection, names []corev1.ResourceName) (corev1.ResourceList, error) {
	namespace, core := c.Namespace, c.client.CoreV1()
	scopes := requiredOf(c.Scopes, c.ScopeSelector)
	ofPods, ofClaims := within(scopes, podMatches, podCost(o.clock.Now())), within(scopes, claimMatches, claimCost)
	total := corev1.ResourceList{}
	err := errors.Join(
		charge(ctx, total, keep(names, chargesPods), ofPods, listing(core.Pods(namespace).List)),
		charge(ctx, total, keep(names, chargesClaims), ofClaims, listing(core.PersistentVolumeClaims(namespace).List)),
	)
	if len(scopes) > 0 { // no other object is within a scope
		return total, err
	}
	return total, errors.Join(err,
		charge(ctx, total, keep(names, chargesServices), serviceCost, listing(core.Services(namespace).List)),
		countObjects(ctx, c, namespace, total, names),
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
			total[name] = plus(total[name], cost(item, name))
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
	ctx context.Context, c *connection, namespace string, total corev1.ResourceList, names []corev1.ResourceName,
) error {
	client, err := metadata.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	for _, name := range names {
		group, ok := countedBy(name)
		if !ok {
			continue
		}
		served, found, err := serving(c.client.Discovery(), group)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		list := listing(client.Resource(served).Namespace(namespace).List)
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
