package demand

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/pace"
)

// Statement returns until when a suspended Job states that room for its pods is wanted, zero if it does not, and what
// is wrong with its annotation.
func Statement(job *batchv1.Job) (time.Time, *field.Error) {
	value, states := job.Annotations[quotav1alpha1.DemandForAnnotation]
	if !states || !ptr.Deref(job.Spec.Suspend, false) {
		return time.Time{}, nil
	}
	lasts, err := time.ParseDuration(value)
	if err != nil || lasts <= 0 || lasts > pace.LongestStatement {
		return time.Time{}, field.Invalid(
			field.NewPath("metadata", "annotations").Key(quotav1alpha1.DemandForAnnotation), value,
			fmt.Sprintf("must be a duration of more than 0 and at most %.0fm, such as 30m", pace.LongestStatement.Minutes()),
		)
	}
	return job.CreationTimestamp.Add(lasts), nil
}
