package report

import (
	"cmp"
	"encoding/csv"
	"slices"
	"strconv"
	"time"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
)

// Report is what a month says, for scripts.
type Report struct {
	Month string `json:"month"`
	// Until is when the last record ends.
	Until    time.Time `json:"until"`
	Currency string    `json:"currency,omitempty"`
	Rows     []Row     `json:"rows"`
}

func (o *Options) print(found []records.Record, rows []Row, prices *Prices, start, end time.Time) error {
	until := time.Time{}
	for _, r := range found {
		if r.Until.After(until) {
			until = r.Until
		}
	}
	currency := ""
	if prices != nil {
		currency = prices.Currency
	}
	switch o.output {
	case "json":
		return o.value(&Report{start.Format("2006-01"), until, currency, rows})
	case "opencost":
		return o.value(allocationsOf(rows, start, slices.MinFunc([]time.Time{until, end}, time.Time.Compare)))
	case "csv":
		return o.csv(rows, currency)
	}
	return o.table(rows, currency)
}

func (o *Options) value(value any) error { return cli.Output("json").Print(o.env.Out, value, nil) }

// columns are the amounts of a row.
func (r *Row) columns() []float64 {
	return []float64{
		r.BudgetHours, r.GrantedHours, r.UsedHours, r.DemandHours, r.LendsHours, r.LentHours, r.WaitedHours, r.Peak,
	}
}

func (o *Options) csv(rows []Row, currency string) error {
	writer := csv.NewWriter(o.env.Out)
	lines := [][]string{{
		"pool", "namespace", "budget", "cluster", "resource", "unit", "budgetHours", "grantedHours", "usedHours",
		"demandHours", "lendsHours", "lentHours", "waitedHours", "peak", "unobservedHours", "cost", "currency",
	}}
	for i := range rows {
		r := &rows[i]
		line := []string{r.Pool, r.Namespace, r.Budget, r.Cluster, string(r.Resource), r.Unit}
		for _, value := range append(r.columns(), r.UnobservedHours) {
			line = append(line, strconv.FormatFloat(value, 'f', -1, 64))
		}
		cost, of := "", ""
		if r.Cost != nil {
			cost, of = strconv.FormatFloat(*r.Cost, 'f', -1, 64), currency
		}
		line = append(line, cost, of)
		if o.by == byHour {
			line = append(line, startOf(r))
		}
		if o.ofPool {
			line = append(line, r.Child)
		}
		lines = append(lines, line)
	}
	if o.by == byHour {
		lines[0] = append(lines[0], "start")
	}
	if o.ofPool {
		lines[0] = append(lines[0], "child")
	}
	return writer.WriteAll(lines)
}

// table prints what people read, without the columns that no row has anything in.
func (o *Options) table(rows []Row, currency string) error {
	names := []string{
		"START", "POOL", "NAMESPACE", "NAME", "CLUSTER", "CHILD", "RESOURCE", "UNIT",
		"BUDGET", "GRANTED", "USED", "DEMAND", "LENDS", "LENT", "WAITED", "PEAK", cmp.Or(currency, "COST"),
	}
	var lines [][]string
	for i := range rows {
		lines = append(lines, o.line(&rows[i]))
	}
	shown := func(line []string) (cells []string) {
		for i := range names {
			if slices.ContainsFunc(lines, func(l []string) bool { return l[i] != "" }) {
				cells = append(cells, cmp.Or(line[i], "-"))
			}
		}
		return cells
	}
	t := &text.Table{Header: shown(names)}
	for _, line := range lines {
		t.Row(shown(line)...)
	}
	page := o.env.Page(o.env.Out)
	page.Print(t)
	return page.Err()
}

// line returns a row as people read it. Pool and namespace are left out where they are known.
func (o *Options) line(r *Row) []string {
	line := []string{startOf(r), "", "", r.Budget, r.Cluster, r.Child, string(r.Resource), r.Unit}
	if o.by == byPool {
		line[1] = r.Pool
	}
	if o.all || o.by == byNamespace {
		line[2] = r.Namespace
	}
	for _, value := range r.columns() {
		line = append(line, number(value))
	}
	cost := ""
	if r.Cost != nil {
		cost = strconv.FormatFloat(*r.Cost, 'f', 2, 64)
	}
	return append(line, cost)
}

// startOf writes when the hour or the day of a row began.
func startOf(r *Row) string {
	if r.Start == nil {
		return ""
	}
	return r.Start.Format("2006-01-02T15:04Z")
}

// number writes a number with as many digits as people read, and nothing for 0.
func number(value float64) string {
	switch {
	case value == 0:
		return ""
	case value < 9.995:
		return strconv.FormatFloat(value, 'f', 2, 64)
	case value < 1000:
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}
