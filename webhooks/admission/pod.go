package admission

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newPod is what is read of a pod that is to be created: its owner, and what its cost, the scopes and its signature
// depend on. The whole takes longer to read than to judge, and every request that fits waits for it.
type newPod struct {
	Metadata newMetadata `json:"metadata"`
	Spec     newSpec     `json:"spec"`
}

type newMetadata struct {
	GenerateName    string                  `json:"generateName"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
}

type newSpec struct {
	InitContainers            []newContainer                    `json:"initContainers"`
	Containers                []newContainer                    `json:"containers"`
	Resources                 *corev1.ResourceRequirements      `json:"resources"`
	Overhead                  corev1.ResourceList               `json:"overhead"`
	ActiveDeadlineSeconds     *int64                            `json:"activeDeadlineSeconds"`
	PriorityClassName         string                            `json:"priorityClassName"`
	NodeSelector              map[string]string                 `json:"nodeSelector"`
	Affinity                  *corev1.Affinity                  `json:"affinity"`
	Tolerations               []corev1.Toleration               `json:"tolerations"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	Volumes                   []newVolume                       `json:"volumes"`
	SchedulerName             string                            `json:"schedulerName"`
	ResourceClaims            []corev1.PodResourceClaim         `json:"resourceClaims"`
}

type newContainer struct {
	Name          string                         `json:"name"`
	Resources     corev1.ResourceRequirements    `json:"resources"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
	Ports         []corev1.ContainerPort         `json:"ports"`
}

type newVolume struct {
	Claim     *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim"`
	Ephemeral *corev1.EphemeralVolumeSource             `json:"ephemeral"`
}

// readNewPod reads a pod that is to be created.
func readNewPod(raw []byte) (*corev1.Pod, error) {
	var read newPod
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: read.Metadata.GenerateName, OwnerReferences: read.Metadata.OwnerReferences,
		},
		Spec: corev1.PodSpec{
			InitContainers:            containers(read.Spec.InitContainers),
			Containers:                containers(read.Spec.Containers),
			Resources:                 read.Spec.Resources,
			Overhead:                  read.Spec.Overhead,
			ActiveDeadlineSeconds:     read.Spec.ActiveDeadlineSeconds,
			PriorityClassName:         read.Spec.PriorityClassName,
			NodeSelector:              read.Spec.NodeSelector,
			Affinity:                  read.Spec.Affinity,
			Tolerations:               read.Spec.Tolerations,
			TopologySpreadConstraints: read.Spec.TopologySpreadConstraints,
			SchedulerName:             read.Spec.SchedulerName,
			ResourceClaims:            read.Spec.ResourceClaims,
		},
	}
	for _, volume := range read.Spec.Volumes {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: volume.Claim, Ephemeral: volume.Ephemeral,
		}})
	}
	return pod, nil
}

func containers(read []newContainer) []corev1.Container {
	list := make([]corev1.Container, len(read))
	for i, c := range read {
		list[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy, Ports: c.Ports}
	}
	return list
}
