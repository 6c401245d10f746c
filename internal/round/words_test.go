package round

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/fedquota/fedquota/internal/allocate"
)

// TestWords has words for each constant of the two closed sets, and none for what is in neither.
func TestWords(t *testing.T) {
	reasons, bounds := constantsOf(t, "../allocate/reason.go", "Reason"), constantsOf(t, "bound.go", "Bound")
	for _, reason := range reasons {
		if words := reasonWords[allocate.Reason(reason)]; words.Brief == "" || words.Sentence == "" {
			t.Errorf("no words for the reason %q", reason)
		}
	}
	bounds = slices.DeleteFunc(bounds, func(bound string) bool { return bound == string(BoundNone) }) // which says nothing
	for _, bound := range bounds {
		if words := boundWords[Bound(bound)]; words.Brief == "" {
			t.Errorf("no words for the bound %q", bound)
		}
	}
	if len(reasons) != len(reasonWords) || len(bounds)+1 != len(boundWords) {
		t.Errorf("%d reasons and %d bounds have %d and %d words", len(reasons), len(bounds), len(reasonWords), len(boundWords)-1)
	}
}

// TestWordsOfANewerVersion has what this version does not know be said as it is.
func TestWordsOfANewerVersion(t *testing.T) {
	if words := WordsOf("Whim"); words.Brief != "" || !strings.Contains(words.Sentence, "Whim") {
		t.Errorf("got %+v", words)
	}
	if sentence := Bound("Whim").Words().Sentence; !strings.Contains(sentence, "Whim") {
		t.Errorf("got %q", sentence)
	}
}

// constantsOf returns the values of the constants of a type that a file has.
func constantsOf(t *testing.T, file, of string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for node := range ast.Preorder(parsed) {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			continue
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == of {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				values = append(values, strings.Trim(value.Value, `"`))
			}
		}
	}
	return values
}
