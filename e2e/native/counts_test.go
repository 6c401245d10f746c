//go:build e2e

package native_test

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// counted are objects of each kind, by the resource that count/ names.
var counted = map[string]string{
	"configmaps":             configMap,
	"endpoints":              "{apiVersion: v1, kind: Endpoints}",
	"limitranges":            "{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Pod, max: {cpu: 100}}]}}",
	"persistentvolumeclaims": claim("1Gi", ""),
	"pods":                   pod("{}"),
	"podtemplates":           "{apiVersion: v1, kind: PodTemplate, template: " + template + "}",
	"replicationcontrollers": replicationController,
	"resourcequotas":         resourceQuota,
	"secrets":                secret,
	"serviceaccounts":        "{apiVersion: v1, kind: ServiceAccount}",
	"services":               service("ports: [{port: 80}]"),

	"controllerrevisions.apps":               "{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, data: {}}",
	"cronjobs.batch":                         "{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true, schedule: '0 0 1 1 *', jobTemplate: {spec: {template: " + once + "}}}}",
	"csistoragecapacities.storage.k8s.io":    "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, storageClassName: gold}",
	"daemonsets.apps":                        "{apiVersion: apps/v1, kind: DaemonSet, spec: {selector: {matchLabels: {app: a}}, template: " + template + "}}",
	"deployments.apps":                       "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, selector: {matchLabels: {app: a}}, template: " + template + "}}",
	"endpointslices.discovery.k8s.io":        "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: []}",
	"horizontalpodautoscalers.autoscaling":   "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 1, scaleTargetRef: {kind: ReplicationController, name: a}}}",
	"ingresses.networking.k8s.io":            "{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}",
	"jobs.batch":                             "{apiVersion: batch/v1, kind: Job, spec: {suspend: true, template: " + once + "}}",
	"leases.coordination.k8s.io":             "{apiVersion: coordination.k8s.io/v1, kind: Lease}",
	"networkpolicies.networking.k8s.io":      "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}",
	"poddisruptionbudgets.policy":            "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 0, selector: {}}}",
	"replicasets.apps":                       "{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, selector: {matchLabels: {app: a}}, template: " + template + "}}",
	"resourceclaims.resource.k8s.io":         devices("{name: a, exactly: {deviceClassName: gpu}}"),
	"resourceclaimtemplates.resource.k8s.io": "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}]}}}}",
	"rolebindings.rbac.authorization.k8s.io": "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}",
	"roles.rbac.authorization.k8s.io":        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}",
	"statefulsets.apps":                      "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, template: " + template + "}}",
	"widgets.example.com":                    "{apiVersion: example.com/v1, kind: Widget}",
}

// once is a template of pods that are not started again.
const once = "{spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}"

// uncounted are kinds of which no row is made, and why.
var uncounted = map[string]string{
	"events":                        "no quota counts them",
	"events.events.k8s.io":          "no quota counts them",
	"quotashares.quota.fedquota.io": "the hub alone may create them",
}

// counts are the kinds that count/ names.
func counts() []row {
	made := map[string]string{"configmaps": "1", "resourcequotas": "1", "serviceaccounts": "1"} // by Kubernetes, and the ResourceQuota itself
	var rows []row
	for resource, object := range counted {
		rows = append(rows, row{name: "count/" + resource, object: object, unit: "1", had: made[resource]})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.name, b.name) })
	return of(sectionCounts, rows)
}

// complete sees that there is a row for each kind of object that is created in namespaces of a member.
func (w *world) complete() {
	w.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(w.Member(east).Config)
	w.must(err)
	lists, err := client.ServerPreferredNamespacedResources()
	w.must(err)
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"create", "delete", "list", "watch"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		w.must(err)
		for i := range list.APIResources {
			resource := schema.GroupResource{Group: version.Group, Resource: list.APIResources[i].Name}.String()
			if counted[resource] == "" && uncounted[resource] == "" {
				w.Errorf("there is no row for count/%s", resource)
			}
		}
	}
}

// version is what the members run.
func (w *world) version() string {
	w.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(w.Member(east).Config)
	w.must(err)
	version, err := client.ServerVersion()
	w.must(err)
	return version.GitVersion
}
