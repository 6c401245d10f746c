package demand_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/pace"
)

// truth is what a slow reader of the whole story would say.
type truth struct {
	desired int64
	pods    map[types.UID]bool
	held    int64
}

// TestDemandIsNeverCountedTwice tells a random story of one workload and one stranger, and compares with what is
// obvious: the workload needs what it lacks or what it asks for, whichever is more; the stranger what it asks for.
func TestDemandIsNeverCountedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, now := demand.NewBook(), start
		w := truth{pods: map[types.UID]bool{}}
		stranger := int64(0)
		known := false
		unit := cpus(1, 1)
		steps := map[string]func(*rapid.T){
			"scale": func(t *rapid.T) {
				w.desired, known = rapid.Int64Range(0, 6).Draw(t, "desired"), true
				b.SetWorkload(workload(w.desired), now)
			},
			"pod": func(t *rapid.T) {
				uid := types.UID(fmt.Sprint(rapid.IntRange(0, 7).Draw(t, "pod")))
				if w.pods[uid] {
					b.DeletePod(key.Namespace, uid, now)
					delete(w.pods, uid)
				} else {
					b.SetPod(podOf("web", uid), now)
					w.pods[uid] = true
				}
			},
			"hold": func(*rapid.T) {
				b.Hold(key, web, onePod, unit, now)
				w.held++
			},
			"end": func(t *rapid.T) {
				if w.held > 0 {
					b.End(key, web, unit, rapid.Bool().Draw(t, "fits"), now)
					w.held--
				}
			},
			"stranger holds": func(*rapid.T) { b.Hold(key, bare, onePod, unit, now); stranger++ },
			"stranger goes on": func(*rapid.T) {
				if stranger > 0 {
					b.End(key, bare, unit, true, now)
					stranger--
				}
			},
			"": func(t *rapid.T) {
				got := total(b, share(), now.Add(pace.Memory))
				missing := max(0, w.desired-int64(len(w.pods)))
				if want := stranger + max(missing, w.held); known && got["pods"] != want {
					t.Fatalf("demand for %d pods, want %d: %d missing, %d held, %d of a stranger", got["pods"], want, missing, w.held, stranger)
				}
				if got["requests.cpu"] != 1000*got["pods"] {
					t.Fatalf("demand of %v: a pod asks for one CPU", got)
				}
			},
		}
		t.Repeat(steps)
	})
}

// TestDemandSaturates has numbers that no sum can hold.
func TestDemandSaturates(t *testing.T) {
	b := demand.NewBook()
	b.SetWorkload(workload(1<<40), start)
	b.Hold(key, web, onePod, amount.List{"pods": 1 << 40}, start)
	b.Hold(key, bare, onePod, amount.List{"pods": 1 << 62}, start)
	got := total(b, share(), start.Add(time.Second))
	if got["pods"] != 1<<63-1 {
		t.Errorf("got %d", got["pods"])
	}
}
