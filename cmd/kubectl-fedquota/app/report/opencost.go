package report

import (
	"cmp"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Allocations is what the allocation API of OpenCost answers: one set of allocations, by name.
type Allocations struct {
	Code int                      `json:"code"`
	Data []map[string]*Allocation `json:"data"`
}

// Allocation is one of OpenCost. What was used of a budget is what pods request, so it is both.
type Allocation struct {
	Name       string     `json:"name"`
	Properties Properties `json:"properties"`
	Window     Window     `json:"window"`
	Start      time.Time  `json:"start"`
	End        time.Time  `json:"end"`
	Minutes    float64    `json:"minutes"`

	CPUCores              float64 `json:"cpuCores"`
	CPUCoreRequestAverage float64 `json:"cpuCoreRequestAverage"`
	CPUCoreHours          float64 `json:"cpuCoreHours"`
	CPUCost               float64 `json:"cpuCost"`
	GPUCount              float64 `json:"gpuCount"`
	GPUHours              float64 `json:"gpuHours"`
	GPUCost               float64 `json:"gpuCost"`
	PVBytes               float64 `json:"pvBytes"`
	PVByteHours           float64 `json:"pvByteHours"`
	PVCost                float64 `json:"pvCost"`
	RAMBytes              float64 `json:"ramBytes"`
	RAMByteRequestAverage float64 `json:"ramByteRequestAverage"`
	RAMByteHours          float64 `json:"ramByteHours"`
	RAMCost               float64 `json:"ramCost"`
	ExternalCost          float64 `json:"externalCost"`
	TotalCost             float64 `json:"totalCost"`
}

// Properties say whose allocation it is.
type Properties struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Labels are budget and pool.
	Labels map[string]string `json:"labels,omitempty"`
}

// Window is the time of an allocation.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// allocationsOf returns rows as OpenCost has them. Of cpu and memory, what is requested counts; what has no field of
// its own there is an external cost.
func allocationsOf(rows []Row, start, end time.Time) *Allocations {
	set := map[string]*Allocation{}
	for i := range rows {
		r := &rows[i]
		name := cmp.Or(path.Join(r.Cluster, r.Namespace, r.Budget, r.Child), r.Pool, unallocated)
		if set[name] == nil {
			set[name] = &Allocation{
				Name: name, Properties: propertiesOf(r), Window: Window{start, end}, Start: start, End: end,
				Minutes: end.Sub(start).Minutes(),
			}
		}
		set[name].add(r)
	}
	return &Allocations{Code: 200, Data: []map[string]*Allocation{set}}
}

// unallocated is what OpenCost calls what belongs to nobody: here, to no pool.
const unallocated = "__unallocated__"

func propertiesOf(r *Row) Properties {
	p := Properties{Cluster: r.Cluster, Namespace: r.Namespace, Labels: map[string]string{}}
	for label, value := range map[string]string{"budget": r.Budget, "pool": r.Pool} {
		if value != "" {
			p.Labels[label] = value
		}
	}
	return p
}

// add adds what somebody had of a resource.
func (a *Allocation) add(r *Row) {
	cost, hours := 0.0, a.Minutes/60
	if r.Cost != nil {
		cost = *r.Cost
	}
	a.TotalCost += cost
	_, size := unitOf(r.Resource)
	switch used := r.UsedHours * size; {
	case r.Resource == corev1.ResourceRequestsCPU || r.Resource == corev1.ResourceCPU:
		a.CPUCoreHours, a.CPUCost = used, cost
		a.CPUCores, a.CPUCoreRequestAverage = rounded(used/hours), rounded(used/hours)
	case r.Resource == corev1.ResourceRequestsMemory || r.Resource == corev1.ResourceMemory:
		a.RAMByteHours, a.RAMCost = used, cost
		a.RAMBytes, a.RAMByteRequestAverage = rounded(used/hours), rounded(used/hours)
	case r.Resource == corev1.ResourceRequestsStorage:
		a.PVByteHours, a.PVBytes, a.PVCost = used, rounded(used/hours), cost
	case strings.HasSuffix(string(r.Resource), "/gpu"):
		a.GPUHours, a.GPUCount, a.GPUCost = a.GPUHours+used, a.GPUCount+rounded(used/hours), a.GPUCost+cost
	default:
		a.ExternalCost += cost
	}
}
