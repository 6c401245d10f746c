package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestMistakesAreTold sees that nobody whose command line is wrong is left with an exit status alone.
func TestMistakesAreTold(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"hub --concurency=3", "unknown flag: --concurency"},
		{"hub --concurrency=many", `invalid argument "many" for "--concurrency" flag`},
		{"agent east", `unknown command "east"`},
		{"member", `unknown command "member"`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var told bytes.Buffer
			root := newRootCommand()
			root.SetArgs(strings.Fields(tc.args))
			root.SetErr(&told)
			if err := root.ExecuteContext(t.Context()); err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(told.String(), tc.want) {
				t.Errorf("it says %q, want %q", told.String(), tc.want)
			}
		})
	}
}
