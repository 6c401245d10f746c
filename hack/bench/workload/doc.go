// Package workload makes loads for the simulation: drawn ones, of which every cell has its own seed, and two public
// traces, which are read from a folder that is no part of the project.
package workload
