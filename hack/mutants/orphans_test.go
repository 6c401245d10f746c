package main

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestEndChildren sees that a process is ended whose parent has gone without it.
func TestEndChildren(t *testing.T) {
	if err := adoptOrphans(); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command("sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(string(output)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(orphan, 0); err != nil {
		t.Fatalf("the orphan does not run: %v", err)
	}
	if err := endChildren(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(orphan, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("signal the orphan: %v, want: %v", err, syscall.ESRCH)
	}
}
