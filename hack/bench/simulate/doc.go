// Package simulate runs a fleet of clusters that share one budget as a discrete-event simulation.
//
// What decides is the product: allocate.Auto or allocate.Static distribute, and a ledger.Ledger takes every decision,
// so that a raise comes only out of what is free, and what was granted is released only by the confirmation of the
// member. What is simulated is the rest: pods that come and go, native quotas that admit or refuse them, and the time
// that reports, writes and deliveries take, which is the same for every policy.
//
// Amounts are in the unit of the resource, times count from the start of the simulation. Nothing is random: the same
// load and setup give the same result.
package simulate
