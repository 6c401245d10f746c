// Package allocate splits one budget over many children.
//
// It is pure: exact integers in, exact integers out; no clock, no client, no log. Every amount is an int64 in the unit
// of its resource (thousandths for cpu names, 1 for everything else), products are taken in 128 bits, and nothing is
// ever a float. The same input gives the same output, in whatever order the children are listed.
//
// Everything rests on one primitive, Fill: an apportionment with bounds and weights that never lowers anybody when the
// budget grows, and never moves a bystander when a child joins or leaves, beyond what it has to give or to gain.
package allocate
