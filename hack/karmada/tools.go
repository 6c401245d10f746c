//go:build tools

// Package karmada pins the programs of Karmada's control plane that fedquota is compared with, so that the Makefile can
// build them from their Go module.
package karmada

import (
	_ "github.com/karmada-io/karmada/cmd/aggregated-apiserver"
	_ "github.com/karmada-io/karmada/cmd/controller-manager"
	_ "github.com/karmada-io/karmada/cmd/webhook"
)
