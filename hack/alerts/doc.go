// Package alerts tries the alerts of config/prometheus with Prometheus' own engine. It is a module of its own: the
// product needs nothing of Prometheus but its client.
package alerts
