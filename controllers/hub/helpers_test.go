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

// eastAlone selects nobody but east.
const eastAlone = `
hard: {pods: "30"}
placement: {clusters: [east]}
rebalance: {mode: Static}`

// eastFirst gives all of 30 pods to east.
const eastFirst = `
hard: {pods: "30"}
placement: {clusterSelector: {}}
distribution: {rules: [{clusterSelector: {matchLabels: {name: west}}, weight: 0}]}
rebalance: {mode: Static}`

// quantities compares quantities by value.
var quantities = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
