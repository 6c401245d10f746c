package requirement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/conditions"
	"github.com/fedquota/fedquota/controllers/hub/applied"
	"github.com/fedquota/fedquota/controllers/hub/members"
)

const (
	// messageLimit is what the schema lets the message of a cluster have.
	messageLimit = 512
	// mostEntries is how many clusters the schema lets a status have.
	mostEntries = 2000
	// mostNamed is how many clusters a condition names.
	mostNamed = 3
)

// unlooked is why nothing is known of a cluster at first.
const unlooked = "not looked at yet"

// entry returns what the status says of a Cluster, or nothing if the QuotaRequirement has nothing to do with it.
func entry(
	r *quotav1alpha1.QuotaRequirement, cluster members.Cluster, known applied.State,
) *quotav1alpha1.RequirementCluster {
	e := &quotav1alpha1.RequirementCluster{Name: quotav1alpha1.ClusterName(cluster.Name)}
	if e.State = stateOf(r, cluster, known); e.State == "" {
		return nil
	}
	e.Message = known.Reason()
	if e.State != quotav1alpha1.RequirementEnforced {
		e.Message = cmp.Or(e.Message, unlooked)
	}
	e.Message = conditions.Truncated(e.Message, messageLimit)
	return e
}

// stateOf returns the state of a Cluster. What another hub manager has seen holds until this one has looked.
func stateOf(
	r *quotav1alpha1.QuotaRequirement, cluster members.Cluster, known applied.State,
) quotav1alpha1.RequirementState {
	generation, has := known.From[r.UID]
	before := stateBefore(r, cluster)
	if known.From == nil {
		has = before != ""
		if before == quotav1alpha1.RequirementEnforced {
			generation = r.Status.ObservedGeneration
		}
	}
	switch {
	case selects(r, cluster.Cluster) && has && generation == r.Generation:
		return quotav1alpha1.RequirementEnforced
	case selects(r, cluster.Cluster):
		return quotav1alpha1.RequirementNotEnforced
	case has:
		return quotav1alpha1.RequirementLeaving
	default:
		return ""
	}
}

// stateBefore returns the state of a Cluster in the status that is stored.
func stateBefore(r *quotav1alpha1.QuotaRequirement, cluster members.Cluster) quotav1alpha1.RequirementState {
	for i := range r.Status.Clusters {
		if string(r.Status.Clusters[i].Name) == cluster.Name {
			return r.Status.Clusters[i].State
		}
	}
	return ""
}

// counted are the clusters of a status, by their state.
type counted struct {
	selected, enforced int
	// missing and leaving are those that do not enforce it, and those that still do, each with the reason.
	missing, leaving []string
	// troubled says that a missing one was looked at in vain.
	troubled bool
}

func count(clusters []quotav1alpha1.RequirementCluster) (c counted) {
	for _, e := range clusters {
		text := fmt.Sprintf("%s (%s)", e.Name, e.Message)
		switch e.State {
		case quotav1alpha1.RequirementEnforced:
			c.selected++
			c.enforced++
		case quotav1alpha1.RequirementNotEnforced:
			c.selected++
			c.missing = append(c.missing, text)
			c.troubled = c.troubled || e.Message != unlooked
		case quotav1alpha1.RequirementLeaving:
			c.leaving = append(c.leaving, text)
		}
	}
	return c
}

// report writes the clusters into the status, and what follows of them.
func report(r *quotav1alpha1.QuotaRequirement, clusters []quotav1alpha1.RequirementCluster) []metav1.Condition {
	slices.SortFunc(clusters, func(a, b quotav1alpha1.RequirementCluster) int { return cmp.Compare(a.Name, b.Name) })
	c := count(clusters)
	r.Status.ObservedGeneration = r.Generation
	r.Status.Clusters = clusters[:min(len(clusters), mostEntries)]
	r.Status.Enforced = fmt.Sprintf("%d/%d", c.enforced, c.selected)
	return conditions.Summary(readiness(r, c))
}

// readiness returns the condition that sums up.
func readiness(r *quotav1alpha1.QuotaRequirement, c counted) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return conditions.False(quotav1alpha1.ConditionReady, reason, message)
	}
	err := invalid(r)
	switch {
	case !r.DeletionTimestamp.IsZero():
		return no(quotav1alpha1.ReasonRemoving, "Waiting for clusters that may still enforce it: "+named(c.leaving)+
			"; of one that is gone for good, delete the Cluster or annotate it with "+quotav1alpha1.DestroyedAnnotation)
	case err != nil:
		return no(quotav1alpha1.ReasonInvalidSpec, "No cluster enforces it: "+err.Error())
	case c.selected == 0:
		return no(
			quotav1alpha1.ReasonNoClusters,
			"spec.clusterSelector selects no Cluster yet; one that comes and matches is to enforce it",
		)
	}
	sum := fmt.Sprintf("%d of %d clusters enforce it", c.enforced, c.selected)
	if len(c.leaving) > 0 {
		sum += "; no longer selected, and may still do: " + named(c.leaving)
	}
	switch {
	case c.troubled:
		return no(quotav1alpha1.ReasonDegraded, sum+"; missing: "+named(c.missing))
	case len(c.missing) > 0:
		return no(quotav1alpha1.ReasonSettling, sum+"; missing: "+named(c.missing))
	}
	return conditions.True(quotav1alpha1.ConditionReady, quotav1alpha1.ReasonEnforced, sum)
}

// named names the first few of a list.
func named(list []string) string {
	text := strings.Join(list[:min(len(list), mostNamed)], ", ")
	if more := len(list) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
