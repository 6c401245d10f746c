package nativequota

import corev1 "k8s.io/api/core/v1"

// inherent are the names under which each namespace with a budget is charged one object by itself.
var inherent = map[corev1.ResourceName]string{
	corev1.ResourceQuotas:     "the ResourceQuota of the budget",
	"count/resourcequotas":    "the ResourceQuota of the budget",
	corev1.ResourceConfigMaps: "kube-root-ca.crt",
	"count/configmaps":        "kube-root-ca.crt",
	"count/serviceaccounts":   "default",
}

// Inherent returns which object each namespace with a budget is charged under a name by itself, or "".
func Inherent(name corev1.ResourceName) string { return inherent[name] }
