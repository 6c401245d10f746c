package hub

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/native/cases"
)

// generatedVariable says how many specs are compared, fewSpecs is how many without it.
const (
	generatedVariable = "FEDQUOTA_GENERATED_SPECS"
	fewSpecs          = 600
	seed              = 31
)

// stricter are words of the refusals of what native quota takes: it counts nothing under such a name, for such objects
// or so little, or cannot compute with so much.
var stricter = []string{
	"never counted", "no resource name that ResourceQuota counts", "less counts as nothing", "is too large", "nothing matches both", "does not apply to",
}

// TestAgainstNative has an API server judge generated specs of ResourceQuotas and of FederatedQuotas. What native quota
// refuses is refused on the same field, and what it takes is taken, unless it would not be enforced.
func TestAgainstNative(t *testing.T) {
	d := newDoor(t)
	n := fewSpecs
	if text := os.Getenv(generatedVariable); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		d.must(err)
	}
	both, neither, ours := 0, 0, map[string]int{}
	for _, spec := range cases.Generated(n, seed) {
		native, federated := d.judged("v1", "ResourceQuota", spec), d.judged("quota.fedquota.io/v1alpha1", "FederatedQuota", spec)
		text, err := json.Marshal(spec)
		d.must(err)
		switch {
		case len(native) == 0 && len(federated) == 0:
			both++
		case len(native) == 0:
			ours[d.stricter(string(text), federated)]++
		case !overlap(native, federated) && strings.Contains(lines(federated), "never counted"):
			ours["never counted, whatever the scope"]++ // whether a scope goes with such a name is not said
		case !overlap(native, federated):
			t.Errorf("%s: native quota refuses\n  %s\nand here is refused\n  %s", text, lines(native), lines(federated))
		default:
			neither++
		}
	}
	t.Logf("%d specs: %d taken by both, %d refused by both on the same field, refused here alone: %v", n, both, neither, ours)
	if both < n/10 || neither < n/10 {
		t.Error("the specs do not tell the two apart")
	}
}

// judged returns why the API server refuses an object of the spec, by field; nothing if it takes it.
func (d *door) judged(apiVersion, kind string, spec cases.NativeSpec) map[string]string {
	d.Helper()
	data, err := json.Marshal(spec)
	d.must(err)
	content := map[string]any{}
	d.must(json.Unmarshal(data, &content))
	if kind == "FederatedQuota" {
		content["placement"] = map[string]any{"clusters": []any{"nowhere"}}
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": content}}
	object.SetNamespace(d.namespace)
	object.SetName("compute")
	err = d.Create(d.Context(), object, client.DryRunAll)
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		if apierrors.IsBadRequest(err) { // what cannot be decoded is refused before it is judged
			return map[string]string{"spec": err.Error()}
		}
		d.Fatalf("%s: neither taken nor refused: %v", data, err)
	}
	causes := map[string]string{}
	for _, cause := range status.Status().Details.Causes {
		causes[cause.Field] = cause.Message
	}
	return causes
}

// stricter returns the words by which a refusal of what native quota takes is explained.
func (d *door) stricter(spec string, causes map[string]string) string {
	for _, words := range stricter {
		if strings.Contains(lines(causes), words) {
			return words
		}
	}
	d.Errorf("%s: native quota takes it, and here is refused\n  %s", spec, lines(causes))
	return "unexplained"
}

// overlap says whether one of the fields is in both, or within one of the other ones. Here the schema may name a whole
// list, and native quota does not say which of several expressions it means.
func overlap(a, b map[string]string) bool {
	for x := range a {
		for y := range b {
			if within(x, y) || within(y, x) {
				return true
			}
		}
	}
	return false
}

func within(inner, outer string) bool {
	return outer != "" && strings.HasPrefix(plain(inner), plain(outer))
}

var index = regexp.MustCompile(`\[\d+\]`)

// plain writes a field without indices, and a name of a list as the schema does.
func plain(field string) string {
	return strings.NewReplacer("[", ".", "]", "").Replace(index.ReplaceAllString(field, ""))
}

func lines(causes map[string]string) string {
	var all []string
	for field, message := range causes {
		all = append(all, field+": "+message)
	}
	slices.Sort(all)
	return strings.Join(all, "\n  ")
}
