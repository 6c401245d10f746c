// Package cost says what native quota charges for an object: which ResourceQuotas count it, and how much under which
// name. It follows the evaluators of Kubernetes v1.36, which cannot be imported from outside Kubernetes.
package cost
