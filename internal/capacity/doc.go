// Package capacity says what the nodes of a cluster can run, and what budget that makes. It is pure: the agent feeds it
// nodes and pods, the hub manager what agents have reported.
package capacity
