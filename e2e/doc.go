// Package e2e tests the whole product on fleets of real control planes, with an independent observer as the judge.
//
// A scenario has a namespace and a FederatedQuota of its own. Each one ends in the same way: settled again, no violation
// seen by the observer, and every pod still there that was there before the faults. make test runs the smoke test, make e2e
// the scenarios too.
package e2e
