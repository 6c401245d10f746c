//go:build e2e

package native_test

import "fmt"

// names are those that Kubernetes gives a meaning of their own.
func names() []row {
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
		{name: "gold.storageclass.storage.k8s.io/persistentvolumeclaims", unit: "1", object: claim("1Gi", "storageClassName: gold"), beside: claim("1Gi", "")},
		{name: "gold.storageclass.storage.k8s.io/requests.storage", unit: "1Gi", object: claim("1Gi", "storageClassName: gold"), beside: claim("1Gi", "")},
		{name: "gpu.deviceclass.resource.k8s.io/devices", unit: "2", object: devices("{name: a, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 2}}"),
			beside: devices("{name: a, exactly: {deviceClassName: nic, allocationMode: ExactCount, count: 2}}")},
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

// pod has one container of these resources.
func pod(resources string) string { return podOf(container(resources)) }

func container(resources string) string {
	return "containers: [{name: c, image: none, resources: " + resources + "}]"
}

func podOf(spec string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {}, spec: {" + spec + "}}"
}

func service(spec string) string {
	return "{apiVersion: v1, kind: Service, spec: {" + spec + "}}"
}

func claim(storage, spec string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + storage + "}}, " + spec + "}}"
}

func devices(requests string) string {
	return "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, spec: {devices: {requests: [" + requests + "]}}}"
}

const (
	secret                = "{apiVersion: v1, kind: Secret}"
	configMap             = "{apiVersion: v1, kind: ConfigMap}"
	resourceQuota         = "{apiVersion: v1, kind: ResourceQuota, spec: {hard: {count/leases.coordination.k8s.io: 100}}}"
	replicationController = "{apiVersion: v1, kind: ReplicationController, spec: {replicas: 0, selector: {app: a}, template: " + template + "}}"
	template              = "{metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: none}]}}"
)
