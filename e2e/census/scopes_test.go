package census

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scopeOf reads "PriorityClass In a,b".
func scopeOf(text string) scope {
	fields := strings.Fields(text)
	s := scope{ScopeName: corev1.ResourceQuotaScope(fields[0]), Operator: corev1.ScopeSelectorOperator(fields[1])}
	if len(fields) > 2 {
		s.Values = strings.Split(fields[2], ",")
	}
	return s
}

func TestPodMatches(t *testing.T) {
	long := &corev1.Pod{Status: corev1.PodStatus{QOSClass: corev1.PodQOSBestEffort}}
	short := &corev1.Pod{Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64(9))}, Status: corev1.PodStatus{QOSClass: corev1.PodQOSBurstable}}
	urgent := &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "urgent"}, Status: corev1.PodStatus{QOSClass: corev1.PodQOSGuaranteed}}
	apart := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}}},
	}}}}
	near := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
	}}}}
	for text, want := range map[string]struct{ in, out *corev1.Pod }{
		"Terminating Exists":               {short, long},
		"NotTerminating Exists":            {long, short},
		"BestEffort Exists":                {long, short},
		"NotBestEffort Exists":             {urgent, long},
		"PriorityClass Exists":             {urgent, long},
		"PriorityClass DoesNotExist":       {long, urgent},
		"PriorityClass In calm,urgent":     {urgent, long},
		"PriorityClass NotIn calm":         {urgent, nil},
		"PriorityClass NotIn urgent":       {long, urgent},
		"CrossNamespacePodAffinity Exists": {apart, near},
		"VolumeAttributesClass Exists":     {nil, urgent},
		"VolumeAttributesClass In a":       {nil, long},
	} {
		if s := scopeOf(text); want.in != nil && !podMatches(want.in, s) || want.out != nil && podMatches(want.out, s) {
			t.Errorf("%s: matches %v, %v, want true, false", text, want.in != nil && podMatches(want.in, s), want.out != nil && podMatches(want.out, s))
		}
	}
}

func TestClaimMatches(t *testing.T) {
	claim := func(spec, current, target string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName = &spec, &current
		if target != "" {
			c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: target}
		}
		return c
	}
	for text, want := range map[string]struct{ in, out *corev1.PersistentVolumeClaim }{
		"VolumeAttributesClass Exists":       {claim("", "fast", ""), claim("", "", "")},
		"VolumeAttributesClass DoesNotExist": {claim("", "", ""), claim("", "", "fast")},
		"VolumeAttributesClass In fast":      {claim("slow", "", "fast"), claim("slow", "", "")},
		"VolumeAttributesClass NotIn fast":   {claim("slow", "fast", ""), claim("fast", "fast", "")},
		"NotTerminating Exists":              {nil, claim("", "", "")},
	} {
		if s := scopeOf(text); want.in != nil && !claimMatches(want.in, s) || claimMatches(want.out, s) {
			t.Errorf("%s: matches %v, %v, want true, false", text, want.in != nil && claimMatches(want.in, s), claimMatches(want.out, s))
		}
	}
}
