// Package webhook holds what controller-gen makes of the markers of the agent's webhook. It is not installed as it is:
// the agent takes from it the rules that the shares of its cluster need.
package webhook

import _ "embed"

// Manifests is the ValidatingWebhookConfiguration with the rules for all resources.
//
//go:embed manifests.yaml
var Manifests []byte
