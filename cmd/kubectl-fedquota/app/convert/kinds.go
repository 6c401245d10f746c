package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// object is what all kinds have, and the document that it was read from.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	document []byte
}

func objectOf(document []byte) (*object, error) {
	o := &object{document: document}
	return o, yaml.Unmarshal(document, o)
}

func (o *object) group() string {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group
}

// spec reads the spec.
func (o *object) spec(into any) error {
	return yaml.Unmarshal(o.document, &struct {
		Spec any `json:"spec"`
	}{into})
}

// others names the fields of the spec but for those that are known.
func (o *object) others(known ...string) ([]string, error) {
	var fields map[string]any
	if err := o.spec(&fields); err != nil {
		return nil, err
	}
	for _, name := range known {
		delete(fields, name)
	}
	return slices.Sorted(maps.Keys(fields)), nil
}

// named returns a result of a name in a namespace.
func (o *object) named(namespace, name string, hard corev1.ResourceList) result {
	r := result{from: fmt.Sprintf("%s %s", o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))}
	r.quota.Namespace, r.quota.Name, r.quota.Spec.Hard = namespace, name, hard
	if len(hard) == 0 {
		r.lost("there is no limit in it, and a FederatedQuota needs one: spec.hard")
	}
	return r
}

func selectorOf(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

// karmada converts a FederatedResourceQuota: static assignments become a split by guarantees and caps.
func karmada(o *object) ([]result, error) {
	var spec struct {
		Overall           corev1.ResourceList `json:"overall"`
		StaticAssignments []struct {
			ClusterName string              `json:"clusterName"`
			Hard        corev1.ResourceList `json:"hard"`
		} `json:"staticAssignments"`
	}
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	r := o.named(o.Namespace, o.Name, spec.Overall)
	for _, a := range spec.StaticAssignments {
		name := quotav1alpha1.ClusterName(a.ClusterName)
		r.quota.Spec.Placement.Clusters = append(r.quota.Spec.Placement.Clusters, name)
		r.quota.Spec.Distribution.Rules = append(r.quota.Spec.Distribution.Rules, quotav1alpha1.DistributionRule{
			Clusters:  []quotav1alpha1.ClusterName{name},
			RuleTerms: quotav1alpha1.RuleTerms{Min: a.Hard, Max: a.Hard},
		})
	}
	if len(spec.StaticAssignments) > 0 {
		r.quota.Spec.Rebalance.Mode = quotav1alpha1.RebalanceStatic
		r.lost("spec.staticAssignments: each cluster has its part as min and max. Without max, and with mode Auto, limits follow demand")
	} else {
		r.lost("without spec.staticAssignments Karmada enforces the budget over what it schedules alone; here each cluster has a limit")
	}
	r.lost("spec.placement.clusters: the names are those of Cluster API Clusters, which may be others than Karmada's")
	return []result{r}, nil
}

// clusterResourceQuota is the spec of an OpenShift ClusterResourceQuota.
type clusterResourceQuota struct {
	Quota    corev1.ResourceQuotaSpec `json:"quota"`
	Selector struct {
		Labels      *metav1.LabelSelector `json:"labels"`
		Annotations map[string]string     `json:"annotations"`
	} `json:"selector"`
}

// openShift converts a ClusterResourceQuota, which spans namespaces of one cluster.
func openShift(o *object) ([]result, error) {
	var spec clusterResourceQuota
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	r := o.named(o.Name, o.Name, spec.Quota.Hard)
	r.scopes(&spec.Quota)
	var selects []string
	if spec.Selector.Labels != nil {
		selects = append(selects, "labels "+metav1.FormatLabelSelector(spec.Selector.Labels))
	}
	if len(spec.Selector.Annotations) > 0 {
		selects = append(selects, "annotations "+labels.FormatLabels(spec.Selector.Annotations))
	}
	r.lost("spec.selector: it limits all projects of one cluster together that have %s; a FederatedQuota limits one namespace in many clusters",
		strings.Join(selects, " and "))
	r.lost("metadata.namespace: choose the namespace, and a FederatedQuota for each")
	return []result{r}, nil
}

// hierarchical converts a HierarchicalResourceQuota, which spans a namespace and those below it.
func hierarchical(o *object) ([]result, error) {
	var spec corev1.ResourceQuotaSpec
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	r := o.named(o.Namespace, o.Name, spec.Hard)
	r.scopes(&spec)
	r.lost("it limits namespace %s and all below it together; a FederatedQuota limits this one namespace, in many clusters", o.Namespace)
	return []result{r}, nil
}

// capsule converts the quotas of a Tenant, a FederatedQuota for each set of scopes: a namespace has one of each.
func capsule(o *object) ([]result, error) {
	var spec struct {
		ResourceQuotas struct {
			Scope string                     `json:"scope"`
			Items []corev1.ResourceQuotaSpec `json:"items"`
		} `json:"resourceQuotas"`
	}
	if err := o.spec(&spec); err != nil {
		return nil, err
	}
	var results []result
	for i := range spec.ResourceQuotas.Items {
		item := &spec.ResourceQuotas.Items[i]
		if same := slices.IndexFunc(results, func(r result) bool { return r.has(item) }); same >= 0 {
			results[same].merge(i, item.Hard)
			continue
		}
		r := o.named(o.Name, fmt.Sprintf("%s-%d", o.Name, i), item.Hard)
		r.scopes(item)
		if spec.ResourceQuotas.Scope != "Namespace" {
			r.lost("spec.resourceQuotas.scope: it limits all namespaces of the tenant together; a FederatedQuota limits one, in many clusters")
		}
		r.lost("metadata.namespace: choose a namespace of the tenant, and a FederatedQuota for each")
		results = append(results, r)
	}
	return results, nil
}

// has says whether a quota has the scopes of the result.
func (r *result) has(spec *corev1.ResourceQuotaSpec) bool {
	own := &corev1.ResourceQuotaSpec{Scopes: r.quota.Spec.Scopes, ScopeSelector: r.quota.Spec.ScopeSelector}
	return nativequota.SameScopes(own, spec)
}

// merge adds the limits of an item of the same scopes. Of two limits of one name the smaller one counts.
func (r *result) merge(item int, hard corev1.ResourceList) {
	if r.quota.Spec.Hard == nil {
		r.quota.Spec.Hard = corev1.ResourceList{}
	}
	for name, limit := range hard {
		if known, ok := r.quota.Spec.Hard[name]; !ok || limit.Cmp(known) < 0 {
			r.quota.Spec.Hard[name] = limit
		}
	}
	r.lost("spec.resourceQuotas.items[%d]: its limits are in this one, since a namespace has one FederatedQuota of the same scopes", item)
}
