// Package write holds what hub and agent both need to write objects.
package write

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conditionLimit keeps the message of a condition within its schema, and readable.
const conditionLimit = 4096

// MergePatch returns the JSON merge patch of a content. It carries no resourceVersion unless the content does.
func MergePatch(content map[string]any) (client.Patch, error) {
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

// JSONPatch returns the JSON patch of operations. The API server applies all of them or, where one cannot be, none.
func JSONPatch(operations ...Operation) (client.Patch, error) {
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

// Conditions replaces all conditions; one that is not wanted any longer goes.
func Conditions(into *[]metav1.Condition, wanted []metav1.Condition, generation int64, now time.Time) {
	*into = slices.DeleteFunc(*into, func(c metav1.Condition) bool { return apimeta.FindStatusCondition(wanted, c.Type) == nil })
	for _, c := range wanted {
		Condition(into, c, generation, now)
	}
}

// Condition sets one condition, and leaves the others.
func Condition(into *[]metav1.Condition, wanted metav1.Condition, generation int64, now time.Time) {
	wanted.Message = Truncated(wanted.Message, conditionLimit)
	wanted.ObservedGeneration = generation
	wanted.LastTransitionTime = metav1.NewTime(now)
	apimeta.SetStatusCondition(into, wanted)
}

// Truncated returns at most the first limit bytes of a text, and says so by dots.
func Truncated(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
