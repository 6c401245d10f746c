package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/scale/members"
	"github.com/fedquota/fedquota/e2e/system"
)

const (
	clusterNamespace = "default"
	tierLabel        = "tier"
	tier             = "scale"
	// writers is how many objects are written to the hub at once.
	writers = 8
	// agentDelay is how long an agent takes to act on a share.
	agentDelay = 30 * time.Millisecond
)

// rig is a real hub with light members.
type rig struct {
	options
	*system.System

	hub     client.Client
	members []*members.Member
	probe   *probe
	// pid is the process of the hub manager as it was started, to notice that it ended by itself.
	pid int
	// unready is how many budgets were seen at most that are not settled, while none was changed.
	unready int
	// pprof is the port of the hub manager's profiles.
	pprof int
}

// startRig starts the hub and the members, and tells the hub of them. The hub manager does not run yet.
func startRig(ctx context.Context, o options) (*rig, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	pprof, err := fleet.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	s, err := system.Start(ctx, system.Options{
		Root: root, Bare: true,
		HubArgs: []string{fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", pprof)},
		Env:     []string{"GOMEMLIMIT=" + o.memory},
		Fleet: fleet.Options{
			Dir: filepath.Join(root, "bin", "scale", "fleet-"+o.name), Progress: func(step string) { progress("%s", step) },
			// A hub may be a member as well: what it says of its kinds is what members say.
			CRDPaths: []string{filepath.Join(root, "config", "crd", "bases", "quota.fedquota.io_quotashares.yaml")},
		},
	})
	if err != nil {
		return nil, err
	}
	if o.manager != "" {
		path, err := filepath.Abs(o.manager)
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		s = s.StandIn(path)
	}
	r := &rig{options: o, System: s, pprof: pprof}
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return r, nil
}

func (r *rig) prepare(ctx context.Context) (err error) {
	config := rest.CopyConfig(r.Hub.Config)
	config.QPS = -1
	if r.hub, err = client.New(config, client.Options{Scheme: schemes.All()}); err != nil {
		return err
	}
	discovery, err := members.DiscoveryOf(ctx, config)
	if err != nil {
		return err
	}
	if r.probe, err = newProbe(ctx, r); err != nil {
		return err
	}
	progress("starting %d members", r.size)
	var group errgroup.Group
	group.SetLimit(writers)
	r.members = make([]*members.Member, r.size)
	for i := range r.members {
		group.Go(func() (err error) {
			if r.members[i], err = members.New(fmt.Sprintf("member-%04d", i), discovery, agentDelay); err != nil {
				return err
			}
			return r.register(ctx, r.members[i])
		})
	}
	return group.Wait()
}

// register makes the objects on the hub that lead to a member.
func (r *rig) register(ctx context.Context, m *members.Member) error {
	kubeconfig, err := m.Kubeconfig()
	if err != nil {
		return err
	}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: m.Name, Labels: map[string]string{tierLabel: tier}},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443}},
	}
	way := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: m.Name + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: m.Name}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": kubeconfig},
	}
	if err := errors.Join(r.hub.Create(ctx, way), r.hub.Create(ctx, cluster)); err != nil {
		return err
	}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	apimeta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ClusterAvailableReason,
	})
	return r.hub.Status().Update(ctx, cluster)
}

// stop ends everything.
func (r *rig) stop() error {
	err := r.Stop()
	for _, m := range r.members {
		err = errors.Join(err, m.Stop())
	}
	return err
}

// startManager starts the hub manager.
func (r *rig) startManager(ctx context.Context) error {
	p, err := r.StartHubManager(ctx, system.HubManager)
	if err != nil {
		return err
	}
	r.HubManager, r.pid = p, p.PID()
	return nil
}
