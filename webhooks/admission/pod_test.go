package admission

import (
	"encoding/json"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fedquota/fedquota/internal/demand/signature"
)

// TestReadNewPod shows that nothing is left out of pods that their cost, their scopes or their signature depend on.
func TestReadNewPod(t *testing.T) {
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(clientgoscheme.Scheme)).NilChance(.3)
	for range 300 {
		var random, whole corev1.Pod
		fill.Fill(&random)
		raw, err := json.Marshal(random)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &whole); err != nil {
			t.Fatal(err)
		}
		read, err := readNewPod(raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(signature.TrimPodSpec(&whole.Spec), signature.TrimPodSpec(&read.Spec)); diff != "" {
			t.Fatalf("of %s (-whole +read):\n%s", raw, diff)
		}
		if diff := cmp.Diff(whole.OwnerReferences, read.OwnerReferences); diff != "" {
			t.Fatalf("owners (-whole +read):\n%s", diff)
		}
		if read.GenerateName != whole.GenerateName {
			t.Fatalf("got generateName %q, want %q", read.GenerateName, whole.GenerateName)
		}
	}
}
