// Package patches makes the patches that hub and agent write.
package patches

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge returns the JSON merge patch of a content. It carries no resourceVersion unless the content does.
func Merge(content map[string]any) (client.Patch, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding a merge patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// Operation is one of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// JSON returns the JSON patch of operations. The API server applies all of them or, where one cannot be, none.
func JSON(operations ...Operation) (client.Patch, error) {
	data, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encoding a JSON patch: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, data), nil
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
