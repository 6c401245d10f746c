package observer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// testUnmanaged adds up what nobody manages, where that is asked for.
func testUnmanaged(t *testing.T, members map[string]*realMember) {
	namespaces(t, members, "unmanaged")
	options := Options{Members: map[string]*rest.Config{}, Namespace: "unmanaged", Name: "compute", Budget: amounts("pods=10")}
	for name, m := range members {
		options.Members[name] = m.config
	}
	for unmanaged, excesses := range map[bool]int{false: 0, true: 1} {
		options.Unmanaged = unmanaged
		o, err := Watch(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Stop() })
		defer func() {
			judged(t, o)
			if confirmed := o.Stop().Resources[0].Confirmed; confirmed != excesses {
				t.Errorf("unmanaged %t: %d proved excesses, want %d", unmanaged, confirmed, excesses)
			}
		}()
	}
	for _, m := range members {
		m.createAs(t.Context(), t, makeQuota(0).Unmanaged(), "unmanaged", "pods=6", "pods=0")
	}
}

// testVersions tells of each version that a member had, in order.
func testVersions(t *testing.T, members map[string]*realMember) {
	namespaces(t, members, "versions")
	var seen []Version
	options := Options{Members: map[string]*rest.Config{"a": members["a"].config}, Namespace: "versions", Name: "compute", OnVersion: func(v Version) { seen = append(seen, v) }}
	o, err := Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Stop() })
	members["a"].create(t.Context(), t, "versions", "pods=6", "pods=3")
	if err := o.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range seen {
		held, used := v.Held("pods"), v.Used["pods"]
		got = append(got, held.String()+" "+used.String())
	}
	// Not there, without its status, and as it is.
	if diff := cmp.Diff([]string{"0 0", "0 0", "6 3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
