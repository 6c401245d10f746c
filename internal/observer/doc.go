// Package observer watches the managed ResourceQuota in every member cluster and judges, from the outside, whether a
// federated budget was ever exceeded. It shares no code with the operator. Of what is in force it believes neither the
// ledger nor a share, only what the API servers of the members say.
//
// # What is added up
//
// Per resource name a member holds max(status.hard, status.used): what its API server may still admit, or what it has
// charged already. The sum over members is compared with the budget. A ResourceQuota counts from the first version
// that carries the managed label until it is deleted. Usage that native quota itself let rise above status.hard (a
// recount from a lagging cache, the known conflict bug) is measured as native excess and taken out of the sum that is
// judged, because no limit that we wrote allowed it. Usage above a limit because the limit went below it stays in.
//
// # What is certain
//
// Each member has its own etcd, so no order exists between versions of different members; all there is, is when they
// reached the observer. A version was written at or before its arrival, by an unknown lag. Arrivals alone accuse the
// innocent: when the donor's lower is delivered late, a raise that followed it seems to come first. They acquit the
// guilty as well. So a sum that looks too high by arrival is only a suspicion, and each suspicion is probed:
//
//  1. The instant t of the probe is taken, after the versions that caused the suspicion have arrived.
//  2. Every member is read at once, by a GET without resourceVersion, which etcd serves linearizably. A read that began
//     after t and returned version v proves that at t the member was at v or at an earlier version.
//  3. The version that had arrived last at t proves that at t the member was at it or at a later version.
//  4. The watch delivers every version in order, so as soon as it has come to v, all versions that can have been in
//     force at t are known. The member held at least the smallest and at most the largest value among them.
//
// An excess is confirmed when the sum of the smallest values is above what is allowed at t. That is a proof, whatever
// the lag: a correct protocol, in which the lower is in the donor's etcd before the raise is written, is never accused.
// Probes are repeated while the suspicion lasts. An excess is therefore found when it lasts longer than the watch takes
// to deliver the raise plus the time until the reads have reached the API servers (single milliseconds on one machine).
// What ends sooner stays unconfirmed and is reported apart with its apparent length, to be compared with the longest
// lag that was measured: a correct protocol shows few or none of these, a writer of all members at once shows many.
// An excess so short that even arrivals do not show it is not seen at all.
//
// A member that cannot be read counts, for that probe, with at least zero: it can hide an excess, not invent one. So
// can a gap (the watch had to list again and versions were missed), which is recorded per member.
//
// # Budgets that change
//
// A raise of the budget is allowed from the time given, so that time must lie before the write; a cut is in force from
// the time given, so that must lie after the write has returned. ChangeBudget does both. After a cut the sum may stay
// above the budget while it drains, and may even grow: a raise that was granted before the cut may still be on its way
// to a member, and a lowered member may get back what was never released. Both are bounded by what was granted at the
// time of the cut, which is at most what was allowed before it. That is the ceiling, and above it an excess is a
// violation. Only the ledger knows how the ceiling comes down; SetGranted states it. Growth of the sum while it is
// above the budget is proved in the same way (the smallest sum now against the largest possible sum at an earlier probe
// since the cut) and always reported; Options.StrictCuts makes it a violation, which is right when nothing was in
// flight at the cut and demand does not move.
//
// # Trees
//
// A pool is a budget of several FederatedQuotas, so of ResourceQuotas of several names: each level of a tree is judged
// like a budget of its own, over the same watches and probes. Its budget is what its spec says, and not what its own
// pool gives to it now: that moves while the spec stays, and what it leaves to others is judged by the level above.
//
// Ledgers on the hub are judged by their own versions, which are ordered: whether somebody was raised while more was
// granted than the budget, and whether a budget is above what the pool gives. What a child took up is compared with
// what its pool has offered under the same revision, in whichever order the two arrive.
//
// # What is checked in each member alone
//
// These need no clock, as versions of one member are ordered: a limit put below usage, a revision that goes down, a
// limit raised within one revision, the managed label lost, an object re-created, a second managed object of the same
// namespace and scopes (all violations); usage first known to be above a new limit, deletions, releases, and charges
// above the limit in force (reported).
package observer
