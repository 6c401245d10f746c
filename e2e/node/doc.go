/*
Package node brings a real node to a control plane of package fleet: containerd, runc, kubelet and kube-proxy, with images from
archives. So pods run, probes are probed, Services lead to pods, and a Deployment is rolled out as in any cluster.

All of it lives in a sandbox: namespaces of Linux for network, mounts and processes, made by Sandbox for a whole test program, with
what containerd, kubelet and CNI write in /run, /var/lib and /var/log. The kernel removes these with the program that made them,
however that one ends. Only cgroups have names outside: Sandbox removes those of its own run, and those that a killed one left.

The package needs Linux, root, and the programs that needs.sh looks for.
*/
package node
