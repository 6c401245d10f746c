//go:build e2e

package native_test

// features are what changes the charge of an object, at its creation or later.
func features() []row {
	const classed = "standard.storageclass.storage.k8s.io/persistentvolumeclaims"
	rows := []row{
		{
			what: "a name that is generated", name: "pods", unit: "1", note: "`generateName`",
			object: object("v1", "Pod", "metadata: {generateName: web-}, spec: {"+container("{}")+"}"),
		},
		{
			what: "an init container", name: "requests.cpu", unit: "2", note: "2 in the init container is more than 500m after it",
			object: podOf("initContainers: [{name: i, image: none, resources: {requests: {cpu: 2}}}], " + container("{requests: {cpu: 500m}}")),
		},
		{
			what: "restartable init containers", name: "requests.cpu", unit: "1700m", note: "200m and 500m in sidecars, and 1 in the container",
			object: podOf("initContainers: [{name: s, image: none, restartPolicy: Always, resources: {requests: {cpu: 200m}}}, " +
				"{name: i, image: none, resources: {requests: {cpu: 1}}}, " +
				"{name: t, image: none, restartPolicy: Always, resources: {requests: {cpu: 500m}}}], " + container("{requests: {cpu: 1}}")),
		},
		{
			what: "overhead of a `RuntimeClass`", name: "requests.cpu", unit: "800m", note: "300m of overhead",
			object: podOf("runtimeClassName: heavy, " + container("{requests: {cpu: 500m}}")),
		},
		{
			what: "requests of the whole pod", name: "requests.memory", unit: "1Gi", note: "the container has 64Mi of it",
			object: podOf("resources: {requests: {memory: 1Gi}}, " + container("{requests: {memory: 64Mi}}")),
		},
		{what: "limits of the whole pod", name: "limits.cpu", unit: "2", object: podOf("resources: {limits: {cpu: 2}}, " + container("{}"))},
		{
			what: "a limit without a request", name: "requests.cpu", unit: "500m", note: "the API server takes the request from the limit",
			object: pod("{limits: {cpu: 500m}}"),
		},
		{
			what: "a default request of a `LimitRange`", name: "requests.memory", unit: "64Mi", object: pod("{}"),
			setup: limitRange("defaultRequest: {memory: 64Mi}"),
		},
		{what: "a default limit of a `LimitRange`", name: "limits.cpu", unit: "2", object: pod("{}"), setup: limitRange("default: {cpu: 2}")},
		{
			what: "a `MutatingAdmissionPolicy`", name: "requests.cpu", unit: "700m", note: "the pod asks for 100m, and the policy makes that 700m",
			object: object("v1", "Pod", "metadata: {labels: {mutated: please}}, spec: {"+container("{requests: {cpu: 100m}}")+"}"),
		},
		{
			what: "the default storage class", name: classed, unit: "1", note: "the claim names no class",
			object: claim("1Gi", ""), beside: claim("1Gi", "storageClassName: gold"),
		},
		{
			what: "all devices of a class", name: deviceName, unit: "32", note: "`allocationMode: All` is charged the most that a claim may have",
			object: devices("{name: a, exactly: {deviceClassName: gpu, allocationMode: All}}"),
		},
		{
			what: "devices by preference", name: deviceName, unit: "3", note: "`firstAvailable`: 3 of the class, or 2, or none",
			object: devices("{name: a, firstAvailable: [{name: three, deviceClassName: gpu, allocationMode: ExactCount, count: 3}, " +
				"{name: two, deviceClassName: gpu, allocationMode: ExactCount, count: 2}, {name: none, deviceClassName: nic}]}"),
		},
		{
			what: "node ports of a load balancer", name: "services.nodeports", unit: "1", note: "none with `allocateLoadBalancerNodePorts: false`",
			object: service("type: LoadBalancer, ports: [{port: 80}]"),
			beside: service("type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]"),
		},
	}
	rows = append(rows, row{
		what: "nine more names in the budget", name: "requests.cpu", unit: "500m", note: "the part of `west` of each name moves",
		also: map[string]string{
			"cpu": "500m", "limits.cpu": "1", "memory": "64Mi", "requests.memory": "64Mi", "limits.memory": "128Mi", "requests.ephemeral-storage": "1Gi",
			"pods": "1", "count/pods": "1", "requests.nvidia.com/gpu": "1",
		},
		object: pod("{requests: {cpu: 500m, memory: 64Mi, ephemeral-storage: 1Gi}, limits: {cpu: 1, memory: 128Mi, nvidia.com/gpu: 1}}"),
	})
	return of(sectionFeatures, append(rows, lives()...))
}

func limitRange(defaults string) string {
	return object("v1", "LimitRange", "metadata: {name: limits}, spec: {limits: [{type: Container, "+defaults+"}]}")
}
