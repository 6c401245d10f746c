//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// nodePatience is how long a pod waits for a node before its cluster counts as full for pods like it, and a little
// more.
const nodePatience = 32 * time.Second

// testNodes has a ReplicaSet in north want more than the nodes of north hold. Its pods are admitted until some of them
// have waited for a node in vain and more are wanted: from then on north is raised no more, neither for its demand nor
// for headroom, west has what it wants, and north is raised again once it has nodes for all.
func testNodes(t *testing.T, w *world) {
	s := newScenario(t, w, "nodes", budget("30", "60"))
	nodes := s.schedule(north, 2, "2500m")
	s.create(budget("30", "60"), following)
	s.settle()
	s.witness(1)
	s.deploy(north, "web", 10, "1")
	s.runs(north, "web", 10)
	s.recounted(north, budget("10100m", "11")) // later it would show as a raise to what is there
	s.eventually("the nodes to hold 4 pods, and the others to have waited in vain", func(ctx context.Context) error {
		bound, waited, err := s.placed(ctx, north, "web")
		if err == nil && (len(bound) != 4 || waited < nodePatience) {
			err = fmt.Errorf("%d pods have a node, others have waited for %s", len(bound), waited)
		}
		return err
	})
	bound, _, err := s.placed(t.Context(), north, "web")
	s.must(err)

	s.must(s.tryScale(t.Context(), north, "web", 25))
	s.eventually("north to say that its nodes are full", func(ctx context.Context) error { return s.nodesFull(ctx, north, true) })
	s.rest("north to have what it gets")
	before, err := s.quota(t.Context(), north)
	s.must(err)
	s.holds("north to be raised for nothing", 6*time.Second, func(ctx context.Context) error { return s.notAbove(ctx, north, before) })
	s.deploy(west, "web", 15, "1")
	s.runs(west, "web", 15)
	s.must(s.notAbove(t.Context(), north, before))

	nodes.Capacity[corev1.ResourceCPU] = resource.MustParse("21")
	s.must(s.member(north).Create(t.Context(), nodes.Node("big")))
	s.eventually("all pods of north to have a node, and to say so", func(ctx context.Context) error {
		_, waited, err := s.placed(ctx, north, "web")
		if err == nil && waited > 0 {
			err = fmt.Errorf("a pod has waited for %s", waited)
		}
		return errors.Join(err, s.nodesFull(ctx, north, false))
	})
	s.undeploy(west, "web")
	s.runs(north, "web", 25)
	after, _, err := s.placed(t.Context(), north, "web")
	s.must(err)
	for uid, node := range bound {
		if after[uid] != node {
			s.Errorf("pod %s ran on node %s, and is on node %q now", uid, node, after[uid])
		}
	}
	s.undeploy(north, "web")
	s.finish()
}

// nodesFull says whether a member reports anything else than whether its nodes are full.
func (s *scenario) nodesFull(ctx context.Context, member string, want bool) error {
	share := &quotav1alpha1.QuotaShare{}
	if err := s.member(member).Get(ctx, s.key, share); err != nil {
		return err
	}
	if apimeta.IsStatusConditionTrue(share.Status.Conditions, quotav1alpha1.ConditionNodesFull) != want {
		return fmt.Errorf("the share in %s has conditions %+v", member, share.Status.Conditions)
	}
	return nil
}

// notAbove says how the limit of a member is above another one.
func (s *scenario) notAbove(ctx context.Context, member string, before *corev1.ResourceQuota) error {
	quota, err := s.quota(ctx, member)
	if err != nil {
		return err
	}
	if within, above := quotav1.LessThanOrEqual(quota.Spec.Hard, before.Spec.Hard); !within {
		return fmt.Errorf("%s: %v rose from %s to %s", member, above, text(before.Spec.Hard), text(quota.Spec.Hard))
	}
	return nil
}

// schedule gives a member nodes of so many cpus until the scenario ends.
func (s *scenario) schedule(member string, count int, cpus string) fleet.Nodes {
	s.Helper()
	root, err := filepath.Abs("..")
	s.must(err)
	stages, err := fleet.KWOKStages(s.Context(), filepath.Join(root, "hack", "tools"))
	s.must(err)
	nodes := fleet.Nodes{
		KWOK: filepath.Join(root, "bin", "tools", "kwok"), Stages: stages, Count: count,
		Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus), corev1.ResourcePods: resource.MustParse("110")},
	}
	end, err := s.Member(member).Schedule(s.Context(), nodes)
	s.Cleanup(func() { s.must(end(context.Background())) })
	s.must(err)
	return nodes
}

// placed returns the nodes of the pods of a ReplicaSet, and how long another one of them has waited for a node in vain.
func (s *scenario) placed(ctx context.Context, member, name string) (nodes map[types.UID]string, waited time.Duration, err error) {
	pods, err := s.podsOf(ctx, member, name)
	nodes = map[types.UID]string{}
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			nodes[pods[i].UID] = pods[i].Spec.NodeName
			continue
		}
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				waited = max(waited, time.Since(c.LastTransitionTime.Time))
			}
		}
	}
	return nodes, waited, err
}
