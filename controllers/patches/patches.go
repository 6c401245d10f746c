// Package patches makes the patches that hub and agent write.
package patches

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge is the content of a JSON merge patch. It carries no resourceVersion unless that is in it.
type Merge map[string]any

// Type implements client.Patch.
func (Merge) Type() types.PatchType { return types.MergePatchType }

// Data implements client.Patch.
func (m Merge) Data(client.Object) ([]byte, error) { return json.Marshal(m) }

// Operation is one of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// JSON is a JSON patch. The API server applies all of its operations or, where one cannot be, none.
type JSON []Operation

// Type implements client.Patch.
func (JSON) Type() types.PatchType { return types.JSONPatchType }

// Data implements client.Patch.
func (j JSON) Data(client.Object) ([]byte, error) { return json.Marshal(j) }

// Applied is a server-side apply of the object that it is called with.
type Applied struct{}

// Type implements client.Patch.
func (Applied) Type() types.PatchType { return types.ApplyPatchType }

// Data implements client.Patch.
func (Applied) Data(object client.Object) ([]byte, error) { return json.Marshal(object) }

// Since returns the merge patch of what has changed of an object since it was as before. It conflicts if somebody else
// has written the object by then, since it replaces whole lists.
func Since(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Pointer returns the path of a field, as JSON patches write it.
func Pointer(fields ...string) string {
	var path strings.Builder
	for _, field := range fields {
		path.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field))
	}
	return path.String()
}

// Replacing returns the merge patch of a map that turns old into list.
func Replacing(old, list corev1.ResourceList) map[string]any {
	patch := make(map[string]any, len(list))
	for name := range old {
		patch[string(name)] = nil
	}
	for name, limit := range list {
		patch[string(name)] = limit
	}
	return patch
}
