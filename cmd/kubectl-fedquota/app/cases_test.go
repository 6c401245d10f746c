package app_test

// cases are the command lines of which the output is kept, by the state that they are run in, each with the API server before it.
var cases = map[string][]string{
	"fresh":   {"hub: explain compute", "hub: describe compute", "hub: list"},
	"settled": {"hub: explain compute", "hub: plan -f testdata/files/static.yaml", "hub: describe compute", "hub: list", "hub: list -A -o wide", "hub: list -o name", "east: describe compute", "east: list -o wide"},
	"full": {"hub: explain compute", "hub: describe compute", "hub: list -A", "west: describe compute", "hub: describe fq/compute --cluster west --resource requests.cpu",
		"hub: plan -f testdata/files/same.yaml --all --exit-code", "hub: plan -f testdata/files/cut.yaml --exit-code", "hub: plan -f testdata/files/raise.yaml",
		"hub: plan -f testdata/files/static.yaml", "hub: plan -f testdata/files/invalid.yaml", "hub: plan -f testdata/files/typo.yaml",
		"hub: plan -f testdata/files/leave.yaml", "hub: plan -f testdata/files/new.yaml"},
	"draining":    {"hub: explain compute", "hub: describe compute --show-events=false", "hub: list --not-ready -o wide"},
	"break-glass": {"hub: explain compute", "hub: describe compute --show-events=false", "east: describe qs/compute --show-events=false"},
	"leaving":     {"hub: explain compute", "hub: describe compute --show-events=false"},
	"not-ready":   {"hub: explain compute", "hub: describe compute --show-events=false", "hub: list"},
	"cut-off":     {"hub: explain compute", "hub: plan -f testdata/files/cut.yaml", "hub: describe compute --show-events=false", "hub: describe none"},
}
