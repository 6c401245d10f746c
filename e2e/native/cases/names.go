package cases

import corev1 "k8s.io/api/core/v1"

const (
	never     = "is accepted by ResourceQuota and never counted"
	ownCount  = "a scheduler that reads this name, as HAMi's does, keeps a count of its own in each cluster, which no budget can split: leave the name to a ResourceQuota of its own there"
	someNames = "valid are names such as requests.cpu, limits.memory, pods, services, requests.nvidia.com/gpu or count/deployments.apps"
	coreNames = "configmaps, endpoints, limitranges, persistentvolumeclaims, pods, podtemplates, replicationcontrollers, resourcequotas, secrets, serviceaccounts, services"
	ofCore    = "valid are count/RESOURCE.GROUP (such as count/deployments.apps) and count/ with one of " + coreNames
)

// Name says what a ResourceQuota makes of a resource name.
type Name struct {
	// Refused says that a ResourceQuota refuses the name, and Unknown that only some clusters have the kind.
	Refused, Unknown bool
	// Want is what is wrong with the name.
	Want string
}

// Names are resource names of all kinds.
var Names = map[corev1.ResourceName]Name{
	"cpu":                                     {},
	"memory":                                  {},
	"ephemeral-storage":                       {},
	"requests.cpu":                            {},
	"requests.memory":                         {},
	"requests.ephemeral-storage":              {},
	"requests.storage":                        {},
	"limits.cpu":                              {},
	"limits.memory":                           {},
	"limits.ephemeral-storage":                {},
	"pods":                                    {},
	"services":                                {},
	"services.nodeports":                      {},
	"services.loadbalancers":                  {},
	"replicationcontrollers":                  {},
	"resourcequotas":                          {},
	"secrets":                                 {},
	"configmaps":                              {},
	"persistentvolumeclaims":                  {},
	"hugepages-2Mi":                           {},
	"hugepages-1Gi":                           {},
	"requests.hugepages-2Mi":                  {},
	"requests.nvidia.com/gpu":                 {},
	"requests.example.com/fpga":               {},
	"count/pods":                              {},
	"count/configmaps":                        {},
	"count/endpoints":                         {},
	"count/limitranges":                       {},
	"count/podtemplates":                      {},
	"count/serviceaccounts":                   {},
	"count/deployments.apps":                  {},
	"count/jobs.batch":                        {},
	"count/ingresses.networking.k8s.io":       {},
	"count/widgets.example.com":               {Unknown: true},
	"gpu.deviceclass.resource.k8s.io/devices": {},
	"requests.deviceclass.resource.kubernetes.io/gpu":              {},
	"gold.storageclass.storage.k8s.io/requests.storage":            {},
	"gold.storageclass.storage.k8s.io/persistentvolumeclaims":      {},
	"very.gold.storageclass.storage.k8s.io/persistentvolumeclaims": {},

	"nvidia.com/gpu": {Want: never + ": use requests.nvidia.com/gpu"},
	"limits.nvidia.com/gpu": {
		Want: never + ": use requests.nvidia.com/gpu, which counts what containers state; " + ownCount,
	},
	"limits.nvidia.com/gpumem": {
		Want: never + ": use requests.nvidia.com/gpumem, which counts what containers state; " + ownCount,
	},
	"kubernetes.io/gpu": {
		Want: never + ", since Kubernetes keeps kubernetes.io to itself: " + someNames,
	},
	"requests.kubernetes.io/gpu": {
		Want: never + ", since Kubernetes keeps kubernetes.io to itself: " + someNames,
	},
	"hugepages-big": {
		Want: never + `: "big" is no page size; valid are names such as hugepages-2Mi or requests.hugepages-1Gi`,
	},
	"requests.hugepages-0": {
		Want: never + `: "0" is no page size; valid are names such as hugepages-2Mi or requests.hugepages-1Gi`,
	},
	"count/deployment": {
		Want: never + `: the core API group has no countable resource "deployment"; ` + ofCore,
	},
	"count/pod": {
		Want: never + `: the core API group has no countable resource "pod"; ` + ofCore,
	},
	"count/events": {
		Want: never + `: the core API group has no countable resource "events"; ` + ofCore,
	},
	"count/nodes": {
		Want: never + `: the core API group has no countable resource "nodes"; ` + ofCore,
	},
	"count/events.events.k8s.io": {Want: never + ": no quota counts events"},
	"count/Deployments.apps": {
		Want: never + ": write the resource in lower case, as in count/deployments.apps",
	},
	"count/deployments_x.apps": {
		Want: never + ": write the resource in lower case, as in count/deployments.apps",
	},
	"storageclass.storage.k8s.io/requests.storage": {
		Want: never + ": name the storage class, as in gold.storageclass.storage.k8s.io/requests.storage",
	},
	"gold.storageclass.storage.k8s.io/storage": {
		Want: never + ": behind a storage class, valid are requests.storage and persistentvolumeclaims",
	},
	"gold.storageclass.storage.k8s.io/pods": {
		Want: never + ": behind a storage class, valid are requests.storage and persistentvolumeclaims",
	},
	"deviceclass.resource.k8s.io/devices": {Want: never + ": use requests.deviceclass.resource.k8s.io/devices"},

	"gpu":                  {Refused: true, Want: "is no resource name that ResourceQuota counts: " + someNames},
	"storage":              {Refused: true, Want: "is no resource name that ResourceQuota counts: " + someNames},
	"requests.pods":        {Refused: true, Want: "is no resource name that ResourceQuota counts: " + someNames},
	"limits.storage":       {Refused: true, Want: "is no resource name that ResourceQuota counts: " + someNames},
	"limits.hugepages-2Mi": {Refused: true, Want: "is no resource name that ResourceQuota counts: " + someNames},
	"deployments.apps":     {Refused: true, Want: "is no resource name that ResourceQuota counts: " + someNames},
	"count/": {Refused: true, Want: "is no resource name: name part must be non-empty; name part " +
		"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); " + someNames},
	"hugepages-": {Refused: true, Want: "is no resource name: name part " +
		"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); " + someNames},
	"count/deployments/apps": {Refused: true, Want: "is no resource name: a valid label key " +
		"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') " +
		"with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName'); " + someNames},
	"requests.nvidia.com/": {Refused: true, Want: "is no resource name: name part must be non-empty; name part " +
		"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); " + someNames},
}
