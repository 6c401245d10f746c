package nativequota

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
)

// The resources that native quota charges for more than their number.
var (
	Pods           = schema.GroupResource{Resource: "pods"}
	Claims         = schema.GroupResource{Resource: "persistentvolumeclaims"}
	Services       = schema.GroupResource{Resource: "services"}
	ResourceClaims = schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceclaims"}
)

// counted are the resources that are also counted under their plain name.
var counted = map[corev1.ResourceName]bool{
	corev1.ResourceQuotas:                 true,
	corev1.ResourceReplicationControllers: true,
	corev1.ResourceSecrets:                true,
	corev1.ResourceConfigMaps:             true,
}

// countName returns the name under which objects of a resource are counted.
func countName(gr schema.GroupResource) corev1.ResourceName {
	return corev1.ResourceName(countPrefix + gr.String())
}

// Resource returns the resource whose objects are charged under name; ok is false if nothing is.
func Resource(name corev1.ResourceName) (gr schema.GroupResource, ok bool) {
	if bare, isCount := strings.CutPrefix(string(name), countPrefix); isCount {
		return schema.ParseGroupResource(bare), bare != ""
	}
	switch {
	case chargesPods(name):
		return Pods, true
	case chargesClaims(name):
		return Claims, true
	case chargesServices(name):
		return Services, true
	case chargesResourceClaims(name):
		return ResourceClaims, true
	case counted[name]:
		return schema.GroupResource{Resource: string(name)}, true
	default:
		return schema.GroupResource{}, false
	}
}

// Charge is what a request adds to a quota.
type Charge struct {
	// Resource is the resource of the request.
	Resource schema.GroupResource
	// Object is what the request asks for: a Pod, PersistentVolumeClaim, Service or ResourceClaim; not needed for others.
	Object any
	// Old is what there was before an update, nil at a creation.
	Old any
	// Mapped are the extended resources that the device classes of the cluster stand for, by class. Needed for a
	// ResourceClaim.
	Mapped map[string]string
	// Now is when it is asked for: a pod that was to be gone by then is charged no more. Not needed for what nobody
	// deletes.
	Now time.Time
}

// To returns what the request adds to a quota, under the names that the quota limits; nothing if the quota does not
// count the object.
func (c Charge) To(quota *corev1.ResourceQuotaSpec, limited corev1.ResourceList) corev1.ResourceList {
	if !Matches(quota, c.Resource, c.Object) {
		return nil
	}
	usage := c.usage(c.Object, limited)
	if c.Old != nil && Matches(quota, c.Resource, c.Old) {
		usage = quotav1.SubtractWithNonNegativeResult(usage, c.usage(c.Old, limited))
	}
	return quotav1.RemoveZeros(usage)
}

// usage returns what an object is charged, under those of the limited names that count it.
func (c Charge) usage(object any, limited corev1.ResourceList) corev1.ResourceList {
	var all corev1.ResourceList
	switch o := object.(type) {
	case *corev1.Pod:
		all = podUsage(o, c.Now)
	case *corev1.PersistentVolumeClaim:
		all = claimUsage(o)
	case *corev1.Service:
		all = serviceUsage(o)
	case *resourcev1.ResourceClaim:
		all = resourceClaimUsage(o)
		if chargesClaimsFor(limited, c.Mapped) {
			maps.Copy(all, extendedUsage(o, c.Mapped))
		}
	default:
		all = corev1.ResourceList{}
		if name := corev1.ResourceName(c.Resource.Resource); c.Resource.Group == "" && counted[name] {
			all[name] = one()
		}
	}
	all[countName(c.Resource)] = one()
	usage := make(corev1.ResourceList, len(limited))
	for name := range limited {
		if quantity, charged := all[name]; charged {
			usage[name] = quantity
		}
	}
	return usage
}

func one() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }
