package demand

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// jobEnds are the conditions of a Job that starts no more pods.
var jobEnds = map[batchv1.JobConditionType]bool{
	batchv1.JobComplete: true, batchv1.JobSuccessCriteriaMet: true, batchv1.JobFailed: true,
	batchv1.JobFailureTarget: true,
}

// JobPods returns how many pods a Job wants to run now. A suspended one wants none, unless it states that it does.
func JobPods(job *batchv1.Job, states bool) int64 {
	elsewhere := ptr.Deref(
		job.Spec.ManagedBy, batchv1.JobControllerName,
	) != batchv1.JobControllerName // its pods are not made here
	if ptr.Deref(job.Spec.Suspend, false) && !states || elsewhere {
		return 0
	}
	for _, condition := range job.Status.Conditions {
		if jobEnds[condition.Type] && condition.Status == corev1.ConditionTrue {
			return 0
		}
	}
	pods := int64(ptr.Deref(job.Spec.Parallelism, 1))
	switch {
	case job.Spec.Completions != nil:
		return min(pods, max(0, int64(*job.Spec.Completions-job.Status.Succeeded)-failedIndexes(job)))
	case job.Status.Succeeded > 0:
		return 0 // one success is enough: those that run go on, and no more are started
	default:
		return pods
	}
}

// failedIndexes returns how many indexes of a Job have failed for good, as in "1,3-5".
func failedIndexes(job *batchv1.Job) int64 {
	if job.Status.FailedIndexes == nil {
		return 0
	}
	failed := int64(0)
	for interval := range strings.SplitSeq(*job.Status.FailedIndexes, ",") {
		first, last, several := strings.Cut(interval, "-")
		from, err := strconv.ParseInt(first, 10, 32)
		to := from
		if several && err == nil {
			to, err = strconv.ParseInt(last, 10, 32)
		}
		if err == nil {
			failed += to - from + 1
		}
	}
	return failed
}
