package pool

import (
	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/validate"
)

// obstacle is why something does not go on.
type obstacle struct{ reason, message string }

// unusable says why the spec of a pool cannot be acted on; nothing if it can. A pool below a circle goes on with what
// it has, and so does one above pools that are too many.
func unusable(p *quotav1alpha1.QuotaPool, tree validate.Parents) obstacle {
	problems, name := validate.Pool(&p.Spec), quotav1alpha1.PoolName(p.Name)
	above, circle := tree.Above(name)
	if tree.InCircle(name) || !circle && len(above) >= validate.MostLevels {
		problems = append(problems, tree.Problems(name)...)
	}
	if len(problems) == 0 {
		return obstacle{}
	}
	return obstacle{quotav1alpha1.ReasonInvalidSpec, problems.ToAggregate().Error()}
}
