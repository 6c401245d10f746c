// Package skew upgrades and rolls back fedquota on a fleet in use, between an earlier version and this one.
package skew
