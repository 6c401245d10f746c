//go:build e2e

package native_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// lack is something that Kubernetes serves by default from some version on.
type lack struct {
	// since is that version, of 1.
	since int
	// what it is, for people.
	what string
	// needs says which rows need it.
	needs func(*row) bool
	// told is the condition by which the product says on the hub that the members have none of it, or empty where
	// nothing of the budget depends on it, and words are in its message.
	told, words string
}

// lacks begin with what is told.
var lacks = []lack{
	{
		since: 34, what: "`ResourceClaim`s in `resource.k8s.io/v1`", told: quotav1alpha1.ConditionKindNotServed, words: "serves no kind",
		needs: func(r *row) bool {
			return strings.Contains(r.object, "resource.k8s.io/v1") && !strings.HasPrefix(r.name, "requests.")
		},
	},
	{
		since: 33, what: "scope `VolumeAttributesClass`", told: quotav1alpha1.ConditionMemberNotReady, words: `"VolumeAttributesClass"`,
		needs: scopedByAttributes,
	},
	{since: 34, what: "volume attributes classes", needs: scopedByAttributes},
	{
		since: 35, what: "device classes as resources of pods", told: quotav1alpha1.ConditionKindNotServed, words: "serves no kind",
		needs: func(r *row) bool { return r.name == "requests.deviceclass.resource.kubernetes.io/gpu" },
	},
	{since: 36, what: "extended resources of device classes", needs: func(r *row) bool { return strings.HasSuffix(r.name, "/mapped") }},
	{since: 36, what: "`MutatingAdmissionPolicy`", needs: func(r *row) bool { return strings.Contains(r.object, "mutated: please") }},
	{since: 36, what: "resizes of a whole pod", needs: func(r *row) bool { return r.what == "a pod is resized as a whole" }},
	{since: 34, what: "requests of a whole pod", needs: func(r *row) bool { return strings.Contains(r.object, "spec: {resources: ") }},
	{since: 33, what: "resizes in place", needs: func(r *row) bool { return strings.Contains(r.what, "pod is resized") }},
}

func scopedByAttributes(r *row) bool { return strings.Contains(r.spec, "VolumeAttributesClass") }

// lacking returns the first thing that a row needs and the older one of the members does not have.
func (w *world) lacking(r *row) *lack {
	for i := range lacks {
		if lacks[i].since > w.minor && lacks[i].needs(r) {
			return &lacks[i]
		}
	}
	return nil
}

// leaveOut sees what the product says of a row that cannot be played, and leaves it out.
func (s *scene) leaveOut(l *lack) {
	s.Helper()
	if l.told == "" {
		s.Skipf("LESS: %s: nothing to tell", l.what)
	}
	fq := s.create(budgetName, s.spec, s.charge(2, 2))
	message := ""
	s.eventually("the budget to say what is not there", func(ctx context.Context) error {
		if err := s.clients[hub].Get(ctx, s.key(fq.Name), fq); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(fq.Status.Conditions, l.told)
		if c == nil || !strings.Contains(c.Message, l.words) {
			return fmt.Errorf("no condition %s of %s: %v", l.told, l.words, fq.Status.Conditions)
		}
		message = c.Message
		return nil
	})
	s.Skipf("LESS: %s: %s: %s", l.what, l.told, message)
}

// minorOf returns the version of a control plane, of 1.
func (w *world) minorOf(c *fleet.ControlPlane) int {
	w.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	w.must(err)
	version, err := client.ServerVersion()
	w.must(err)
	minor, err := strconv.Atoi(version.Minor)
	w.must(err)
	return minor
}
