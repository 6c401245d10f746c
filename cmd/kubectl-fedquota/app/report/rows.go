package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/record"
)

// What to add up by.
const (
	byCluster   = "cluster"
	byBudget    = "budget"
	byNamespace = "namespace"
	byPool      = "pool"
	byHour      = "hour"
)

// What is paid for.
const (
	chargeUsed    = "used"
	chargeGranted = "granted"
	chargeBudget  = "budget"
)

// Row is what somebody had of a resource in a month. What is left out was added up.
type Row struct {
	Pool      string `json:"pool,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Budget    string `json:"budget,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	// Child is that of the pool which had it, such as FederatedQuota/team-a/compute.
	Child string `json:"child,omitempty"`
	// Start is when the hour began that it is of, or the day of a month that is over; nil if it is of the whole month.
	Start    *time.Time          `json:"start,omitempty"`
	Resource corev1.ResourceName `json:"resource"`
	// Unit is that of all amounts: core, GiB or 1.
	Unit         string  `json:"unit"`
	BudgetHours  float64 `json:"budgetHours"`
	GrantedHours float64 `json:"grantedHours"`
	UsedHours    float64 `json:"usedHours"`
	DemandHours  float64 `json:"demandHours"`
	LendsHours   float64 `json:"lendsHours"`
	LentHours    float64 `json:"lentHours"`
	WaitedHours  float64 `json:"waitedHours"`
	Peak         float64 `json:"peak"`
	// UnobservedHours is for how long the cluster could not be read, or nobody looked.
	UnobservedHours float64 `json:"unobservedHours"`
	// Cost is what that costs, where a price is known.
	Cost *float64 `json:"cost,omitempty"`
}

// key is whose row it is.
type key struct {
	pool, namespace, budget, cluster, child string
	start                                   time.Time
	resource                                corev1.ResourceName
}

// sums are those of a key.
type sums struct {
	record.Sums

	unobserved float64
}

// rowsOf returns what records say, added up.
func rowsOf(found []records.Record, by, charge string, prices *Prices) []Row {
	all := map[key]*sums{}
	add := func(k key, s *record.Sums, unobserved float64) {
		if all[k] == nil {
			all[k] = &sums{}
		}
		all[k].Add(s)
		all[k].unobserved = max(all[k].unobserved, unobserved)
	}
	for i := range found {
		r := &found[i]
		if by == byHour {
			addHours(r, add)
			continue
		}
		if by != byCluster {
			for name, s := range r.Total {
				add(keyOf(r, by, "", name), s, r.Unobserved)
			}
			continue
		}
		for cluster, c := range r.Clusters {
			for name, s := range c.Sums {
				add(keyOf(r, by, cluster, name), s, c.Unobserved)
			}
		}
	}
	rows := make([]Row, 0, len(all))
	for _, k := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		rows = append(rows, rowOf(k, all[k], charge, prices))
	}
	return rows
}

// addHours adds each hour of a record, or each day of a month that is over.
func addHours(r *records.Record, add func(key, *record.Sums, float64)) {
	month, _ := record.StartOf(r.From)
	for _, span := range r.Spans {
		for name, s := range span.Sums {
			k := keyOf(r, byHour, "", name)
			k.start = month.Add(time.Duration(span.Start) * time.Hour)
			add(k, s, span.Unobserved)
		}
	}
}

func keyOf(r *records.Record, by, cluster string, name corev1.ResourceName) key {
	switch {
	case r.Quota == "": // of a pool, the parts are those of children
		return key{pool: r.Pool, child: cluster, resource: name}
	case by == byPool:
		return key{pool: r.Pool, resource: name}
	case by == byNamespace:
		return key{namespace: r.Namespace, resource: name}
	}
	return key{pool: r.Pool, namespace: r.Namespace, budget: r.Quota, cluster: cluster, resource: name}
}

func compareKeys(a, b key) int {
	return cmp.Or(
		strings.Compare(a.pool, b.pool), strings.Compare(a.namespace, b.namespace), strings.Compare(a.budget, b.budget),
		strings.Compare(a.cluster, b.cluster), strings.Compare(a.child, b.child), a.start.Compare(b.start),
		strings.Compare(string(a.resource), string(b.resource)),
	)
}

func rowOf(k key, s *sums, charge string, prices *Prices) Row {
	unit, size := unitOf(k.resource)
	row := Row{
		Pool: k.pool, Namespace: k.namespace, Budget: k.budget, Cluster: k.cluster, Child: k.child,
		Resource: k.resource, Unit: unit,
		BudgetHours: rounded(s.Budget / size), GrantedHours: rounded(s.Granted / size), UsedHours: rounded(s.Used / size),
		DemandHours: rounded(s.Demand / size), LendsHours: rounded(s.Lends / size), LentHours: rounded(s.Lent / size),
		WaitedHours: rounded(s.Waited), Peak: rounded(s.Peak / size), UnobservedHours: rounded(s.unobserved),
	}
	if !k.start.IsZero() {
		row.Start = &k.start
	}
	if price, known := prices.of(k.resource); known {
		row.Cost = new(rounded(price * map[string]float64{
			chargeUsed: row.UsedHours, chargeGranted: row.GrantedHours, chargeBudget: row.BudgetHours,
		}[charge]))
	}
	return row
}

// rounded returns a number to the digits that records keep of sums.
func rounded(value float64) float64 {
	if value == 0 {
		return 0
	}
	scale := math.Pow10(6 - int(math.Floor(math.Log10(math.Abs(value)))))
	return math.Round(value*scale) / scale
}

// unitOf returns the unit of a resource, and how much of it that is.
func unitOf(name corev1.ResourceName) (string, float64) {
	text := string(name)
	switch {
	case amount.Scale(name) < 0:
		return "core", 1
	case strings.Contains(text, "memory"), strings.Contains(text, "storage"), strings.Contains(text, "hugepages"):
		return "GiB", 1 << 30
	}
	return "1", 1
}
