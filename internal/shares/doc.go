// Package shares decides one round of a budget over its children: the clusters of a FederatedQuota.
//
// New says which children the round concerns, and how each of them has to be read. The caller reads them. Decide then
// takes all that was learned into the ledger, steers the ledger towards the targets of the allocation, and returns what
// is to be stored, what is to be written to each child, what people are to be told, and when to look again.
//
// The package is pure: no client, no clock, no random number. The hub manager calls it with what it has read from API
// servers, the random schedules of `make schedules` and the benchmarks with what they make up. So what those prove is
// the product.
package shares
