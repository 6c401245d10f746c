/*
Package fleet starts and stops fleets of real control planes on 127.0.0.1: a hub and any number of members. The demo,
the end-to-end tests and the benchmarks all run on it.

Each control plane is an etcd, a kube-apiserver (or two) and a kube-controller-manager, on request with a
kube-scheduler and nodes that KWOK plays. It has a folder of its own with its data, its certificates, its logs and an
admin's kubeconfig. The hub holds the Cluster API objects that lead to the members: a Cluster that reports itself
provisioned, and its kubeconfig Secret.

	crds, err := fleet.ClusterAPICRDs(ctx, "clusters")
	...
	f, err := fleet.Start(ctx, fleet.Options{
		Dir:      dir,
		CRDPaths: crds,
		Members:  []fleet.ControlPlaneOptions{{Name: "east"}, {Name: "west", SecondAPIServer: true}},
	})
	...
	defer f.Stop()
	err = f.Member("east").Process(fleet.ControllerManager).Pause(ctx)

A fleet dies with the process that started it, however that one ends. With Options.Detach it lives on instead, until
Down ends it. Both signal only processes that the fleet started, told apart from later ones with the same id by their
start time.

The package needs Linux: it relies on /proc and on the parent death signal.
*/
package fleet
