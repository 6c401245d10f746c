package view

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/internal/validate"
)

// Climb says of a resource name of which a budget needs more than it has, level by level, where it could come from.
type Climb struct {
	Resource corev1.ResourceName `json:"resource"`
	// Needs is what is used and asked for.
	Needs string `json:"needs"`
	Steps []Step `json:"steps"`
}

// Step is one level: what somebody has in its pool, and what that pool has left.
type Step struct {
	Name string `json:"name"`
	// Has is what it has, and Own what it may have by itself, left out where nothing bounds it.
	Has string `json:"has"`
	Own string `json:"own,omitempty"`
	// Pool is the one above, Budget what that may hand out, and Left what of it nobody holds.
	Pool   string `json:"pool,omitempty"`
	Budget string `json:"budget,omitempty"`
	Left   string `json:"left,omitempty"`
	// Lends says which neighbours have less than their part, with by how much, and Lent what it has of others.
	Lends []string `json:"lends,omitempty"`
	Lent  string   `json:"lent,omitempty"`
	// Binds says in words what binds here; the last step has it, if anything does.
	Binds string `json:"binds,omitempty"`
}

// Print prints it for people.
func (c *Climb) Print(page *text.Page) {
	page.Printf("\n%s: needs %s\n", page.Paint(text.Bold, string(c.Resource)), c.Needs)
	for i := range c.Steps {
		s := &c.Steps[i]
		page.Paragraph(2, text.Plain, s.sentence())
		if s.Binds != "" {
			page.Paragraph(2, text.Yellow, "→ "+s.Binds)
		}
	}
}

// sentence says what there is at a level.
func (s *Step) sentence() string {
	line := s.Name + " has " + s.Has
	if s.Own != "" {
		line += " of its own " + s.Own
	}
	if s.Lent != "" {
		line += fmt.Sprintf(" (%s lent by neighbours)", s.Lent)
	}
	if s.Budget != "" {
		left := s.Left
		if left == "0" {
			left = "none"
		}
		line += fmt.Sprintf("; %s has %s left of %s", s.Pool, left, s.Budget)
	}
	if len(s.Lends) > 0 {
		line += "; neighbours that lend: " + Listed(s.Lends)
	}
	return line + "."
}

// climber is somebody in a pool.
type climber struct {
	key, name, pool         string
	own, used, demand, hard corev1.ResourceList
}

// climberOf returns a FederatedQuota or a QuotaPool as somebody in a pool; the name of that is empty if it is in none.
func climberOf(object client.Object) *climber {
	switch o := object.(type) {
	case *quotav1alpha1.FederatedQuota:
		c := &climber{key: QuotaKey(o), name: o.Namespace + "/" + o.Name, own: OwnOf(o)}
		c.used, c.demand, c.hard = o.Status.Used, o.Status.Demand, o.Status.Hard
		if o.Spec.Pool != nil {
			c.pool = string(o.Spec.Pool.Name)
		}
		return c.in(o.Status.Pool)
	case *quotav1alpha1.QuotaPool:
		c := &climber{key: poolKey(o.Name), name: o.Name, own: OwnOfPool(o), pool: string(o.Spec.Parent)}
		c.used, c.demand, c.hard = o.Status.Used, o.Status.Demand, o.Status.Hard
		return c.in(o.Status.Pool)
	}
	return &climber{}
}

// in says in which pool it is, whatever its spec says.
func (c *climber) in(m *quotav1alpha1.PoolMembership) *climber {
	if m != nil && m.Name != "" {
		c.pool = string(m.Name)
	}
	return c
}

// needs returns what is used and asked for of a name, and whether that is more than there is.
func (c *climber) needs(name corev1.ResourceName) (resource.Quantity, bool) {
	sum := c.used[name].DeepCopy()
	sum.Add(c.demand[name])
	has, limited := c.hard[name]
	return sum, limited && sum.Cmp(has) > 0
}

// Climb says where a FederatedQuota or a QuotaPool in a pool could get from what it needs and has not.
func (f *Forest) Climb(object client.Object) []Climb {
	c := climberOf(object)
	if c.pool == "" {
		return nil
	}
	var climbs []Climb
	for _, name := range f.only.names(c.hard) {
		if needs, lacks := c.needs(name); lacks {
			climbs = append(climbs, Climb{Resource: name, Needs: needs.String(), Steps: f.steps(c, name)})
		}
	}
	return climbs
}

// steps goes up until something binds, or the root is reached.
func (f *Forest) steps(c *climber, name corev1.ResourceName) []Step {
	var steps []Step
	for range len(f.pools) + 1 { // a circle ends somewhere
		above := f.pools[poolKey(c.pool)]
		s := f.step(c, above, name)
		s.Binds = f.binds(c, above, name)
		steps = append(steps, s)
		if s.Binds != "" {
			break
		}
		c = climberOf(above)
	}
	return steps
}

// step returns what somebody has of a name, and what there is in the pool above.
func (f *Forest) step(c *climber, above *quotav1alpha1.QuotaPool, name corev1.ResourceName) Step {
	s := Step{Name: c.name, Has: AmountOf(c.hard, name), Own: AmountOf(c.own, name)}
	entry := entryOf(above, c.key)
	if entry == nil || AmountOf(above.Status.Hard, name) == "" || c.atOwn(name) {
		return s
	}
	s.Pool, s.Has = above.Name, AmountOf(Target(entry.Target, entry.Granted), name)
	s.Budget, s.Left = AmountOf(above.Status.Hard, name), AmountOf(above.Status.Free, name)
	_, _, s.Lent = f.lending(above, c.key, name)
	for i := range above.Status.Children {
		key := string(above.Status.Children[i].Key)
		if _, lends, _ := f.lending(above, key, name); key != c.key && lends != "" {
			s.Lends = append(s.Lends, fmt.Sprintf("%s (%s)", childName(key), lends))
		}
	}
	return s
}

// atOwn says whether it has all that it may have by itself.
func (c *climber) atOwn(name corev1.ResourceName) bool {
	own, bounded := c.own[name]
	has := c.hard[name]
	return bounded && has.Cmp(own) >= 0
}

// binds says what binds here, nothing if the answer is further up.
func (f *Forest) binds(c *climber, above *quotav1alpha1.QuotaPool, name corev1.ResourceName) string {
	if c.atOwn(name) {
		return fmt.Sprintf("%s may have no more by itself: for that its spec.hard has to go up.", c.name)
	}
	entry := entryOf(above, c.key)
	if entry == nil {
		return fmt.Sprintf("QuotaPool %s has not counted it: see whether that is there, allows the namespace, and is ready.", c.pool)
	}
	_, bounds := validate.Bounds(&above.Spec.Distribution, quotav1alpha1.ChildName(childName(c.key)))
	most, capped := bounds[name]
	needs, _ := c.needs(name)
	target, free := Target(entry.Target, entry.Granted)[name], above.Status.Free[name]
	switch {
	case capped && target.Cmp(most) >= 0:
		return fmt.Sprintf("It is at its max, which rules of %s set.", above.Name)
	case needs.Cmp(target) <= 0:
		return "What it needs is on its way."
	case free.Sign() > 0:
		return fmt.Sprintf("What %s has left it gets, if nobody comes before: kubectl fedquota explain qp/%s.", above.Name, above.Name)
	case climberOf(above).pool == "":
		return fmt.Sprintf("%s is full: something below it has to end, or its spec.hard has to go up.", above.Name)
	}
	return ""
}

func childName(key string) string {
	_, name, _ := strings.Cut(key, "/")
	return name
}
