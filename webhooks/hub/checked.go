package hub

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fedquota/fedquota/internal/amount"
)

// checked answers reviews of what the schema can have let through, and has the rest pass: API servers send nothing
// else, but anybody who reaches the port may, and to read a quantity such as 1e99999999 takes minutes.
type checked struct{ admission.Handler }

// Handle answers a review.
func (c checked) Handle(ctx context.Context, review admission.Request) admission.Response {
	if amount.Costly(review.Object.Raw) || amount.Costly(review.OldObject.Raw) {
		return admission.Allowed("").WithWarnings(
			"not checked: no API server lets through a quantity with such an exponent, or so many digits")
	}
	return c.Handler.Handle(ctx, review)
}
