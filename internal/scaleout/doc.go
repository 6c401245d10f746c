// Package scaleout decides whether nodes are to be added for a budget that follows the nodes, and where: at most one
// step, or why none. It is pure: the hub manager and the kubectl plugin feed it what they have read.
package scaleout
