// Package rollback notices that the store behind an API server was put back to an earlier state, as by the restore of a
// snapshot of its etcd.
//
// Watches do not notice: one that goes on from a resourceVersion which has not happened yet is silent until it has, and
// a cache that is fed by it shows what is no more. But the resourceVersions of one store only ever rise, and so does
// the one of an object. A consistent read, whichever of several API servers answers it, that shows a lower one than an
// earlier read did is a proof. Readers that lag are no false alarm: no cache is read.
package rollback

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Memory is the resourceVersions that were seen last of one store. Its zero value is ready to use, by one goroutine at
// a time.
type Memory struct {
	store   string
	objects map[types.NamespacedName]string
}

// Behind takes a list of one kind that was read consistently, after all that were taken before. It says whether the
// store went back since the last one.
func (m *Memory) Behind(list *metav1.PartialObjectMetadataList) bool {
	behind := lower(list.ResourceVersion, m.store)
	objects := make(map[types.NamespacedName]string, len(list.Items))
	for i := range list.Items {
		key := types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}
		objects[key] = list.Items[i].ResourceVersion
		behind = behind || lower(objects[key], m.objects[key])
	}
	m.store, m.objects = list.ResourceVersion, objects
	return behind
}

// BehindPart is Behind for a list from which objects may be missing. What is not in it is remembered on.
func (m *Memory) BehindPart(list *metav1.PartialObjectMetadataList) bool {
	behind := lower(list.ResourceVersion, m.store)
	m.store = list.ResourceVersion
	for i := range list.Items {
		key := types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}
		behind = behind || lower(list.Items[i].ResourceVersion, m.objects[key])
		if m.objects == nil {
			m.objects = map[types.NamespacedName]string{}
		}
		m.objects[key] = list.Items[i].ResourceVersion
	}
	return behind
}

// Expect takes the resourceVersion of an object that was seen elsewhere, in a cache or in the answer to a write, before
// the next list is read: a store that has forgotten it went back.
func (m *Memory) Expect(object types.NamespacedName, version string) {
	if m.objects == nil {
		m.objects = map[types.NamespacedName]string{}
	}
	m.objects[object] = Higher(m.objects[object], version)
	m.Reached(version)
}

// Reached takes the resourceVersion of any object that was seen elsewhere, before the next list is read.
func (m *Memory) Reached(version string) { m.store = Higher(m.store, version) }

// Higher returns the second version if it is known to be the higher one, or there is no other.
func Higher(seen, version string) string {
	if seen == "" || lower(seen, version) {
		return version
	}
	return seen
}

// lower says whether version is known to be lower than seen. What is no resourceVersion says nothing.
func lower(version, seen string) bool {
	order, err := resourceversion.CompareResourceVersion(version, seen)
	return err == nil && order < 0
}
