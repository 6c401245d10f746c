package nodegroup

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// The annotations by which the cluster autoscaler is told what a machine has, and which labels its node, for a group
// that has no node yet.
const (
	CPUAnnotation           = "capacity.cluster-autoscaler.kubernetes.io/cpu"
	MemoryAnnotation        = "capacity.cluster-autoscaler.kubernetes.io/memory"
	EphemeralDiskAnnotation = "capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk"
	MaxPodsAnnotation       = "capacity.cluster-autoscaler.kubernetes.io/maxPods"
	GPUTypeAnnotation       = "capacity.cluster-autoscaler.kubernetes.io/gpu-type"
	GPUCountAnnotation      = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
	LabelsAnnotation        = "capacity.cluster-autoscaler.kubernetes.io/labels"
)

// The values of the annotation by which a Cluster states itself what nodes may come to it.
const (
	GrowthNone = "none"
	GrowthAny  = "any"
)

// stated are the annotations that state a quantity of one name, in the order in which errors name them.
var stated = []struct {
	annotation string
	name       corev1.ResourceName
}{
	{CPUAnnotation, corev1.ResourceCPU},
	{MemoryAnnotation, corev1.ResourceMemory},
	{EphemeralDiskAnnotation, corev1.ResourceEphemeralStorage},
	{MaxPodsAnnotation, corev1.ResourcePods},
}

// defaultPods is how many pods a node takes of which nothing else is said.
const defaultPods = 110

// of returns where an annotation is.
func of(annotation string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(annotation)
}

// bounds returns those that both annotations state, nil if neither is there or one is not understood.
func bounds(annotations map[string]string) (*Bounds, field.ErrorList) {
	low, hasLow := annotations[clusterv1.AutoscalerMinSizeAnnotation]
	high, hasHigh := annotations[clusterv1.AutoscalerMaxSizeAnnotation]
	if !hasLow && !hasHigh {
		return nil, nil
	}
	b, errs := &Bounds{}, field.ErrorList{}
	size := func(annotation, value string, there bool, to *int32) {
		n, err := strconv.ParseInt(value, 10, 32)
		switch {
		case !there:
			errs = append(errs, field.Required(of(annotation), "must be there, since the other bound is"))
		case err != nil || n < 0:
			errs = append(errs, field.Invalid(of(annotation), value, "must be an integer of 0 or more"))
		}
		*to = int32(n)
	}
	size(clusterv1.AutoscalerMinSizeAnnotation, low, hasLow, &b.Min)
	size(clusterv1.AutoscalerMaxSizeAnnotation, high, hasHigh, &b.Max)
	if len(errs) == 0 && b.Min > b.Max {
		errs = append(errs, field.Invalid(of(clusterv1.AutoscalerMaxSizeAnnotation), high,
			"must be at least the minimum of "+low))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return b, nil
}

// machine returns what one machine has, by the annotations and by the template for names that these leave out; nil if
// cpu or memory is not known, or an annotation is not understood.
func machine(annotations map[string]string, template corev1.ResourceList) (corev1.ResourceList, field.ErrorList) {
	m := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(defaultPods, resource.DecimalSI)}
	maps.Copy(m, template)
	var errs field.ErrorList
	for _, a := range stated {
		if value, there := annotations[a.annotation]; there {
			m[a.name] = parsed(a.annotation, value, &errs)
		}
	}
	gpus(annotations, m, &errs)
	_, cpu := m[corev1.ResourceCPU]
	_, memory := m[corev1.ResourceMemory]
	if !cpu || !memory {
		return nil, append(errs, missing(annotations, cpu, memory)...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return m, nil
}

// parsed returns the quantity that an annotation states.
func parsed(annotation, value string, errs *field.ErrorList) resource.Quantity {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() < 0 {
		*errs = append(*errs, field.Invalid(of(annotation), value, "must be a quantity of 0 or more, such as 8 or 32Gi"))
	}
	return q
}

// gpus notes those that a machine has. They count with both annotations only; the type is their resource name.
func gpus(annotations map[string]string, m corev1.ResourceList, errs *field.ErrorList) {
	kind, hasKind := annotations[GPUTypeAnnotation]
	count, hasCount := annotations[GPUCountAnnotation]
	switch {
	case !hasKind && !hasCount:
	case !hasKind:
		*errs = append(*errs, field.Required(of(GPUTypeAnnotation), "must be there, since "+GPUCountAnnotation+" is"))
	case !hasCount:
		*errs = append(*errs, field.Required(of(GPUCountAnnotation), "must be there, since "+GPUTypeAnnotation+" is"))
	default:
		if wrong := validation.IsQualifiedName(kind); len(wrong) > 0 {
			*errs = append(*errs, field.Invalid(of(GPUTypeAnnotation), kind,
				"must be a resource name, such as nvidia.com/gpu: "+strings.Join(wrong, "; ")))
		}
		m[corev1.ResourceName(kind)] = parsed(GPUCountAnnotation, count, errs)
	}
}

// missing says which of two annotations is needed beside the other one. Without both, nobody has said what a machine
// has.
func missing(annotations map[string]string, cpu, memory bool) field.ErrorList {
	_, saysCPU := annotations[CPUAnnotation]
	_, saysMemory := annotations[MemoryAnnotation]
	switch {
	case saysCPU && !memory:
		return field.ErrorList{field.Required(of(MemoryAnnotation), "must be there, since "+CPUAnnotation+" is")}
	case saysMemory && !cpu:
		return field.ErrorList{field.Required(of(CPUAnnotation), "must be there, since "+MemoryAnnotation+" is")}
	default:
		return nil
	}
}
