package view

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// Sample is what a budget was at one time.
type Sample struct {
	// At is when, in milliseconds since 1970.
	At int64 `json:"at"`
	// Levels are left out where nothing is known from then on.
	Levels []SampleLevel `json:"levels,omitempty"`
}

// SampleLevel is what a budget was of one resource name, in cores, bytes or objects. Granted is left out while nobody knows it.
type SampleLevel struct {
	Resource corev1.ResourceName `json:"resource"`
	Used     float64             `json:"used"`
	Demand   float64             `json:"demand"`
	Granted  *float64            `json:"granted,omitempty"`
	Budget   float64             `json:"budget"`
}

// Basis is what it is that amounts of the past are.
type Basis string

// What amounts of the past are.
const (
	// Seen amounts are those of one instant, which somebody has seen.
	Seen Basis = "seen"
	// Mean amounts are means of a time.
	Mean Basis = "mean"
)

// Past is what is known of a budget as it was at an instant. What nobody knows is left out.
type Past struct {
	At metav1.Time `json:"at"`
	// Basis is what the amounts of Resources are, left out where those are not known. Start is when they were seen, or when
	// the time begins of which they are means, and End when that ends.
	Basis Basis        `json:"basis,omitempty"`
	Start *metav1.Time `json:"start,omitempty"`
	End   *metav1.Time `json:"end,omitempty"`
	// UnobservedMinutes is for how long of that time nobody looked: what was known before counts for it.
	UnobservedMinutes int          `json:"unobservedMinutes,omitempty"`
	Resources         []PastFilled `json:"resources"`
	// Clusters are what each had of one resource.
	Clusters []PastCluster `json:"clusters"`
	// Unlisted says that moves of limits at that time were counted and not listed.
	Unlisted bool `json:"unlisted,omitempty"`
	// Moves are those of the resource before the instant, the latest first. Earlier is the last time at or before which
	// something moved, and Later the next one.
	Moves   []Moved      `json:"moves"`
	Earlier *metav1.Time `json:"earlier,omitempty"`
	Later   *metav1.Time `json:"later,omitempty"`
}

// PastFilled is what was used of a resource.
type PastFilled struct {
	Filled `json:",inline"`

	// Peak is the most that was used at an instant of the time of which the others are means.
	Peak string `json:"peak,omitempty"`
}

// PastCluster is what a cluster had of a resource.
type PastCluster struct {
	Name string `json:"name"`
	// Limit is left out where it is not known. Since is when it came to it, and Why in words, where that is listed.
	Limit string       `json:"limit,omitempty"`
	Since *metav1.Time `json:"since,omitempty"`
	Why   string       `json:"why,omitempty"`
	// Mean and Peak are what it used in the month: on average, and at most.
	Mean string `json:"mean,omitempty"`
	Peak string `json:"peak,omitempty"`
}

// FilledOf returns what a level is of a budget, in the formats of a list.
func FilledOf(l SampleLevel, formats corev1.ResourceList) Filled {
	list := func(value float64) corev1.ResourceList {
		return corev1.ResourceList{l.Resource: Rounded(l.Resource, value, formats)}
	}
	all := sums{budget: list(l.Budget), used: list(l.Used), demand: list(l.Demand)}
	if l.Granted != nil {
		all.granted = list(*l.Granted)
	}
	return all.filled(l.Resource)
}

// large is above how many units an amount is rounded to as many that people can read it.
const large = 1e9

// Rounded returns a number of cores, bytes or objects as a quantity that people can read, in the format of a list.
func Rounded(name corev1.ResourceName, value float64, formats corev1.ResourceList) resource.Quantity {
	format := formats[name].Format
	units, grain := value/amount.InBaseUnits(name, 1), 1.0
	if units >= large {
		if grain = 1e6; format == resource.BinarySI {
			grain = 1 << 20
		}
	}
	return amount.ToQuantity(name, int64(min(math.Round(units/grain)*grain, 1<<62)), format)
}
