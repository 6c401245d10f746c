// Package clusterapi runs fedquota on a hub beside the manager of Cluster API's core, with its webhooks, its roles and
// all of its kinds (make e2e-clusterapi). What brings up clusters is played by the test, by the contract of Cluster
// API's providers.
package clusterapi
