package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for name, c := range map[string]struct {
		content, env string
		want         int64
	}{
		"a limit":                  {content: "1073741824\n", want: 966367638},
		"none":                     {content: "max\n", want: before},
		"what somebody set":        {content: "1073741824\n", env: "512MiB", want: before},
		"nothing that can be read": {want: before},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(before)
			t.Setenv("GOMEMLIMIT", c.env)
			file := filepath.Join(t.TempDir(), "memory.max")
			if c.content != "" {
				if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			limitMemory(file)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
