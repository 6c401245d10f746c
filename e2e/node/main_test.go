//go:build node

package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fedquota/fedquota/e2e/node"
)

// TestMain runs the tests in a sandbox, where there can be one.
func TestMain(m *testing.M) {
	if missing := node.Missing(); len(missing) > 0 {
		fmt.Printf("SKIPPED: no pod ran on a real node, since this machine lacks %s.\n", strings.Join(missing, ", "))
		return
	}
	ctrl.SetLogger(logr.Discard()) // what the libraries of the fleet have to say of themselves
	os.Exit(node.Sandbox(m.Run))
}
