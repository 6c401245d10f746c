package member_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestBoundsOfTheAgent tries by the agent's account what its roles allow and it does not do: who steals its token can
// do no more.
func TestBoundsOfTheAgent(t *testing.T) {
	const (
		notAWorkload = "the agent writes the annotation quota.fedquota.io/poked of a workload, and nothing else"
		noSpec       = "the agent writes no spec of a QuotaShare"
	)
	for name, tc := range map[string]struct {
		patch   string
		refused string
	}{
		"wakes":                        {patch: `{"metadata":{"annotations":{"quota.fedquota.io/poked":"now"}}}`},
		"wakes and says that all runs": {patch: `{"metadata":{"annotations":{"quota.fedquota.io/poked":"now"}},"status":{"active":9,"ready":9,"replicas":9,"numberReady":9}}`, refused: notAWorkload},
		"annotates":                    {patch: `{"metadata":{"annotations":{"note":"a"}}}`, refused: notAWorkload},
		"takes an annotation off":      {patch: `{"metadata":{"annotations":{"kept":null}}}`, refused: notAWorkload},
		"labels":                       {patch: `{"metadata":{"labels":{"app":"other"}}}`, refused: notAWorkload},
		"takes a finalizer off":        {patch: `{"metadata":{"finalizers":null}}`, refused: notAWorkload},
		"disowns":                      {patch: `{"metadata":{"ownerReferences":null}}`, refused: notAWorkload},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			for _, workload := range workloads(namespace) {
				must(t, as(t, admin).Create(t.Context(), workload))
				c := client.NewDryRunClient(as(t, agent))
				got := refusal(t, c.Status().Patch(t.Context(), workload, client.RawPatch(types.MergePatchType, []byte(tc.patch))))
				if (tc.refused == "") != (got == "") || !strings.Contains(got, tc.refused) {
					t.Errorf("%T: refused for %q; want %q", workload, got, tc.refused)
				}
			}
		})
	}
	t.Run("a share, as if it were the hub", func(t *testing.T) {
		share := newShare(newNamespace(t))
		must(t, asHub(t).Create(t.Context(), share))
		c := client.WithFieldOwner(client.NewDryRunClient(as(t, agent)), "fedquota-hub")
		raiseShare(share)
		if got := refusal(t, patchShare(`{"spec":{"revision":6,"hard":{"pods":"99"}}}`)(t.Context(), c, share)); !strings.Contains(got, noSpec) {
			t.Errorf("refused for %q; want %q", got, noSpec)
		}
	})
}

// TestNotesOnNamespaces tries who may say what covers a namespace, and what else the agent may write there.
func TestNotesOnNamespaces(t *testing.T) {
	const (
		notTheNote = "the agent writes the annotation quota.fedquota.io/covered of a namespace, and nothing else"
		notTheirs  = "annotation quota.fedquota.io/covered is the agent's"
	)
	note := `{"metadata":{"annotations":{"quota.fedquota.io/covered":"BestEffort"}}}`
	for name, tc := range map[string]struct {
		by, in, patch string
		refused       string
	}{
		"the agent notes":                          {by: agent, patch: note},
		"the agent takes its note back":            {by: agent, patch: `{"metadata":{"annotations":{"quota.fedquota.io/covered":null}}}`},
		"the agent labels":                         {by: agent, patch: `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`, refused: notTheNote},
		"the agent labels its own":                 {by: agent, in: systemNamespace, patch: `{"metadata":{"labels":{"a":"b"}}}`, refused: notTheNote},
		"the agent annotates otherwise":            {by: agent, patch: `{"metadata":{"annotations":{"quota.fedquota.io/poked":"now"}}}`, refused: notTheNote},
		"an administrator labels":                  {by: admin, patch: `{"metadata":{"labels":{"a":"b"}}}`},
		"an administrator notes":                   {by: admin, patch: note, refused: notTheirs},
		"an administrator notes something else":    {by: admin, in: "noted", patch: `{"metadata":{"annotations":{"quota.fedquota.io/covered":"PriorityClass"}}}`, refused: notTheirs},
		"an administrator takes the note off":      {by: admin, in: "noted", patch: `{"metadata":{"annotations":null}}`},
		"an administrator labels what has a note":  {by: admin, in: "noted", patch: `{"metadata":{"labels":{"a":"b"}}}`},
		"an administrator writes what it is again": {by: admin, in: "noted", patch: note},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tc.in}}
			switch tc.in {
			case "":
				namespace.Name = newNamespace(t)
			case "noted":
				namespace.Name, namespace.GenerateName = "", "noted-"
				namespace.Annotations = map[string]string{"quota.fedquota.io/covered": "BestEffort"}
				must(t, as(t, admin).Create(t.Context(), namespace)) // as by restoring a backup
			}
			c := client.NewDryRunClient(as(t, tc.by))
			got := refusal(t, c.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(tc.patch))))
			if (tc.refused == "") != (got == "") || !strings.Contains(got, tc.refused) {
				t.Errorf("refused for %q; want %q", got, tc.refused)
			}
		})
	}
}

// workloads are what the agent wakes, each with metadata that is none of its business.
func workloads(namespace string) []client.Object {
	about := metav1.ObjectMeta{
		Namespace: namespace, Name: "web", Annotations: map[string]string{"kept": "a"}, Finalizers: []string{"example.com/kept"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: "web", UID: "u"}},
	}
	labels := map[string]string{"app": "web"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	once := template
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	return []client.Object{
		&appsv1.ReplicaSet{ObjectMeta: about, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}},
		&appsv1.StatefulSet{ObjectMeta: about, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}},
		&appsv1.DaemonSet{ObjectMeta: about, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}},
		&corev1.ReplicationController{ObjectMeta: about, Spec: corev1.ReplicationControllerSpec{Selector: labels, Template: &template}},
		&batchv1.Job{ObjectMeta: about, Spec: batchv1.JobSpec{Template: once}},
	}
}
