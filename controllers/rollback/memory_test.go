package rollback_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/controllers/rollback"
)

// listed is a list at a version of the store, with objects given as pairs of name and version.
func listed(version string, pairs ...string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for i := 0; i < len(pairs); i += 2 {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: pairs[i], ResourceVersion: pairs[i+1],
		}})
	}
	return list
}

func TestMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		lists []*metav1.PartialObjectMetadataList
		want  []bool
	}{
		"rises":                        {lists: []*metav1.PartialObjectMetadataList{listed("9"), listed("10"), listed("100")}, want: []bool{false, false, false}},
		"stands still":                 {lists: []*metav1.PartialObjectMetadataList{listed("9", "a", "5"), listed("9", "a", "5")}, want: []bool{false, false}},
		"went back":                    {lists: []*metav1.PartialObjectMetadataList{listed("10"), listed("9"), listed("9")}, want: []bool{false, true, false}},
		"went back and is ahead again": {lists: []*metav1.PartialObjectMetadataList{listed("10", "a", "8"), listed("11", "a", "7"), listed("12", "a", "7")}, want: []bool{false, true, false}},
		"another object":               {lists: []*metav1.PartialObjectMetadataList{listed("10", "a", "8"), listed("11", "b", "7")}, want: []bool{false, false}},
		"an object deleted and created again": {
			lists: []*metav1.PartialObjectMetadataList{listed("10", "a", "8"), listed("11"), listed("12", "a", "12")}, want: []bool{false, false, false},
		},
		"no versions": {lists: []*metav1.PartialObjectMetadataList{listed("abc"), listed(""), listed("0"), listed("5")}, want: []bool{false, false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var memory rollback.Memory
			for i, list := range tc.lists {
				if got := memory.Behind(list); got != tc.want[i] {
					t.Errorf("list %d: got %t, want %t", i, got, tc.want[i])
				}
			}
		})
	}
}

func TestMemoryExpects(t *testing.T) {
	for name, tc := range map[string]struct {
		expected string
		list     *metav1.PartialObjectMetadataList
		want     bool
	}{
		"as expected":            {expected: "8", list: listed("10", "a", "8")},
		"changed since":          {expected: "8", list: listed("10", "a", "9")},
		"the object went back":   {expected: "8", list: listed("10", "a", "7"), want: true},
		"the store went back":    {expected: "8", list: listed("7"), want: true},
		"deleted since":          {expected: "8", list: listed("10")},
		"lower than seen before": {expected: "3", list: listed("10", "a", "4"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var memory rollback.Memory
			memory.Behind(listed("5", "a", "5"))
			memory.Expect(types.NamespacedName{Namespace: "n", Name: "a"}, tc.expected)
			if got := memory.Behind(tc.list); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
