//go:build e2e

package native_test

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// section is where a row stands on the page.
type section string

const (
	sectionNames    section = "Names"
	sectionCounts   section = "count/"
	sectionScopes   section = "Scopes"
	sectionFeatures section = "What changes a charge"
	sectionWhole    section = "Whole requests"
)

// row is one thing that native quota charges for. Its budget is that of two objects; each member begins with a part of
// it.
type row struct {
	section section
	// what is shown, beyond the name.
	what string
	// name is the resource name of the budget.
	name string
	// spec is what the budget has beyond that, as YAML: its scope for the most part.
	spec string
	// object is what is created, as YAML, and unit what one is charged.
	object, unit string
	// also is what an object is charged under other names, of which the budget has as much.
	also map[string]string
	// had is what each member is charged before: Kubernetes makes such objects in each namespace.
	had string
	// beside is an object that the scope leaves out, as YAML.
	beside string
	// note says why the charge is what it is, where that is not plain.
	note string
	// setup is made in both members first, as YAML.
	setup string
	// play shows it.
	play func(*scene)
}

func (r *row) title() string {
	if r.what == "" {
		return r.name
	}
	return r.name + ", " + r.what
}

// of puts rows into a section. Those that say nothing else take all.
func of(s section, rows []row) []row {
	for i := range rows {
		rows[i].section = s
		if rows[i].play == nil {
			rows[i].play = takesAll
		}
	}
	return rows
}

// charge is what so many objects are charged, in so many members.
func (r *row) charge(objects, members int64) resource.Quantity {
	sum := times(objects, r.unit)
	if r.had != "" {
		sum.Add(times(members, r.had))
	}
	return sum
}

// times is so many times a quantity.
func times(count int64, quantity string) resource.Quantity {
	product := resource.MustParse(quantity)
	product.Mul(count)
	return product
}

// words are amounts as native quota writes them: of the name, and of so many objects under the other names.
func (r *row) words(amount resource.Quantity, objects int64) string {
	words := []string{r.name + "=" + amount.String()}
	for name, unit := range r.also {
		other := times(objects, unit)
		words = append(words, name+"="+other.String())
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// sight is what a row showed.
type sight struct {
	// limits are those of east and west: before anything is created, once east has all, and once each has one object.
	limits [3][2]resource.Quantity
	// note says it in words, where it is something else.
	note string
	// slips is how often native quota let a request through beyond the limit.
	slips int
}

// takesAll has an object more in east than it has room for, so that its limit takes what west has. What does not fit is
// refused in both members. What is deleted in east makes room in west.
func takesAll(s *scene) {
	s.budget(budgetName, s.spec, s.charge(2, 2))
	s.sight.limits[0] = s.limits()
	first := s.fits(east, s.object)
	s.uses(east, 1)
	if limit := s.limits()[0]; limit.Cmp(s.charge(2, 1)) >= 0 {
		s.Errorf("east has room for two before somebody asks for that: %s", limit.String())
	}
	s.fits(east, s.object)
	s.uses(east, 2)
	s.have(2, 0)
	s.sight.limits[1] = s.limits()
	s.refusedInBoth()
	if s.beside != "" {
		s.fits(east, s.beside)
		s.uses(east, 2)
	}
	s.remove(east, first)
	s.uses(east, 1)
	s.fits(west, s.object)
	s.uses(west, 1)
	s.have(1, 1)
	s.sight.limits[2] = s.limits()
}
