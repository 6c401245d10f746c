//go:build e2e

package native_test

import "fmt"

// names are those that Kubernetes gives a meaning of their own.
func names() []row {
	const gold = "storageClassName: gold"
	const storage, claims = "gold.storageclass.storage.k8s.io/requests.storage", "gold.storageclass.storage.k8s.io/persistentvolumeclaims"
	rows := []row{
		{name: "pods", unit: "1", object: pod("{}")},
		{name: "services", unit: "1", object: service("ports: [{port: 80}]")},
		{name: "services.nodeports", unit: "2", object: service("type: NodePort, ports: [{name: a, port: 80}, {name: b, port: 81}]")},
		{name: "services.loadbalancers", unit: "1", object: service("type: LoadBalancer, ports: [{port: 80}]")},
		{name: "replicationcontrollers", unit: "1", object: replicationController},
		{name: "secrets", unit: "1", object: secret},
		{name: "configmaps", unit: "1", had: "1", object: configMap},
		{name: "resourcequotas", unit: "1", had: "1", object: resourceQuota},
		{name: "persistentvolumeclaims", unit: "1", object: claim("1Gi", "")},
		{name: "requests.storage", unit: "1Gi", object: claim("1Gi", "")},
		{name: claims, unit: "1", object: claim("1Gi", gold), beside: claim("1Gi", "")},
		{name: storage, unit: "1Gi", object: claim("1Gi", gold), beside: claim("1Gi", "")},
		{name: deviceName, unit: "2", object: devices(exactly("gpu", 2)), beside: devices(exactly("nic", 2))},
		{name: "requests.nvidia.com/gpu", unit: "2", object: pod("{limits: {nvidia.com/gpu: 2}}")},
		{name: "requests.deviceclass.resource.kubernetes.io/gpu", unit: "2", object: pod("{limits: {deviceclass.resource.kubernetes.io/gpu: 2}}")},
	}
	for _, of := range []struct{ bare, unit string }{{"cpu", "500m"}, {"memory", "64Mi"}, {"ephemeral-storage", "1Gi"}} {
		requests := pod(fmt.Sprintf("{requests: {%s: %s}}", of.bare, of.unit))
		rows = append(rows,
			row{name: of.bare, unit: of.unit, object: requests},
			row{name: "requests." + of.bare, unit: of.unit, object: requests},
			row{name: "limits." + of.bare, unit: of.unit, object: pod(fmt.Sprintf("{requests: {%s: 0}, limits: {%s: %s}}", of.bare, of.bare, of.unit))},
		)
	}
	for _, page := range []struct{ size, unit string }{{"2Mi", "4Mi"}, {"1Gi", "2Gi"}} {
		object := pod(fmt.Sprintf("{requests: {cpu: 1}, limits: {hugepages-%s: %s}}", page.size, page.unit))
		rows = append(rows,
			row{name: "hugepages-" + page.size, unit: page.unit, object: object},
			row{name: "requests.hugepages-" + page.size, unit: page.unit, object: object},
		)
	}
	return of(sectionNames, rows)
}

// object is one of an API version and a kind, and what else is said of it.
func object(version, kind, rest string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, %s}", version, kind, rest)
}

// pod has one container of these resources.
func pod(resources string) string { return podOf(container(resources)) }

func container(resources string) string {
	return "containers: [{name: c, image: none, resources: " + resources + "}]"
}

func podOf(spec string) string { return object("v1", "Pod", "spec: {"+spec+"}") }

func service(spec string) string { return object("v1", "Service", "spec: {"+spec+"}") }

func claim(storage, spec string) string {
	return object("v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "+storage+"}}, "+spec+"}")
}

const deviceName = "gpu.deviceclass.resource.k8s.io/devices"

// exactly asks for so many devices of a class.
func exactly(class string, count int) string {
	return fmt.Sprintf("{name: a, exactly: {deviceClassName: %s, allocationMode: ExactCount, count: %d}}", class, count)
}

func devices(requests string) string {
	return object("resource.k8s.io/v1", "ResourceClaim", "spec: {devices: {requests: ["+requests+"]}}")
}

const template = "{metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: none}]}}"

var (
	secret                = object("v1", "Secret", "")
	configMap             = object("v1", "ConfigMap", "")
	resourceQuota         = object("v1", "ResourceQuota", "spec: {hard: {count/leases.coordination.k8s.io: 100}}")
	replicationController = object("v1", "ReplicationController", "spec: {replicas: 0, selector: {app: a}, template: "+template+"}")
)
