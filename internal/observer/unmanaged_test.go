package observer

import (
	"testing"

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
