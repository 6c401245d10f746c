// Package admission holds the admission webhook of the agent: it sees every request that counts against a share before
// native quota does, states the demand of those that do not fit, and holds them for a moment while their limit is
// raised. Native quota decides; nothing that matters for safety rests on the webhook.
package admission

// The markers say how API servers call the webhook, and for which requests each resource needs it. The agent keeps the
// configuration: it takes from these rules those that the shares of the cluster need.

// +kubebuilder:webhookconfiguration:mutating=false,name=fedquota-agent
// +kubebuilder:webhook:name=pods.fedquota.io,path=/admit,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,timeoutSeconds=3,admissionReviewVersions=v1,serviceName=fedquota-agent,serviceNamespace=fedquota-system,groups="",versions=v1,resources=pods,verbs=create
// +kubebuilder:webhook:name=resize.fedquota.io,path=/admit,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,timeoutSeconds=3,admissionReviewVersions=v1,serviceName=fedquota-agent,serviceNamespace=fedquota-system,groups="",versions=v1,resources=pods/resize,verbs=update
// +kubebuilder:webhook:name=claims.fedquota.io,path=/admit,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,timeoutSeconds=3,admissionReviewVersions=v1,serviceName=fedquota-agent,serviceNamespace=fedquota-system,groups="",versions=v1,resources=persistentvolumeclaims,verbs=create;update
// +kubebuilder:webhook:name=services.fedquota.io,path=/admit,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,timeoutSeconds=3,admissionReviewVersions=v1,serviceName=fedquota-agent,serviceNamespace=fedquota-system,groups="",versions=v1,resources=services,verbs=create;update
// +kubebuilder:webhook:name=resourceclaims.fedquota.io,path=/admit,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,timeoutSeconds=3,admissionReviewVersions=v1,serviceName=fedquota-agent,serviceNamespace=fedquota-system,groups=resource.k8s.io,versions=v1,resources=resourceclaims,verbs=create;update
