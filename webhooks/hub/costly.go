package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// checked answers reviews of what the schema can have let through, and has the rest pass: API servers send nothing else, but anybody who
// reaches the port may, and to read a quantity such as 1e99999999 takes minutes.
type checked struct{ admission.Handler }

// Handle answers a review.
func (c checked) Handle(ctx context.Context, review admission.Request) admission.Response {
	if costly(review.Object.Raw) || costly(review.OldObject.Raw) {
		return admission.Allowed("").WithWarnings("not checked: no API server lets through a quantity with such an exponent, or so many digits")
	}
	return c.Handler.Handle(ctx, review)
}

// enormous is a number that the pattern of quantities in the CRD does not let through, as far as it costs much to read.
var enormous = regexp.MustCompile(`^[+-]?([0-9.]+[eE][+-]?[0-9]{3,}$|[0-9.]{100,})`)

// costly says whether there is such a number anywhere in an object.
func costly(raw []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return false // what cannot be read is not read
		}
		switch value := token.(type) {
		case string:
			if enormous.MatchString(value) {
				return true
			}
		case json.Number:
			if enormous.MatchString(value.String()) {
				return true
			}
		}
	}
}
