package v1alpha1_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"
)

// quantityPattern returns the pattern of all quantities in the CRDs.
func quantityPattern(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdFolder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	patterns := sets.New[string]()
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // a file of the project
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`pattern: (.*[mK].*[mK].*)`).FindAllSubmatch(content, -1) {
			patterns.Insert(string(found[1]))
		}
	}
	if patterns.Len() != 1 {
		t.Fatalf("quantities have the patterns %q, want one", sets.List(patterns))
	}
	return sets.List(patterns)[0]
}

// TestQuantitiesParse has the API server take no quantity that cannot be read: its object would end every watch of its
// kind.
func TestQuantitiesParse(t *testing.T) {
	text := rapid.StringMatching(quantityPattern(t))
	rapid.Check(t, func(t *rapid.T) {
		if _, err := resource.ParseQuantity(text.Draw(t, "text")); err != nil {
			t.Fatal(err)
		}
	})
}

func TestQuantityPattern(t *testing.T) {
	pattern := regexp.MustCompile(quantityPattern(t))
	for text, want := range map[string]bool{
		"0": true, "24": true, "-1": true, "+1": true, "1.5": true, ".5": true, "1.": true, "1500m": true, "400Gi": true, "10Ei": true, "2E": true, "1n": true,
		"12e6": true, "1E-3": true, "100000000000000000000000000": true,
		"": false, "ten": false, "1e1.5": false, "+.5e.5": false, "1e100": false, "1e99999999999999999999": false, "1 Gi": false, "1gi": false, ".": false,
	} {
		if got := pattern.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
