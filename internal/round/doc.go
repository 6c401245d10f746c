// Package round decides one round of a budget over its children, whatever those are: clusters, namespaces, budgets
// below.
//
// Whoever knows what the children are takes what they say into the ledger first, and computes one Standing of each.
// Steer then moves their limits towards the targets of the allocation, out of what is free. Explain says what binds
// each limit.
//
// The package is pure: no client, no clock, no random number. What it takes and returns are values.
package round
