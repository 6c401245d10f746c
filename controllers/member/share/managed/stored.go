package managed

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// ChangedError says that an API server has taken a write of limits, and has stored others.
type ChangedError struct{ changes []string }

// Error says which, and what to do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf(
		"%s. A mutating policy or webhook of the cluster changes it: have that leave out ResourceQuotas with label %s",
		strings.Join(e.changes, ", "), quotav1alpha1.ManagedLabel,
	)
}

// IsChanged says whether an error is a ChangedError.
func IsChanged(err error) bool {
	var changed *ChangedError
	return errors.As(err, &changed)
}

// AsWritten returns a ChangedError if a ResourceQuota has other limits than those that were to be written.
func AsWritten(quota *corev1.ResourceQuota, hard corev1.ResourceList) error {
	if quotav1.Equals(quota.Spec.Hard, hard) {
		return nil
	}
	e := &ChangedError{}
	for _, name := range sets.List(sets.KeySet(hard).Union(sets.KeySet(quota.Spec.Hard))) {
		if stored, written := limit(quota.Spec.Hard, name), limit(hard, name); stored != written {
			e.changes = append(e.changes, fmt.Sprintf("%s is %s and was to be %s", name, stored, written))
		}
	}
	return e
}

// limit returns the limit of a name in words.
func limit(hard corev1.ResourceList, name corev1.ResourceName) string {
	limit, limited := hard[name]
	if !limited {
		return "without limit"
	}
	return limit.String()
}
