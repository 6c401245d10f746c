// Package member holds the controllers of the agent, which runs in every member, in a package each. Its own tests play
// them together on a real API server.
package member
