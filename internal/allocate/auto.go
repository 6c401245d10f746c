package allocate

// Auto distributes every budget by demand and moves as little as possible.
//
// Pinned children keep what they were granted. For the others, the fair distribution is laid in layers, each on top of
// the one before, until the budget is spent: what is in use (even if the budget does not hold it), the part of min that
// is not lent, demand up to min, the respite, the next request of who is below its fair part, demand up to max: that is
// the need. The rest is for the headroom that claims ask for, and then, without what the hub keeps, for headroom in
// percent and for all by weight.
//
// Then every target stays as it is, except that a child below its need is raised to it; a child that is nearer to its
// need than to its fair share, or lacks the headroom that its claim asks for, is raised to its fair share, unless it is
// damped; what a budget cut takes is taken; and the hub refills its reserve when it is below half. All of it comes out
// of what is free first, and then from those above their fair share, beginning with who has the most above it, so that
// few are moved.
//
// What of a child's demand is of one shape is for alike requests: when one resource cannot give all of its part,
// the others need to give no more of theirs. Where a budget does not hold all demand, whole requests are served.
func Auto(in Input, options Options) Result {
	a := newAuto(&in, options)
	a.couple()
	a.serveWhole()
	result := newResult(&in)
	for r := range a.plans {
		p := &a.plans[r]
		p.layGrains()
		p.layRest()
		p.move()
		result.Needed[r] = p.needed
		for i := range in.Children {
			result.Verdicts[i][r] = p.verdict(i)
		}
	}
	return result
}
