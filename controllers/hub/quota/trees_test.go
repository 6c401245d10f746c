package quota

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestStuckBudgetHoldsUpNobody has one of three budgets in a tree be stuck when the hub manager starts. The others go on
// lending to each other.
func TestStuckBudgetHoldsUpNobody(t *testing.T) {
	for name, stick := range map[string]func(tr *tree, c *world){
		"its clusters are away": func(_ *tree, c *world) { c.cutOff("north") },
		"its spec is invalid": func(tr *tree, c *world) {
			c.edit(`{hard: {pods: 10}, reserve: {pods: 11}, pool: {name: ` + tr.name + `}, placement: {clusterSelector: {}}}`)
		},
		"its status cannot be stored": func(_ *tree, c *world) {
			c.before = func(write string) error {
				if strings.Contains(write, "FederatedQuota") {
					return errors.New("refused")
				}
				return nil
			}
		},
		"it was released, and somebody else keeps it": func(tr *tree, c *world) {
			fq := c.quota()
			fq.Finalizers = []string{"example.com/kept"}
			tr.a.must(servers[hubName].Update(tr.t.Context(), fq))
			tr.a.must(servers[hubName].Delete(tr.t.Context(), fq))
			tr.t.Cleanup(func() {
				fq.Finalizers = nil
				_ = servers[hubName].Patch(tr.t.Context(), fq, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t, anyNamespace)
			c := worldBeside(t, "north")
			c.hub.Trees, c.hub.Needs = tr.a.hub.Trees, tr.a.hub.Needs
			all := []*world{tr.a, tr.b, c}
			for _, w := range all {
				w.create(quotaName, tr.spec("10"))
			}
			turn := func(rounds int) {
				for range rounds {
					for _, w := range all {
						if _, err := w.hub.Reconcile(t.Context(), w.request(quotaName)); err != nil && !strings.Contains(err.Error(), "refused") && !apierrors.IsNotFound(err) {
							t.Fatal(err)
						}
						w.act()
						tr.round()
					}
				}
			}
			turn(8)
			if had := limit(c, "north"); had == 0 {
				t.Fatal("the third has nothing")
			}
			stick(tr, c)
			tr.a.restart()
			tr.b.hub, c.hub = tr.b.newHub(), c.newHub()
			for _, w := range all[1:] {
				w.hub.Trees, w.hub.Needs = tr.a.hub.Trees, tr.a.hub.Needs
			}
			tr.hub.Needs, tr.hub.Trees = tr.a.hub.Needs, tr.a.hub.Trees
			had, wants := limit(tr.a, "east"), limit(tr.a, "east")+1
			tr.a.agents["east"].asks(list("pods", fmt.Sprint(wants)))
			tr.a.act()
			turn(8)
			if got := limit(tr.a, "east"); got < wants {
				t.Errorf("a has %d pods in force as it had %d, and asks for %d: %v", got, had, wants, tr.ledger())
			}
		})
	}
}

// TestBudgetsWaitForTheirPools starts the hub manager again: no budget decides before its pool has looked at its children,
// which may show that the store was put back.
func TestBudgetsWaitForTheirPools(t *testing.T) {
	tr := newTree(t, anyNamespace)
	tr.a.create(quotaName, tr.spec("10"))
	tr.b.create(quotaName, tr.spec("10"))
	tr.settle(10)
	tr.a.restart()
	tr.b.restart()
	tr.b.hub.Trees, tr.b.hub.Needs = tr.a.hub.Trees, tr.a.hub.Needs
	tr.hub.Needs, tr.hub.Trees = tr.a.hub.Needs, tr.a.hub.Trees
	both := func() {
		for range 3 {
			tr.a.round()
			tr.b.round()
		}
	}
	if both(); tr.a.hub.Trees.IsPast(tr.a.quota().UID) {
		t.Error("a decides before its pool is heard")
	}
	tr.round()
	if both(); !tr.a.hub.Trees.IsPast(tr.a.quota().UID) {
		t.Error("a waits although all are heard")
	}
}
