package quota

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestShard has two hub managers act on a FederatedQuota by turns, as its label says: the other one writes nothing.
func TestShard(t *testing.T) {
	w := newWorld(t, "east", "west")
	shards := map[string]*Reconciler{"a": w.newHub(), "": w.newHub()}
	shards["a"].Shard, shards[""].Shard = selector(t, "shard=a"), selector(t, "!shard")
	w.create(quotaName, weighted)
	for _, turn := range []struct{ shard, other string }{{"", "a"}, {"a", ""}, {"", "a"}} {
		w.label(turn.shard)
		w.hub = shards[turn.shard]
		w.settle()
		w.wantConditions("Ready Enforced")
		w.edit(eastFirst)
		w.written()
		if _, err := shards[turn.other].onceHeard(t.Context(), w.request(quotaName)); err != nil {
			t.Fatal(err)
		}
		if got := w.written(); len(got) > 0 {
			t.Errorf("shard %q: another one writes %q", turn.shard, got)
		}
		if shards[turn.other].memories.number() > 0 {
			t.Errorf("shard %q: another one remembers it", turn.shard)
		}
		if slices.Contains(shards[turn.other].allQuotas(t.Context(), nil), w.request(quotaName)) {
			t.Errorf("shard %q: another one is woken for it", turn.shard)
		}
		if !slices.Contains(w.hub.allQuotas(t.Context(), nil), w.request(quotaName)) {
			t.Errorf("shard %q: its own one is not woken for it", turn.shard)
		}
		w.settle()
		w.edit(weighted)
	}
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// label puts the FederatedQuota into a shard.
func (w *world) label(shard string) {
	w.t.Helper()
	fq := w.quota()
	fq.Labels = nil
	if shard != "" {
		fq.Labels = map[string]string{"shard": shard}
	}
	w.must(servers[hubName].Update(w.t.Context(), fq))
}
