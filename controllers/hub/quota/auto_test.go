package quota

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// following gives 20 pods to whoever asks, without headroom, and without a reserve since no request is held.
const following = `
hard: {pods: "20"}
placement: {clusterSelector: {}}
rebalance: {headroomPercent: 0}
admission: {mode: "Off"}`

// holding gives 24 pods to whoever asks, and requests are held.
const holding = `
hard: {pods: "24"}
placement: {clusterSelector: {}}
rebalance: {headroomPercent: 0}`

var nodesFull = []metav1.Condition{reported("NodesFull", "Unschedulable", "pods find no node")}

// TestLimitsFollowDemand settles by who uses and asks for what.
func TestLimitsFollowDemand(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		set  func(w *world)
		want []string
	}{
		"idle":                 {spec: following, want: []string{"east 10/10 Settled", "west 10/10 Settled"}},
		"idle, with a reserve": {spec: holding, want: []string{"east 9/9 Settled", "west 9/9 Settled"}},
		"one asks for more": {
			spec: following, set: func(w *world) { w.agents["east"].asks(list("pods", "16")) },
			want: []string{"east 18/18 Settled", "west 2/2 Settled"},
		},
		"both ask for everything": {
			spec: following, set: func(w *world) {
				w.agents["east"].asks(list("pods", "20"))
				w.agents["west"].asks(list("pods", "20"))
			},
			want: []string{"east 10/10 Settled", "west 10/10 Settled"},
		},
		"by weight": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, weight: 3}]}`,
			set: func(w *world) {
				w.agents["east"].asks(list("pods", "20"))
				w.agents["west"].asks(list("pods", "20"))
			},
			want: []string{"east 15/15 Settled", "west 5/5 Settled"},
		},
		"up to a max": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, max: {pods: "12"}}]}`,
			set:  func(w *world) { w.agents["east"].asks(list("pods", "15")) },
			want: []string{"east 12/12 Settled", "west 8/8 Settled"},
		},
		"headroom for what is used": {
			spec: following, set: func(w *world) { w.agents["east"].uses(list("pods", "10")) },
			want: []string{"east 15/15 Settled", "west 5/5 Settled"},
		},
		"no headroom where nodes are full": {
			spec: following, set: func(w *world) {
				w.agents["east"].uses(list("pods", "10"))
				w.agents["east"].conditions = nodesFull
			},
			want: []string{"east 10/10 Settled", "west 10/10 Settled"},
		},
		"where nodes are full, what other pods ask for": {
			spec: following, set: func(w *world) {
				w.agents["east"].uses(list("pods", "10"))
				w.agents["east"].asks(list("pods", "3"))
				w.agents["east"].conditions = nodesFull
			},
			want: []string{"east 13/13 Settled", "west 7/7 Settled"},
		},
		"room for a client that never asks": {
			spec: holding + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, headroom: {pods: "15"}}]}`,
			want: []string{"east 15/15 Settled", "west 7/7 Settled"},
		},
		"room for it is not kept from who asks": {
			spec: holding + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: east}}, headroom: {pods: "15"}}]}`,
			set:  func(w *world) { w.agents["west"].asks(list("pods", "18")) },
			want: []string{"east 6/6 Settled", "west 18/18 Settled"},
		},
		"not below what is used": {
			spec: following, set: func(w *world) {
				w.agents["west"].uses(list("pods", "9"))
				w.agents["east"].asks(list("pods", "20"))
			},
			want: []string{"east 11/11 Settled", "west 9/9 Settled"},
		},
		"not below a min that is not lent": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, min: {pods: "8"}}]}`,
			set:  func(w *world) { w.agents["east"].asks(list("pods", "20")) },
			want: []string{"east 12/12 Settled", "west 8/8 Settled"},
		},
		"below a min that is lent": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, min: {pods: "8"}, lendable: {pods: "6"}}]}`,
			set:  func(w *world) { w.agents["east"].asks(list("pods", "20")) },
			want: []string{"east 18/18 Settled", "west 2/2 Settled"},
		},
		"a lender wants its min, and the borrower uses it": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, min: {pods: "8"}, lendable: {pods: "8"}}]}`,
			set: func(w *world) {
				w.agents["east"].asks(list("pods", "20"))
				w.settle()
				w.agents["east"].uses(list("pods", "20"))
				w.agents["east"].asks(nil)
				w.agents["west"].asks(list("pods", "8"))
			},
			want: []string{"east 12/20 Draining", "west 0/0 Settled"},
		},
		"and gets it as usage ends": {
			spec: following + `
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, min: {pods: "8"}, lendable: {pods: "8"}}]}`,
			set: func(w *world) {
				w.agents["east"].asks(list("pods", "20"))
				w.settle()
				w.agents["east"].uses(list("pods", "20"))
				w.agents["east"].asks(nil)
				w.agents["west"].asks(list("pods", "8"))
				w.settle()
				w.agents["east"].uses(list("pods", "14"))
			},
			want: []string{"east 12/14 Draining", "west 6/6 Settled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, tc.spec)
			w.settle()
			if tc.set != nil {
				tc.set(w)
				w.settle()
			}
			w.wantLedger(tc.want...)
			versions := w.versions()
			for range 3 {
				w.clock.SetTime(w.clock.Now().Add(pace.RoundInterval(1, 1)))
				w.round()
				w.act()
			}
			if diff := cmp.Diff(versions, w.versions()); diff != "" {
				t.Errorf("written although nothing changes:\n%s", diff)
			}
		})
	}
}

// TestFullNodesInAStaticSplit gives a cluster its part by weight, whatever it makes of it.
func TestFullNodesInAStaticSplit(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, weighted2)
	w.settle()
	w.agents["west"].conditions = nodesFull
	w.settle()
	w.edit(weighted)
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 12/12 Settled")
}

// TestDonorsComeFirst raises nobody by what a donor has not given back.
func TestDonorsComeFirst(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	w.settle()
	w.agents["east"].asks(list("pods", "16"))
	w.agents["west"].down = true
	w.settle()
	w.wantLedger("east 10/10 Settled", "west 2/10 Settling")
	w.agents["west"].down = false
	w.settle()
	w.wantLedger("east 18/18 Settled", "west 2/2 Settled")
}

// TestFreeBudgetIsRationed gives what is free to all who need it at once, by weight, and the rest when the donor has
// settled.
func TestFreeBudgetIsRationed(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, `
hard: {pods: "20"}
placement: {clusterSelector: {}}
rebalance: {headroomPercent: 0}
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, max: {pods: "12"}}, {clusterSelector: {matchExpressions: [{key: name, operator: NotIn, values: [west]}]}, max: {pods: "2"}}]}
admission: {mode: "Off"}`)
	w.settle()
	w.wantLedger("east 2/2 Settled", "north 2/2 Settled", "west 12/12 Settled")
	w.edit(following)
	w.agents["east"].asks(list("pods", "10"))
	w.agents["north"].asks(list("pods", "10"))
	w.agents["west"].down = true
	w.act()
	w.round()
	w.act()
	// 4 are free; west is to give 12 and has not.
	w.wantLedger("east 4/4 Settling", "north 4/4 Settling", "west 0/12 Settling")
	w.agents["west"].down = false
	w.settle()
	w.wantLedger("east 10/10 Settled", "north 10/10 Settled", "west 0/0 Settled")
}

// TestPinnedMembersKeepWhatTheyHave shares out what is left beside members that cannot be changed now.
func TestPinnedMembersKeepWhatTheyHave(t *testing.T) {
	for name, pin := range map[string]func(w *world){
		"no connection": func(w *world) { w.members.byName["west"].err = errors.New("away") },
		"stuck": func(w *world) {
			w.agents["west"].conditions = []metav1.Condition{reported(quotav1alpha1.ConditionStuckQuotaController, "CanaryNotSynced", "it stands")}
		},
		"glass broken": func(w *world) {
			w.agents["west"].conditions = []metav1.Condition{reported(quotav1alpha1.ConditionBreakGlass, "Annotated", "fire")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "east", "west")
			w.create(quotaName, following)
			w.settle()
			pin(w)
			w.act()
			w.agents["east"].asks(list("pods", "15"))
			w.settle()
			if got := w.ledger("pods"); got[0] != "east 10/10 Settled" || got[1][:10] != "west 10/10" {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestFirstLimitsDoNotWait gives new members their part at once: what is put off is a move for headroom, not the first
// limit.
func TestFirstLimitsDoNotWait(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	for range 4 {
		w.round()
		w.act()
	}
	w.wantLedger("east 10/10 Settled", "west 10/10 Settled")
}

// TestObjectsThatNeedAllOfTheBudget has two clusters ask for all of it, each for one object: half of it each would
// serve neither.
func TestObjectsThatNeedAllOfTheBudget(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, following)
	w.settle()
	first, second := w.agents["east"], w.agents["west"]
	first.asksAtOnce(list("pods", "20"))
	second.asksAtOnce(list("pods", "20"))
	w.settle()
	granted := func(a *agent) int64 {
		hard := w.agents[a.name].hard["pods"]
		return hard.Value()
	}
	if granted(first) == 0 {
		first, second = second, first
	}
	if granted(first) != 20 || granted(second) != 0 {
		t.Fatalf("%s has %d and %s %d of 20", first.name, granted(first), second.name, granted(second))
	}
	first.uses(list("pods", "20"))
	first.asks(nil)
	w.settle()
	if granted(first) != 20 {
		t.Errorf("what is in use went to %d", granted(first))
	}
	first.uses(nil)
	w.settle()
	if granted(second) != 20 {
		t.Errorf("%s has %d when nobody else wants any", second.name, granted(second))
	}
}

// TestKindsOfDemand has objects ask for what the fleet has no more of, and others in the same cluster for something
// else: these get it.
func TestKindsOfDemand(t *testing.T) {
	w := newWorld(t, "east", "west")
	w.create(quotaName, `{hard: {pods: "100", services: "4"}, placement: {clusterSelector: {}}}`)
	w.agents["west"].uses(list("services", "4", "pods", "40"))
	w.agents["west"].asks(list("pods", "20"))
	w.settle()
	east := w.agents["east"]
	east.demand = list("pods", "34", "services", "1")
	east.kinds = []quotav1alpha1.DemandShape{{Amounts: list("pods", "30")}, {Amounts: list("pods", "4", "services", "1")}}
	w.settle()
	if pods := east.hard["pods"]; pods.Value() < 30 {
		t.Errorf("east has %s pods, and asks for 30 that need nothing else", pods.String())
	}
}

// TestRequestsThatNobodyCanServe has two clusters wait with an object each that takes all that is free, and with a
// small one that also asks for what the fleet has no more of: one of the large ones is served.
func TestRequestsThatNobodyCanServe(t *testing.T) {
	w := newWorld(t, "east", "north", "west")
	w.create(quotaName, `{hard: {pods: "8", services: "1"}, placement: {clusterSelector: {}}}`)
	w.agents["west"].uses(list("services", "1"))
	w.settle()
	for _, name := range []string{"east", "north"} {
		w.agents[name].demand = list("pods", "9", "services", "1")
		for _, request := range [][]string{{"pods", "1", "services", "1"}, {"pods", "8"}} {
			w.agents[name].kinds = append(w.agents[name].kinds, quotav1alpha1.DemandShape{Amounts: list(request...), Unit: list(request...)})
		}
	}
	w.settle()
	east, north := w.agents["east"].hard["pods"], w.agents["north"].hard["pods"]
	if max(east.Value(), north.Value()) != 8 {
		t.Errorf("east has %v pods and north %v", &east, &north)
	}
}
