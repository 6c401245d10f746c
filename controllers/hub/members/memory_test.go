package members

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestMemory(t *testing.T) {
	var memory Memory[int]
	if _, ok := memory.Get("east"); ok {
		t.Error("something is known before anything happened")
	}
	for _, member := range []string{"east", "west", "north"} {
		memory.With(member, func(n *int) { *n++ })
	}
	*memory.Of("west")++
	memory.Forget("north")
	known := map[string]int{}
	memory.Each(func(member string, n *int) { known[member] = *n })
	if diff := cmp.Diff(map[string]int{"east": 1, "west": 2}, known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	memory.Keep(sets.New("west", "south"))
	if _, ok := memory.Get("east"); ok {
		t.Error("one that is not kept is remembered")
	}
	if n, ok := memory.Get("west"); n != 2 || !ok {
		t.Errorf("got %d, %t of one that is kept", n, ok)
	}
}
