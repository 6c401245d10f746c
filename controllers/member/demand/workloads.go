package demand

import (
	"context"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// +kubebuilder:rbac:groups="",resources=limitranges;pods,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets;statefulsets,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets/status;statefulsets/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch

// trim takes from a pod, LimitRange or workload what nobody here reads: demand can be told from little.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return trimPod(o), nil
	case *corev1.LimitRange:
		return &corev1.LimitRange{ObjectMeta: trimMeta(&o.ObjectMeta), Spec: o.Spec}, nil
	case *appsv1.ReplicaSet:
		return &appsv1.ReplicaSet{
			ObjectMeta: trimMeta(&o.ObjectMeta),
			Spec:       appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas, Template: trimTemplate(&o.Spec.Template, replicas(o.Spec.Replicas))},
			Status:     appsv1.ReplicaSetStatus{Conditions: o.Status.Conditions},
		}, nil
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{
			ObjectMeta: trimMeta(&o.ObjectMeta),
			Spec: appsv1.StatefulSetSpec{
				Replicas: o.Spec.Replicas, PodManagementPolicy: o.Spec.PodManagementPolicy,
				Template: trimTemplate(&o.Spec.Template, replicas(o.Spec.Replicas)),
			},
			Status: appsv1.StatefulSetStatus{Replicas: o.Status.Replicas, ReadyReplicas: o.Status.ReadyReplicas},
		}, nil
	case *batchv1.Job:
		return &batchv1.Job{
			ObjectMeta: trimMeta(&o.ObjectMeta),
			Spec: batchv1.JobSpec{
				Parallelism: o.Spec.Parallelism, Completions: o.Spec.Completions, Suspend: o.Spec.Suspend,
				PodReplacementPolicy: o.Spec.PodReplacementPolicy, ManagedBy: o.Spec.ManagedBy, Template: trimTemplate(&o.Spec.Template, jobPods(o)),
			},
			Status: batchv1.JobStatus{Succeeded: o.Status.Succeeded, FailedIndexes: o.Status.FailedIndexes, Conditions: o.Status.Conditions},
		}, nil
	default:
		return object, nil
	}
}

// trimPod keeps of the spec what a pod waits for that no node has room for.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{ObjectMeta: trimMeta(&pod.ObjectMeta), Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: unscheduled(pod)}}
	if len(trimmed.Status.Conditions) > 0 {
		trimmed.Spec = demand.TrimPodSpec(&pod.Spec)
	}
	return trimmed
}

func trimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		DeletionTimestamp: meta.DeletionTimestamp,
	}
	if controller := metav1.GetControllerOfNoCopy(meta); controller != nil {
		trimmed.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	return trimmed
}

// trimTemplate keeps of a template what is kept of its pods, with what they will request.
func trimTemplate(template *corev1.PodTemplateSpec, pods int64) corev1.PodTemplateSpec {
	if pods == 0 {
		return corev1.PodTemplateSpec{}
	}
	return corev1.PodTemplateSpec{Spec: demand.TrimPodSpec(nativequota.OfTemplate(&template.Spec))}
}

// unscheduled returns the condition that says that no node has room for a pod, if it has it.
func unscheduled(pod *corev1.Pod) []corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
			return []corev1.PodCondition{{
				Type: condition.Type, Status: condition.Status, Reason: condition.Reason, LastTransitionTime: condition.LastTransitionTime,
			}}
		}
	}
	return nil
}

func (d *Demand) set(ctx context.Context, object any) {
	now := d.Clock.Now()
	var changed bool
	switch o := object.(type) {
	case *corev1.Pod:
		changed = d.Book.SetPod(podOf(o), now)
	case *corev1.LimitRange:
		changed = d.Book.SetLimitRange(o.Namespace, o.Name, nativequota.DefaultsOf(o))
	default:
		workload, ok := workloadOf(object)
		changed = ok && d.Book.SetWorkload(workload, now)
	}
	if changed {
		d.reportNamespace(ctx, object.(client.Object).GetNamespace())
	}
}

func (d *Demand) unset(ctx context.Context, object any) {
	if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	last, ok := object.(client.Object)
	if !ok {
		return
	}
	changed := true
	switch object.(type) {
	case *corev1.Pod:
		changed = d.Book.DeletePod(last.GetNamespace(), last.GetUID(), d.Clock.Now())
	case *corev1.LimitRange:
		changed = d.Book.DeleteLimitRange(last.GetNamespace(), last.GetName())
	default:
		d.Book.DeleteWorkload(last.GetNamespace(), last.GetUID())
	}
	if changed {
		d.reportNamespace(ctx, last.GetNamespace())
	}
}

func podOf(pod *corev1.Pod) demand.Pod {
	p := demand.Pod{
		UID: pod.UID, Namespace: pod.Namespace,
		Ended:       pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Terminating: pod.DeletionTimestamp != nil,
	}
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		p.Owner = controller.UID
	}
	for _, condition := range unscheduled(pod) {
		p.Unschedulable, p.Shape = condition.LastTransitionTime.Time, demand.ShapeOf(&pod.Spec)
	}
	return p
}

// workloadOf returns what the book holds of a workload.
func workloadOf(object any) (demand.Workload, bool) {
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		w := newWorkload("ReplicaSet", o, replicas(o.Spec.Replicas), &o.Spec.Template)
		w.Blocked = true // until its controller says that it failed, it is still about to make its pods
		for _, condition := range o.Status.Conditions {
			if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
				// The message is of the first failure, whatever the later ones were, until the controller fails no more.
				w.Blocked, w.RefusedBy = false, exceeded(condition.Message)
			}
		}
		return w, true
	case *appsv1.StatefulSet:
		w := newWorkload("StatefulSet", o, replicas(o.Spec.Replicas), &o.Spec.Template)
		w.OneByOne = true
		w.Blocked = o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && o.Status.ReadyReplicas < o.Status.Replicas
		return w, true
	case *batchv1.Job:
		w := newWorkload("Job", o, jobPods(o), &o.Spec.Template)
		w.OneByOne = o.Spec.PodReplacementPolicy != nil && *o.Spec.PodReplacementPolicy == batchv1.Failed
		return w, true
	default:
		return demand.Workload{}, false
	}
}

// exceeded returns the name of the quota that a message says was exceeded, as the API server writes it, "" if there is
// none: the fence gives its reason in place of a name.
func exceeded(message string) string {
	_, rest, _ := strings.Cut(message, "exceeded quota: ")
	name, _, _ := strings.Cut(rest, ",")
	if strings.Contains(name, " ") {
		return ""
	}
	return name
}

func newWorkload(kind string, object client.Object, desired int64, template *corev1.PodTemplateSpec) demand.Workload {
	w := demand.Workload{
		Owner:     demand.Owner{Kind: kind, Name: object.GetName(), UID: object.GetUID()},
		Namespace: object.GetNamespace(),
	}
	if desired > 0 && object.GetDeletionTimestamp() == nil {
		w.Desired, w.Template = desired, &template.Spec
	}
	return w
}

func replicas(wanted *int32) int64 { return int64(ptr.Deref(wanted, 1)) }

// ends are the conditions of a Job that starts no more pods.
var ends = map[batchv1.JobConditionType]bool{
	batchv1.JobComplete: true, batchv1.JobSuccessCriteriaMet: true, batchv1.JobFailed: true, batchv1.JobFailureTarget: true,
}

// jobPods returns how many pods a Job wants to run now.
func jobPods(job *batchv1.Job) int64 {
	elsewhere := ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName // its pods are not made here
	if ptr.Deref(job.Spec.Suspend, false) || elsewhere {
		return 0
	}
	for _, condition := range job.Status.Conditions {
		if ends[condition.Type] && condition.Status == corev1.ConditionTrue {
			return 0
		}
	}
	pods := replicas(job.Spec.Parallelism)
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
