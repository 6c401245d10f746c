// Package nativequota says what native quota is, each fact once: the names and scopes that a ResourceQuota takes, what
// it charges for an object and under which names, and what a managed ResourceQuota says of the share that it enforces.
// It follows the evaluators of Kubernetes v1.36, which cannot be imported from outside Kubernetes.
package nativequota
