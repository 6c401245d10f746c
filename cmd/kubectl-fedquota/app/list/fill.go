package list

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// fill is how full the tightest resource of a budget is.
type fill struct {
	ratio float64
	text  string
}

// budgetOf returns what may be distributed, or what is asked for while nothing was yet.
func budgetOf(fq *quotav1alpha1.FederatedQuota) corev1.ResourceList {
	if len(fq.Status.Hard) == 0 {
		return fq.Spec.Hard
	}
	return fq.Status.Hard
}

func fillOf(used, budget corev1.ResourceList) fill {
	full := fill{ratio: -1, text: "-"}
	for _, name := range text.Names(budget) {
		u, b := used[name], budget[name]
		ratio := u.AsApproximateFloat64() / max(b.AsApproximateFloat64(), 1e-3)
		if ratio > full.ratio {
			full = fill{ratio, fmt.Sprintf("%s %s/%s", name, u.String(), b.String())}
		}
	}
	return full
}

func (f fill) percent() string {
	if f.ratio < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", min(f.ratio*100, 999))
}

func (f fill) style() text.Style {
	switch {
	case f.ratio >= 1:
		return text.Red
	case f.ratio >= 0.8:
		return text.Yellow
	}
	return text.Plain
}

// waitingOf returns what is asked for beyond what is used.
func waitingOf(demand corev1.ResourceList) string {
	waiting := corev1.ResourceList{}
	for name, quantity := range demand {
		if quantity.Sign() > 0 {
			waiting[name] = quantity
		}
	}
	return cmp.Or(text.Join(waiting), "-")
}
