// Package demand keeps book of what a cluster could use right now beyond what it uses: requests that were seen not to
// fit, and replicas that workloads lack. The same need never counts twice.
package demand
