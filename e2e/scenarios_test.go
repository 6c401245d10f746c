//go:build e2e

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// part is a scenario by its name.
type part struct {
	name string
	run  func(t *testing.T, w *world)
}

// TestScenarios plays what befalls limits that are moved by hand, and then whatever comes to a seed's mind, one after
// another on one fleet: a hub and three members, of which east has two API servers.
func TestScenarios(t *testing.T) {
	play(t, "scenarios", []part{
		{"bounds and placement", testBounds},
		{"bad input", testBadInput},
		{"unknown clusters and resources", testUnknown},
		{"namespace missing", testNamespaceMissing},
		{"kubeconfig missing, malformed, to nowhere", testKubeconfig},
		{"two quotas over one scope", testConflict},
		{"foreign quota", testForeign},
		{"adoption", testAdoption},
		{"limits taken over", testTakeOver},
		{"removal", testRemoval},
		{"deselect and reselect", testReselect},
		{"share deleted and rewritten by hand", testMeddling},
		{"two API servers under a storm", testStorm},
		{"scopes under a storm", testScopes},
		{"cut below usage", testCut},
		{"random kills", testKills},
		{"kills at each step", testSteps},
		{"two hub managers", testTwoHubs},
		{"old leader paused", testOldLeader},
		{"hub leader killed", testElectedHubs},
		{"two agents", testTwoAgents},
		{"API server paused", testAPIServerPaused},
		{"cut off", testCutOff},
		{"quota controller stopped", testQuotaController},
		{"clocks an hour off", testClocks},
		{"cluster deleted while it runs", testClusterDeleted},
		{"faults at random", testChaos},
	})
}

// TestScenariosOfRestoresAndDemand plays those in which something is restored, and those in which limits follow demand,
// on such a fleet at the same time: scenarios wait for the most part, and these take about as long.
func TestScenariosOfRestoresAndDemand(t *testing.T) {
	play(t, "restores-and-demand", []part{
		{"member restored from a snapshot", testMemberRestored},
		{"hub restored from a snapshot", testHubRestored},
		{"hub restored to before a cluster was selected", testHubForgetsSelection},
		{"hub restored by the runbook", testRunbook},
		{"objects restored without status", testRestoredObjects},
		{"ledger and share lost", testOrphan},
		{"limits follow demand", testDemand},
		{"all want everything", testEverybody},
		{"pods that need all of the budget", testWhole},
		{"claims of a StatefulSet", testClaims},
		{"a rollout in a full fleet", testRollout},
		{"a lent min is reclaimed", testReclaim},
		{"the fleet is full", testFull},
		{"nodes are full", testNodes},
		{"a budget that follows nodes", testCapacity},
		{"nodes may still come", testGrowth},
		{"a pool that follows nodes", testPooledCapacity},
		{"hub down while limits follow demand", testHubDown},
		{"leading agent killed while requests wait", testElectedAgents},
		{"random kills while limits follow demand", testAutoKills},
		{"cut off and stuck while limits follow demand", testAutoNetwork},
		{"teams in a pool", testPools},
		{"two hub managers over a pool", testPoolOfTwoHubs},
		{"a tenant of many namespaces", testTenant},
		{"a tree of pools", testTree},
	})
}

func play(t *testing.T, fleetName string, parts []part) {
	t.Parallel()
	members := threeMembers()
	members[0].SecondAPIServer = true
	w := startWorld(t, fleetName, system.Options{Fleet: fleet.Options{Members: members}})
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.run(t, w) })
	}
}

// fault notes what was done to the system.
func (s *scenario) fault(format string, args ...any) {
	s.Helper()
	s.Logf(format, args...)
	s.result.Faults = append(s.result.Faults, fmt.Sprintf(format, args...))
}

// moment lets a random time up to a limit pass, so that a fault comes at no particular step.
func (s *scenario) moment(limit time.Duration) {
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(limit))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.Context().Done():
	}
}

// splits are weights of east, west and north, each of which takes from a member of the one before to give to another.
var splits = [][]int32{{3, 2, 1}, {1, 3, 2}, {2, 1, 3}, {1, 1, 4}, {4, 1, 1}}

// turn changes the weights to the n-th of the splits.
func (s *scenario) turn(n int) {
	s.Helper()
	s.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules = weights(splits[n%len(splits)]...)
	})
}

// sample is what the weights 3:2:1 make of a budget of 30 cpu and 60 pods.
var sample = amounts{cpu: {"15", "10", "5"}, pods: {"30", "20", "10"}}
