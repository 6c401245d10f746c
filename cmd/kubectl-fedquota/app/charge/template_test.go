package charge

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestPodsOfJobs has a Job want no more pods at once than it shall complete.
func TestPodsOfJobs(t *testing.T) {
	few := batchv1.JobSpec{Parallelism: new(int32(10)), Completions: new(int32(3))}
	for name, tc := range map[string]struct {
		object runtime.Object
		want   int32
	}{
		"fewer than at once":            {object: &batchv1.Job{Spec: few}, want: 3},
		"more than at once":             {object: &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(3))}}, want: 2},
		"as many as it takes":           {object: &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(10))}}, want: 10},
		"one":                           {object: &batchv1.Job{}, want: 1},
		"of a CronJob, fewer than that": {object: &batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: few}}}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got, ok := Template(tc.object); got != tc.want || !ok {
				t.Errorf("it wants %d pods (%t), want %d", got, ok, tc.want)
			}
		})
	}
}
