package nativequota_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/nativequota"
)

// unstated are pods in a quota of pods, requests.cpu and limits.memory, and the names for which it refuses them.
var unstated = map[string]struct{ pod, names string }{
	"all is stated":                {pod: `{containers: [{name: a, image: i, resources: {requests: {cpu: 1}, limits: {memory: 1Gi}}}]}`},
	"a limit stands for a request": {pod: `{containers: [{name: a, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}]}`},
	"nothing is asked for":         {pod: `{containers: [{name: a, image: i, resources: {requests: {cpu: 0}, limits: {memory: 1Gi}}}]}`},
	"nothing is stated":            {pod: `{containers: [{name: a, image: i}]}`, names: "limits.memory requests.cpu"},
	"one container of two states nothing": {
		pod: `{containers: [{name: a, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: b, image: i}]}`, names: "limits.memory requests.cpu",
	},
	"an init container states no limit": {
		pod:   `{initContainers: [{name: i, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}], containers: [{name: a, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}]}`,
		names: "limits.memory",
	},
	"something is stated for the whole": {pod: `{resources: {requests: {cpu: 1}}, containers: [{name: a, image: i}]}`},
}

// testUnstated has native quota refuse pods for what they do not state.
func testUnstated(t *testing.T, c cluster) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "unstated", Name: "quota"}}
	quota.Spec.Hard = corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"pods", "requests.cpu", "limits.memory"} {
		quota.Spec.Hard[name] = resource.MustParse("1T")
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unstated"}}, quota} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	quota = c.counted(t, "unstated")
	for name, tc := range unstated {
		t.Run("unstated, "+name, func(t *testing.T) {
			object, _ := decode(t, "kind: Pod\nspec: "+tc.pod)
			pod := object.(*corev1.Pod)
			made := &corev1.Pod{Spec: *nativequota.OfTemplate(&pod.Spec)}
			if diff := cmp.Diff(tc.names, strings.Trim(fmt.Sprint(nativequota.Unstated(made, &quota.Spec, quota.Status.Hard)), "[]")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			pod.Namespace, pod.GenerateName = "unstated", "pod-"
			refused := c.refusal(t, pod)
			if (refused != "") != (tc.names != "") {
				t.Errorf("refused: %q", refused)
			}
			for name := range strings.FieldsSeq(tc.names) {
				if !strings.Contains(refused, name+" for: ") {
					t.Errorf("it is not refused for %s: %s", name, refused)
				}
			}
		})
	}
}

// refusal returns why the API server would not create a pod, once its namespace has its service account.
func (c cluster) refusal(t *testing.T, pod *corev1.Pod) (why string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		why = ""
		if err := c.Create(ctx, pod.DeepCopy(), client.DryRunAll); err != nil {
			why = err.Error()
		}
		return !strings.Contains(why, "service account"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return why
}
