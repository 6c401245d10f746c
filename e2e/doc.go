// Package e2e tests the whole product on fleets of real control planes, with an independent observer as the judge.
//
// A scenario has a namespace and a FederatedQuota of its own. Each one ends in the same way: no more in existence
// than is allowed once the writers have stopped, settled again, no violation seen by the observer, and every pod still
// there that was there before the faults. make test runs the smoke test, make e2e the scenarios too.
//
// The scenario "faults at random" draws what happens from a seed, which it prints. FEDQUOTA_CHAOS_SEEDS gives it seeds,
// separated by commas, and FEDQUOTA_CHAOS_DURATION says for how long faults are to come from each. A seed gives the
// same faults at the same times, not the same run: what they meet depends on the machine.
package e2e
