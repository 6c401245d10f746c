package hub

import (
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
)

// weighted2 gives 20 pods to all clusters, in equal parts.
const weighted2 = `
hard: {pods: "20"}
placement: {clusterSelector: {}}
rebalance: {mode: Static}`

// quantities compares quantities by value.
var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
