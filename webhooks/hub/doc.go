// Package hub holds the admission webhooks of FederatedQuotas, QuotaPools and QuotaRequirements on the hub. It refuses
// what the hub manager would not act upon, before it is stored, and warns of what a user may not expect. Safety does
// not rest on it: API servers go on without an answer, and the hub manager checks every spec itself.
package hub

// +kubebuilder:webhookconfiguration:mutating=false,name=fedquota-hub
// +kubebuilder:webhook:name=federatedquotas.fedquota.io,path=/validate-federatedquota,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=2,admissionReviewVersions=v1,serviceName=fedquota-hub,serviceNamespace=fedquota-system,groups=quota.fedquota.io,versions=v1alpha1,resources=federatedquotas,verbs=create;update;delete
// +kubebuilder:webhook:name=quotarequirements.fedquota.io,path=/validate-quotarequirement,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=2,admissionReviewVersions=v1,serviceName=fedquota-hub,serviceNamespace=fedquota-system,groups=quota.fedquota.io,versions=v1alpha1,resources=quotarequirements,verbs=create;update
// +kubebuilder:webhook:name=quotapools.fedquota.io,path=/validate-quotapool,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=2,admissionReviewVersions=v1,serviceName=fedquota-hub,serviceNamespace=fedquota-system,groups=quota.fedquota.io,versions=v1alpha1,resources=quotapools,verbs=create;update;delete

// +kubebuilder:webhookconfiguration:mutating=true,name=fedquota-hub
// +kubebuilder:webhook:name=quantities.fedquota.io,path=/quote-federatedquota,mutating=true,failurePolicy=ignore,matchPolicy=Equivalent,reinvocationPolicy=Never,sideEffects=None,timeoutSeconds=2,admissionReviewVersions=v1,serviceName=fedquota-hub,serviceNamespace=fedquota-system,groups=quota.fedquota.io,versions=v1alpha1,resources=federatedquotas;quotapools,verbs=create;update

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=quota.fedquota.io,resources=quotapools,verbs=get;list;watch
