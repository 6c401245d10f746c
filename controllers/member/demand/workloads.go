package demand

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// +kubebuilder:rbac:groups="",resources=limitranges;nodes;pods;replicationcontrollers,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=replicationcontrollers/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=daemonsets;replicasets;statefulsets,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets/status;replicasets/status;statefulsets/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch

// podOf returns what the book holds of a pod.
func podOf(pod *corev1.Pod) demand.Pod {
	p := demand.Pod{
		UID: pod.UID, Namespace: pod.Namespace,
		Ended:       pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Terminating: pod.DeletionTimestamp != nil,
	}
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		p.Owner = controller.UID
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type != corev1.PodScheduled || condition.Status != corev1.ConditionFalse {
			continue
		}
		p.Unplaced, p.Spec = condition.LastTransitionTime.Time, new(signature.TrimPodSpec(&pod.Spec))
		if condition.Reason == corev1.PodReasonUnschedulable {
			p.Unschedulable, p.Signature = condition.LastTransitionTime.Time, signature.Of(&pod.Spec)
			p.Grouped = grouped(pod)
		}
	}
	return p
}

// groups are the labels and annotations by which schedulers know pods that they place together or not at all: those of
// scheduler-plugins, Koordinator, Volcano, KAI and YuniKorn.
var groups = []string{
	"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "gang.scheduling.koordinator.sh/name",
	"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name",
	"yunikorn.apache.org/task-group-name",
}

// grouped says whether a scheduler places a pod together with others or not at all.
func grouped(pod *corev1.Pod) bool {
	return pod.Spec.SchedulingGroup != nil || slices.ContainsFunc(groups, func(key string) bool {
		return pod.Labels[key] != "" || pod.Annotations[key] != ""
	})
}

// workloadOf returns what the book holds of a workload.
func workloadOf(object any) (demand.Workload, bool) {
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		w := newWorkload("ReplicaSet", o, replicas(o.Spec.Replicas), &o.Spec.Template)
		w.Rollout = rolloutOfSet(o)
		w.Blocked = true
		for _, c := range o.Status.Conditions {
			noteFailure(&w, string(c.Type), c.Status, c.Message)
		}
		return w, true
	case *corev1.ReplicationController: // its controller is that of ReplicaSets
		w := newWorkload("ReplicationController", o, replicas(o.Spec.Replicas), o.Spec.Template)
		w.Blocked = true
		for _, c := range o.Status.Conditions {
			noteFailure(&w, string(c.Type), c.Status, c.Message)
		}
		return w, true
	case *appsv1.DaemonSet:
		w := newWorkload("DaemonSet", o, int64(o.Status.DesiredNumberScheduled), &o.Spec.Template)
		w.OneByOne, w.Placed = true, true
		w.Rollout = rolloutOf(o, w.Desired, replacesDaemons(o))
		return w, true
	case *appsv1.StatefulSet:
		w := newWorkload("StatefulSet", o, replicas(o.Spec.Replicas), &o.Spec.Template)
		w.OneByOne = true
		for i := range o.Spec.VolumeClaimTemplates {
			w.Claims = append(w.Claims, o.Spec.VolumeClaimTemplates[i].Name)
		}
		w.Rollout = rolloutOf(o, w.Desired, replacesStateful(o))
		w.Blocked = o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && o.Status.ReadyReplicas < o.Status.Replicas
		return w, true
	case *batchv1.Job:
		until, _ := demand.Statement(o)
		w := newWorkload("Job", o, demand.JobPods(o, !until.IsZero()), &o.Spec.Template)
		w.StatedUntil = until
		w.OneByOne = o.Spec.PodReplacementPolicy != nil && *o.Spec.PodReplacementPolicy == batchv1.Failed
		return w, true
	default:
		return demand.Workload{}, false
	}
}

// numbers are the annotations by which those who make ReplicaSets number them, and say how many pods they want of all.
var numbers = []struct{ revision, pods string }{
	{"deployment.kubernetes.io/revision", "deployment.kubernetes.io/desired-replicas"},
	{"rollout.argoproj.io/revision", "rollout.argoproj.io/desired-replicas"},
}

// rolloutOfSet returns whose pods a ReplicaSet makes. One that is being deleted replaces none.
func rolloutOfSet(set *appsv1.ReplicaSet) demand.Rollout {
	controller := metav1.GetControllerOfNoCopy(set)
	if controller == nil || set.DeletionTimestamp != nil {
		return demand.Rollout{}
	}
	rollout := demand.Rollout{Of: controller.UID}
	for _, annotations := range numbers {
		if n, err := strconv.ParseInt(set.Annotations[annotations.revision], 10, 64); err == nil {
			rollout.Revision = n
		}
		if n, err := strconv.ParseInt(set.Annotations[annotations.pods], 10, 32); err == nil {
			rollout.Pods = new(max(0, n))
		}
	}
	return rollout
}

// rolloutOf is that of a workload that replaces its pods itself.
func rolloutOf(object client.Object, pods int64, within bool) demand.Rollout {
	if object.GetDeletionTimestamp() != nil {
		return demand.Rollout{}
	}
	return demand.Rollout{Of: object.GetUID(), Pods: new(pods), Within: within}
}

// replacesDaemons says whether a DaemonSet is replacing pods of an earlier template. One whose spec was not looked at
// yet may be about to: its status follows the first pods that end.
func replacesDaemons(set *appsv1.DaemonSet) bool {
	outdated := set.Status.UpdatedNumberScheduled < set.Status.DesiredNumberScheduled
	return set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType &&
		(set.Generation != set.Status.ObservedGeneration || outdated)
}

// replacesStateful says the same of a StatefulSet. A partition keeps some as they are.
func replacesStateful(set *appsv1.StatefulSet) bool {
	updated := replicas(set.Spec.Replicas)
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		updated -= int64(ptr.Deref(rolling.Partition, 0))
	}
	outdated := set.Status.UpdateRevision != set.Status.CurrentRevision && int64(set.Status.UpdatedReplicas) < updated
	return set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		(set.Generation != set.Status.ObservedGeneration || outdated)
}

// noteFailure takes a condition of a ReplicaSet, or of a ReplicationController: until their controller says that it
// failed, it is still about to make its pods. The message is of the first failure, whatever the later ones were, until
// the controller fails no more.
func noteFailure(w *demand.Workload, condition string, status corev1.ConditionStatus, message string) {
	if condition == string(appsv1.ReplicaSetReplicaFailure) && status == corev1.ConditionTrue {
		w.Blocked, w.RefusedBy = false, exceeded(message)
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
	if desired > 0 && template != nil && object.GetDeletionTimestamp() == nil {
		w.Desired, w.Template = desired, new(signature.TrimPodSpec(nativequota.OfTemplate(&template.Spec)))
	}
	return w
}

func replicas(wanted *int32) int64 { return int64(ptr.Deref(wanted, 1)) }
