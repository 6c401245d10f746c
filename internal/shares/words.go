package shares

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fedquota/fedquota/internal/amount"
)

// namesLimit is how many children a message names before it only counts them.
const namesLimit = 5

// Abbreviated joins sorted names, counting those after the first few.
func Abbreviated(names []string) string {
	if len(names) <= namesLimit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesLimit], ", "), len(names)-namesLimit)
}

// quantity returns an amount as people write it.
func (r *Round) quantity(name corev1.ResourceName, value int64) string {
	q := amount.ToQuantity(name, value, r.in.Formats[name].Format)
	return q.String()
}
