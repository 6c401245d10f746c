package why

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestMissing counts the pods that a workload lacks, of which one runs and one is being deleted.
func TestMissing(t *testing.T) {
	job := func(spec batchv1.JobSpec, status batchv1.JobStatus) client.Object {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "web"}, Spec: spec, Status: status}
	}
	owned := []metav1.OwnerReference{{UID: "web", Controller: new(true)}}
	pods := []client.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web-1", OwnerReferences: owned}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "web-2", OwnerReferences: owned, DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"example.com/hold"},
		}},
	}
	failed := []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	for name, tc := range map[string]struct {
		object client.Object
		want   int
	}{
		"a ReplicaSet makes another one at once": {object: &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))},
		}, want: 2},
		"a StatefulSet waits until it is gone": {object: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))},
		}, want: 1},
		"a DaemonSet waits until it is gone": {object: &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "web"}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 3},
		}, want: 1},
		"a ReplicationController makes another one at once": {object: &corev1.ReplicationController{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "web"},
			Spec:       corev1.ReplicationControllerSpec{Replicas: new(int32(3)), Template: &corev1.PodTemplateSpec{}},
		}, want: 2},
		"a Job makes another one at once": {object: job(batchv1.JobSpec{Parallelism: new(int32(3))}, batchv1.JobStatus{}), want: 2},
		"a Job that waits until it is gone": {
			object: job(batchv1.JobSpec{Parallelism: new(int32(3)), PodReplacementPolicy: new(batchv1.Failed)}, batchv1.JobStatus{}), want: 1,
		},
		"a Job that is almost complete": {
			object: job(batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(9))}, batchv1.JobStatus{Succeeded: 7}), want: 1,
		},
		"a Job that has failed": {object: job(batchv1.JobSpec{Parallelism: new(int32(3))}, batchv1.JobStatus{Conditions: failed})},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := subjectOf(t.Context(), fake.NewClientBuilder().WithObjects(pods...).Build(), tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.missing(); got != tc.want {
				t.Errorf("it lacks %d pods, want %d", got, tc.want)
			}
		})
	}
}
