//go:build node

package node_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/node"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/e2e/system/systemtest"
)

const (
	// patience is how long anything may take that is bound to come.
	patience     = 4 * time.Minute
	pollInterval = 50 * time.Millisecond

	systemNamespace = "fedquota-system"
	pauseImage      = "localhost/pause:1"
	repository      = "registry.example/fedquota"
	west            = "west"
)

// world is a hub that is a member of itself, with a real node, and the member west, without one.
type world struct {
	*testing.T
	*fleet.Fleet
	node *node.Node
	root string
	// hub and west are administrators' clients of their API servers.
	hub, west client.WithWatch
	// faults are what was wrong so far. They are told once more at the end, where a log that was cut still has them.
	faults []string
}

// startWorld starts control planes and the node. They end with the test; their files stay in bin/e2e, logs included.
func startWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv(fleet.AssetsVariable) == "" {
		t.Skipf("%s is not set: it names the folder with the programs of control plane and node", fleet.AssetsVariable)
	}
	w := &world{T: t}
	t.Cleanup(func() {
		for _, fault := range w.faults {
			t.Log("FAULT: " + fault)
		}
	})
	var err error
	w.root, err = filepath.Abs(filepath.Join("..", ".."))
	w.must(err)
	crds, err := fleet.ClusterAPICRDs(t.Context(), "clusters")
	w.must(err)
	labels := map[string]string{"tier": "prod"}
	w.Fleet, err = fleet.Start(t.Context(), fleet.Options{
		Dir:         filepath.Join(w.root, "bin", "e2e", "node"),
		CRDPaths:    crds,
		Address:     node.Address,
		HubIsMember: true,
		Hub: fleet.ControlPlaneOptions{
			Labels:        labels,
			Scheduler:     true,
			Controllers:   append(fleet.MemberControllers(), "endpointslice-controller", "disruption-controller"),
			APIServerArgs: []string{"--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction"},
		},
		Members:  []fleet.ControlPlaneOptions{{Name: west, Labels: labels}},
		Progress: func(step string) { t.Log(step) },
	})
	w.must(err)
	t.Cleanup(func() { w.must(w.Stop()) })
	w.hub, w.west = w.client(w.Hub.Config), w.client(w.Member(west).Config)
	w.node, err = node.Start(t.Context(), w.Fleet, w.Hub, node.Options{
		Programs: os.Getenv(fleet.AssetsVariable),
		Pause:    pauseImage,
		Archives: []string{w.archive("pause"), w.archive("v0.1.0"), w.archive("v0.2.0")},
	})
	w.must(err)
	return w
}

// archive is the file of an image that make e2e-node has made.
func (w *world) archive(name string) string {
	return filepath.Join(w.root, "bin", "e2e", "images", name, "manager.oci.tar")
}

// client returns a client that is not held back.
func (w *world) client(config *rest.Config) client.WithWatch {
	w.Helper()
	c, err := system.ClientOf(config)
	w.must(err)
	return c
}

// fault says what is wrong; the test goes on.
func (w *world) fault(format string, args ...any) {
	w.Helper()
	w.Errorf(format, args...)
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// must ends the test if there is an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until check finds nothing wrong.
func (w *world) eventually(what string, check func(ctx context.Context) error) {
	w.Helper()
	if err := systemtest.Await(w.Context(), pollInterval, patience, check); err != nil {
		w.fault("%s: %v", what, err)
		w.Fatal(w.dump())
	}
}

// kubectl runs kubectl on the hub, as its administrator does.
func (w *world) kubectl(args ...string) string {
	w.Helper()
	return w.run(w.root, filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl"), append([]string{"--kubeconfig=" + w.Hub.Kubeconfig}, args...)...)
}

// run runs a command in a folder and returns what it prints.
func (w *world) run(folder, program string, args ...string) string {
	w.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(w.Context(), program, args...)
	command.Dir, command.Stdout, command.Stderr = folder, &stdout, &stderr
	if err := command.Run(); err != nil {
		w.Fatalf("%s %s: %v: %s\n%s", program, strings.Join(args, " "), err, stderr.String(), w.dump())
	}
	return stdout.String()
}

// rolledOut waits until all replicas of a Deployment of the system run an image and are available.
func (w *world) rolledOut(name, image string) {
	w.Helper()
	w.eventually("the rollout of "+name, func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := w.hub.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: name}, d); err != nil {
			return err
		}
		s := d.Status
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
			return fmt.Errorf("its image is %s, want %s", got, image)
		}
		if want := *d.Spec.Replicas; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
			return fmt.Errorf("not rolled out: %+v", s)
		}
		return nil
	})
}

// pods returns the pods of a part of the system that are not being deleted.
func (w *world) pods(component string) []corev1.Pod {
	w.Helper()
	var list corev1.PodList
	w.must(w.hub.List(w.Context(), &list, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/component": component}))
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// dump says how things are, for a person who asks why.
func (w *world) dump() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	for _, args := range []string{"get pods,deployments,nodes -A -o wide", "get events -A --sort-by=.lastTimestamp", "get fq -A -o yaml", "get qs,resourcequota -A -o yaml"} {
		command := exec.CommandContext(ctx, filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl"), strings.Fields(args)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+w.Hub.Kubeconfig)
		command.Stdout, command.Stderr = &out, &out
		_ = command.Run() // what it says of its failure stands there
	}
	return out.String()
}
