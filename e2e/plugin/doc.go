// Package plugin_test runs each command of kubectl fedquota against a real fleet, in the states that matter. With
// -record it records what the API servers hold in each state, for the tests of cmd/kubectl-fedquota.
package plugin_test
