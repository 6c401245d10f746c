package app_test

// cases are the command lines of which the output is kept, by the state that they are run in, each with the API server before it.
var cases = map[string][]string{
	"fresh":       {"hub: describe compute", "hub: list"},
	"settled":     {"hub: describe compute", "hub: list", "hub: list -A -o wide", "hub: list -o name", "east: describe compute", "east: list -o wide"},
	"full":        {"hub: describe compute", "hub: list -A", "west: describe compute", "hub: describe fq/compute --cluster west --resource requests.cpu"},
	"draining":    {"hub: describe compute --show-events=false", "hub: list --not-ready -o wide"},
	"break-glass": {"hub: describe compute --show-events=false", "east: describe qs/compute --show-events=false"},
	"leaving":     {"hub: describe compute --show-events=false"},
	"not-ready":   {"hub: describe compute --show-events=false", "hub: list"},
	"cut-off":     {"hub: describe compute --show-events=false", "hub: describe none"},
}
