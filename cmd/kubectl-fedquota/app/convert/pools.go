package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// pool is a QuotaPool, and what could not be said in it.
type pool struct {
	result

	pool quotav1alpha1.QuotaPool
	// namespace is the one that an HNC quota is in, and nominal what a queue or a cohort of Kueue has by itself.
	namespace string
	nominal   corev1.ResourceList
}

func (o *object) pool(name string, hard corev1.ResourceList) *pool {
	p := &pool{result: result{from: fmt.Sprintf("%s %s", o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))}}
	p.pool.APIVersion, p.pool.Kind = quotav1alpha1.GroupVersion.String(), "QuotaPool"
	p.pool.Name, p.pool.Spec.Hard = name, hard
	return p
}

// allows says whose FederatedQuotas may be in the pool.
func (p *pool) allows(selector *metav1.LabelSelector) {
	p.pool.Spec.AllowedNamespaces.Selector = selector
	p.lost("spec.allowedNamespaces: Namespaces on the hub need these labels, and each a FederatedQuota that names the pool")
}

// keeps has the pool be one of all namespaces with these labels, and keep a FederatedQuota in each.
func (p *pool) keeps(selector *metav1.LabelSelector) {
	p.pool.Spec.Namespaces.Selector = selector
	p.lost("spec.namespaces: Namespaces on the hub need these labels. Each gets a FederatedQuota over all clusters")
}

// isScoped says whether a quota counts some objects alone.
func isScoped(spec *corev1.ResourceQuotaSpec) bool {
	return len(spec.Scopes) > 0 || spec.ScopeSelector != nil
}

// unscoped notes scopes, which pools do not have.
func (p *pool) unscoped(spec *corev1.ResourceQuotaSpec) {
	if isScoped(spec) {
		p.lost("scopes: a pool counts what its FederatedQuotas count: give these the scopes, and put no others into the pool")
	}
}

// poolConverters are those of the kinds that limit many namespaces together, by group and kind.
var poolConverters = map[string]struct {
	convert func(*object) ([]*pool, error)
	knows   []string
}{
	"quota.openshift.io/ClusterResourceQuota": {openShiftPool, []string{"quota", "selector"}},
	"hnc.x-k8s.io/HierarchicalResourceQuota":  {hierarchicalPool, []string{"hard", "scopes", "scopeSelector"}},
	"capsule.clastix.io/Tenant":               {capsulePools, []string{"resourceQuotas"}},
	"capsule.clastix.io/ResourcePool":         {resourcePool, []string{"quota", "selectors"}},
	"kueue.x-k8s.io/Cohort": {kueuePool, []string{
		"parentName", "parent", "resourceGroups", "fairSharing",
	}},
	"kueue.x-k8s.io/ClusterQueue": {kueuePool, []string{
		"cohort", "cohortName", "namespaceSelector", "resourceGroups", "fairSharing",
	}},
}

// writePools writes the pools that come of objects, and returns the other objects.
func (o *Options) writePools(out *bytes.Buffer, objects []*object) ([]*object, error) {
	var pools []*pool
	var left []*object
	parents := map[string]string{}
	for _, object := range objects {
		if parentOf(object, parents) {
			continue
		}
		made, known, err := poolsOf(object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.Kind, object.Name, err)
		}
		if !known {
			left = append(left, object)
		}
		pools = append(pools, made...)
	}
	below(pools, parents)
	addUp(pools)
	for _, p := range pools {
		if len(p.pool.Spec.Hard) == 0 {
			p.lost("there is no limit in it, and a QuotaPool needs one: spec.hard")
		}
		if err := writeYAML(out, p.from, p.comments, &p.pool); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// poolsOf returns the pools that come of an object, and whether its kind is one that limits many namespaces together.
func poolsOf(o *object) ([]*pool, bool, error) {
	c, known := poolConverters[o.group()+"/"+o.Kind]
	if !known {
		return nil, false, nil
	}
	made, err := c.convert(o)
	if err != nil {
		return nil, true, err
	}
	others, err := o.others(c.knows...)
	for _, p := range made {
		if len(others) > 0 {
			p.lost("spec.%s: not taken over", strings.Join(others, ", spec."))
		}
	}
	// A tenant whose quotas are those of one namespace each has no pool.
	return made, len(made) > 0, err
}

// parentOf notes which namespace of HNC is below which, and says whether the object tells of that.
func parentOf(o *object, parents map[string]string) bool {
	switch o.group() + "/" + o.Kind {
	case "hnc.x-k8s.io/SubnamespaceAnchor":
		parents[o.Name] = o.Namespace
	case "hnc.x-k8s.io/HierarchyConfiguration":
		var spec struct {
			Parent string `json:"parent"`
		}
		if o.spec(&spec) == nil && spec.Parent != "" {
			parents[o.Namespace] = spec.Parent
		}
	default:
		return false
	}
	return true
}

// below puts the pools of HNC quotas below those of the nearest namespace above that has one.
func below(pools []*pool, parents map[string]string) {
	for _, p := range pools {
		above, known := parents[p.namespace]
		for steps := 0; p.namespace != "" && known && steps < len(parents); steps++ {
			if at := slices.IndexFunc(pools, func(other *pool) bool { return other.namespace == above }); at >= 0 {
				p.pool.Spec.Parent = quotav1alpha1.PoolName(pools[at].pool.Name)
				break
			}
			above, known = parents[above]
		}
		first := slices.IndexFunc(pools, func(other *pool) bool { return other.namespace == p.namespace })
		if p.namespace != "" && pools[first] != p {
			p.lost("namespace %s has several quotas, and a FederatedQuota is in one pool: have %s limit all", p.namespace, pools[first].pool.Name)
		}
	}
}

// openShiftPool converts a ClusterResourceQuota. Of one that labels alone do not describe, somebody has to choose the
// namespaces.
func openShiftPool(o *object) ([]*pool, error) {
	var spec clusterResourceQuota
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	p := o.pool(o.Name, spec.Quota.Hard)
	p.unscoped(&spec.Quota)
	switch {
	case spec.Selector.Labels != nil && len(spec.Selector.Annotations) == 0 && !isScoped(&spec.Quota):
		p.keeps(spec.Selector.Labels)
	case spec.Selector.Labels != nil:
		p.allows(spec.Selector.Labels)
	default:
		p.lost("spec.allowedNamespaces: choose labels of those that may be in the pool; without them there is none")
	}
	if len(spec.Selector.Annotations) > 0 {
		p.lost("spec.selector.annotations: a pool selects by labels alone, and not by %s", labels.FormatLabels(spec.Selector.Annotations))
	}
	return []*pool{p}, nil
}

// hierarchicalPool converts a HierarchicalResourceQuota. HNC labels all namespaces below one with how deep they are.
func hierarchicalPool(o *object) ([]*pool, error) {
	var spec corev1.ResourceQuotaSpec
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	p := o.pool(o.Namespace+"-"+o.Name, spec.Hard)
	p.namespace = o.Namespace
	p.unscoped(&spec)
	p.allows(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: o.Namespace + ".tree.hnc.x-k8s.io/depth", Operator: metav1.LabelSelectorOpExists},
	}})
	return []*pool{p}, nil
}

// capsulePools converts the quotas that all namespaces of a Tenant share.
func capsulePools(o *object) ([]*pool, error) {
	var spec struct {
		ResourceQuotas struct {
			Scope string                     `json:"scope"`
			Items []corev1.ResourceQuotaSpec `json:"items"`
		} `json:"resourceQuotas"`
	}
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	var pools []*pool
	for i := range spec.ResourceQuotas.Items {
		if spec.ResourceQuotas.Scope == "Namespace" {
			break
		}
		item := &spec.ResourceQuotas.Items[i]
		p := o.pool(fmt.Sprintf("%s-%d", o.Name, i), item.Hard)
		p.unscoped(item)
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"capsule.clastix.io/tenant": o.Name}}
		if i == 0 && !isScoped(item) {
			p.keeps(selector)
		} else {
			p.allows(selector)
		}
		if i > 0 {
			p.lost("spec.resourceQuotas.items[%d]: a FederatedQuota is in one pool: put one below the other by spec.parent, or have one limit all", i)
		}
		pools = append(pools, p)
	}
	return pools, nil
}

// resourcePool converts a ResourcePool of Capsule.
func resourcePool(o *object) ([]*pool, error) {
	var spec struct {
		Quota     corev1.ResourceQuotaSpec `json:"quota"`
		Selectors []metav1.LabelSelector   `json:"selectors"`
	}
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	p := o.pool(o.Name, spec.Quota.Hard)
	p.unscoped(&spec.Quota)
	if len(spec.Selectors) == 1 {
		p.allows(&spec.Selectors[0])
	} else {
		p.lost("spec.selectors: a pool has one selector, and this one has %d: choose labels that all have", len(spec.Selectors))
	}
	p.lost("claims: parts follow demand here, and nobody claims them")
	return []*pool{p}, nil
}

// queue is the spec of a ClusterQueue or a Cohort.
type queue struct {
	Cohort            string                `json:"cohort"`
	CohortName        string                `json:"cohortName"`
	Parent            string                `json:"parent"`
	ParentName        string                `json:"parentName"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	FairSharing       *struct {
		Weight *resource.Quantity `json:"weight"`
	} `json:"fairSharing"`
	ResourceGroups []struct {
		Flavors []struct {
			Name      string `json:"name"`
			Resources []struct {
				Name           corev1.ResourceName `json:"name"`
				NominalQuota   resource.Quantity   `json:"nominalQuota"`
				BorrowingLimit *resource.Quantity  `json:"borrowingLimit"`
				LendingLimit   *resource.Quantity  `json:"lendingLimit"`
			} `json:"resources"`
		} `json:"flavors"`
	} `json:"resourceGroups"`
}

// kueuePool converts a Cohort or a ClusterQueue. What it has by itself is the min of a rule in the pool above.
func kueuePool(o *object) ([]*pool, error) {
	var spec queue
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	p := o.pool(o.Name, corev1.ResourceList{})
	p.nominal = spec.nominal()
	p.pool.Spec.Parent = quotav1alpha1.PoolName(cmp.Or(spec.CohortName, spec.Cohort, spec.ParentName, spec.Parent))
	if o.Kind == "ClusterQueue" {
		if spec.NamespaceSelector != nil {
			p.allows(spec.NamespaceSelector)
		}
		p.lost("queues: a request that does not fit waits for a moment, and is refused then; Kueue may stay in front of it")
	}
	if flavors := spec.flavors(); len(flavors) > 1 {
		p.lost("flavors: a pool has one amount of each resource, the sum over %s", strings.Join(flavors, ", "))
	}
	if spec.limited() {
		p.lost("borrowingLimit and lendingLimit: set max and lendable in the rule for it in the pool above")
	}
	if spec.FairSharing != nil && spec.FairSharing.Weight != nil {
		p.lost("fairSharing.weight %s: set the weight in the rule for it in the pool above", spec.FairSharing.Weight)
	}
	return []*pool{p}, nil
}

// nominal returns the sums over flavors, by the names of quotas.
func (q *queue) nominal() corev1.ResourceList {
	sums := corev1.ResourceList{}
	for _, group := range q.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				add(sums, quotaName(r.Name), r.NominalQuota)
			}
		}
	}
	return sums
}

// quotaName returns the name under which a quota charges requests of a resource.
func quotaName(name corev1.ResourceName) corev1.ResourceName {
	if name == corev1.ResourcePods {
		return name
	}
	return "requests." + name
}

func (q *queue) flavors() []string {
	var names []string
	for _, group := range q.ResourceGroups {
		for _, flavor := range group.Flavors {
			names = append(names, flavor.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// limited says whether lending is bounded in either direction.
func (q *queue) limited() bool {
	for _, group := range q.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				if r.BorrowingLimit != nil || r.LendingLimit != nil {
					return true
				}
			}
		}
	}
	return false
}

func add(sums corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) {
	sum := sums[name].DeepCopy()
	if sum.IsZero() {
		sum = resource.Quantity{Format: amount.Format}
	}
	sum.Add(amount)
	sums[name] = sum
}

// addUp gives each cohort what it and all below it have, and each queue in one as much as the cohort, of which its own
// part is its min: all of it may be lent.
func addUp(pools []*pool) {
	byName := map[quotav1alpha1.PoolName]*pool{}
	for _, p := range pools {
		if p.nominal != nil {
			byName[quotav1alpha1.PoolName(p.pool.Name)] = p
		}
	}
	for _, p := range pools {
		above := p
		for steps := 0; p.nominal != nil && above != nil && steps <= len(pools); steps++ {
			for name, amount := range p.nominal {
				add(above.pool.Spec.Hard, name, amount)
			}
			above = byName[above.pool.Spec.Parent]
		}
	}
	for _, p := range pools {
		if p.nominal != nil && p.pool.Spec.Parent != "" {
			p.guarantee(byName[p.pool.Spec.Parent])
		}
	}
	widen(pools, byName)
}

// guarantee has the pool above, if there is one, keep for this one what it has, and lend it while it is idle.
func (p *pool) guarantee(above *pool) {
	if above == nil {
		p.lost("spec.parent: there is no Cohort %s in the file: make a QuotaPool of that name with what all in it have together", p.pool.Spec.Parent)
		return
	}
	guaranteed := corev1.ResourceList(p.pool.Spec.Hard).DeepCopy()
	above.pool.Spec.Distribution.Rules = append(above.pool.Spec.Distribution.Rules, quotav1alpha1.PoolRule{
		Children:  []quotav1alpha1.ChildName{quotav1alpha1.ChildName(p.pool.Name)},
		RuleTerms: quotav1alpha1.RuleTerms{Min: guaranteed, Lendable: guaranteed},
	})
}

// widen has what is in a cohort use what others there do not: its own hard is no bound then.
func widen(pools []*pool, byName map[quotav1alpha1.PoolName]*pool) {
	for _, p := range pools {
		root := p
		for steps := 0; p.nominal != nil && byName[root.pool.Spec.Parent] != nil && steps <= len(pools); steps++ {
			root = byName[root.pool.Spec.Parent]
		}
		if root != p && p.nominal != nil {
			p.pool.Spec.Hard = corev1.ResourceList(root.pool.Spec.Hard).DeepCopy()
		}
	}
}
