// Package predicates says which events concern controllers.
package predicates

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Changed lets through updates of an object that is another one than before, in its spec or its finalizers, by its
// deletion, or altogether. The generation alone does not tell: in a store that went back it counts anew, and may come
// to be what a cache has seen.
func Changed[T client.Object](spec func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
			!before.GetDeletionTimestamp().
				Equal(after.GetDeletionTimestamp()) ||
			!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
			!equality.Semantic.DeepEqual(spec(before.(T)), spec(after.(T)))
	}}
}
