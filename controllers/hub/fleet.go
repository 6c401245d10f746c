package hub

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
)

// describeFleet fills in what a team that is refused should know of the whole budget, by the status of this round.
func (s *scope) describeFleet() {
	if !s.static() {
		s.fleet = quotav1alpha1.Fleet{Budget: s.fq.Status.Hard, Used: s.fq.Status.Used, Waiting: s.waiting()}
	}
}

// waiting returns the clusters that ask for more than they have, at most as many as a message names.
func (s *scope) waiting() []quotav1alpha1.ClusterName {
	var names []quotav1alpha1.ClusterName
	for _, m := range s.members {
		if m.wants() && len(names) < namesLimit {
			names = append(names, quotav1alpha1.ClusterName(m.name))
		}
	}
	return names
}

// wants says whether a member asks for more than its limit, as far as is known now. One that leaves gets nothing.
func (m *member) wants() bool {
	if !m.selected || !m.read() {
		return false
	}
	for name, demand := range m.demand {
		if demand > 0 && amount.Add(m.report.Used[name], demand) > m.report.Hard[name] {
			return true
		}
	}
	return false
}

// outdated says whether a member is about to refuse somebody with words that are no longer true. Usage, and who waits, go on changing:
// they are told again after a while. Of the budget it is told whether it asks or not: it does not ask for what is more than all of it.
func (s *scope) outdated(m *member) bool {
	told := &m.share.Spec.Fleet
	return !equality.Semantic.DeepEqual(told.Budget, s.fleet.Budget) || s.misinformed(m) && m.toldFor == 0
}

// misinformed says whether a member that is about to refuse somebody was told of other usage than there is, or of others who wait.
func (s *scope) misinformed(m *member) bool {
	if !m.wants() {
		return false
	}
	told := &m.share.Spec.Fleet
	return !equality.Semantic.DeepEqual(told.Used, s.fleet.Used) || !slices.Equal(told.Waiting, s.fleet.Waiting)
}
