// Package webhook holds what controller-gen makes of the markers of the hub's webhooks. It is not installed as it is:
// the hub manager adds whom the API server shall trust.
package webhook

import _ "embed"

// Manifests are the configurations of the webhooks.
//
//go:embed manifests.yaml
var Manifests []byte
