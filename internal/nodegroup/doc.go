// Package nodegroup says what machines may still come to a cluster: it reads what a MachineDeployment or MachinePool
// says to Cluster API in fields, and to the cluster autoscaler in annotations. It is pure.
package nodegroup
