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
	"endpoints":              object("v1", "Endpoints", ""),
	"limitranges":            object("v1", "LimitRange", "spec: {limits: [{type: Pod, max: {cpu: 100}}]}"),
	"persistentvolumeclaims": claim("1Gi", ""),
	"pods":                   pod("{}"),
	"podtemplates":           object("v1", "PodTemplate", "template: "+template),
	"replicationcontrollers": replicationController,
	"resourcequotas":         resourceQuota,
	"secrets":                secret,
	"serviceaccounts":        object("v1", "ServiceAccount", ""),
	"services":               service("ports: [{port: 80}]"),
	"widgets.example.com":    object("example.com/v1", "Widget", ""),

	"controllerrevisions.apps": object("apps/v1", "ControllerRevision", "revision: 1, data: {}"),
	"daemonsets.apps":          object("apps/v1", "DaemonSet", "spec: {"+selecting+"}"),
	"deployments.apps":         object("apps/v1", "Deployment", "spec: {replicas: 0, "+selecting+"}"),
	"replicasets.apps":         object("apps/v1", "ReplicaSet", "spec: {replicas: 0, "+selecting+"}"),
	"statefulsets.apps":        object("apps/v1", "StatefulSet", "spec: {replicas: 0, serviceName: a, "+selecting+"}"),
	"cronjobs.batch":           object("batch/v1", "CronJob", "spec: {suspend: true, schedule: '0 0 1 1 *', jobTemplate: {spec: {template: "+once+"}}}"),
	"jobs.batch":               object("batch/v1", "Job", "spec: {suspend: true, template: "+once+"}"),

	"csistoragecapacities.storage.k8s.io": object("storage.k8s.io/v1", "CSIStorageCapacity", "storageClassName: gold"),
	"endpointslices.discovery.k8s.io":     object("discovery.k8s.io/v1", "EndpointSlice", "addressType: IPv4, endpoints: []"),
	"leases.coordination.k8s.io":          object("coordination.k8s.io/v1", "Lease", ""),
	"networkpolicies.networking.k8s.io":   object("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}}"),
	"poddisruptionbudgets.policy":         object("policy/v1", "PodDisruptionBudget", "spec: {maxUnavailable: 0, selector: {}}"),
	"resourceclaims.resource.k8s.io":      devices("{name: a, exactly: {deviceClassName: gpu}}"),
	"roles.rbac.authorization.k8s.io":     object("rbac.authorization.k8s.io/v1", "Role", ""),
	"horizontalpodautoscalers.autoscaling": object("autoscaling/v2", "HorizontalPodAutoscaler",
		"spec: {maxReplicas: 1, scaleTargetRef: {kind: ReplicationController, name: a}}"),
	"ingresses.networking.k8s.io": object("networking.k8s.io/v1", "Ingress",
		"spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}"),
	"resourceclaimtemplates.resource.k8s.io": object("resource.k8s.io/v1", "ResourceClaimTemplate",
		"spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu}}]}}}"),
	"rolebindings.rbac.authorization.k8s.io": object("rbac.authorization.k8s.io/v1", "RoleBinding",
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}"),
}

// selecting is what workloads say of their pods.
const selecting = "selector: {matchLabels: {app: a}}, template: " + template

// once is a template of pods that are not started again.
const once = "{spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}"

// uncounted are kinds of which no row is made, and why.
var uncounted = map[string]string{
	"events":                              "no quota counts them",
	"events.events.k8s.io":                "no quota counts them",
	"clustercapacities.quota.fedquota.io": "the agent alone makes one, in its own namespace",
	"quotashares.quota.fedquota.io":       "the hub alone may create them",
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
