package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the API group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: "quota.fedquota.io", Version: "v1alpha1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&FederatedQuota{}, &FederatedQuotaList{},
		&QuotaShare{}, &QuotaShareList{},
		&QuotaRequirement{}, &QuotaRequirementList{},
		&QuotaPool{}, &QuotaPoolList{},
		&ClusterCapacity{}, &ClusterCapacityList{},
		&QuotaRecord{}, &QuotaRecordList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
