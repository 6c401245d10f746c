//go:build node

package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fedquota/fedquota/e2e/node"
)

// TestMain runs the tests in a sandbox, where there can be one.
func TestMain(m *testing.M) {
	missing, err := exec.Command("./needs.sh").Output()
	if err != nil || len(missing) > 0 {
		fmt.Println("SKIPPED: no pod ran on a real node, since this machine lacks:", strings.Join(strings.Fields(string(missing)), " "), err)
		return
	}
	ctrl.SetLogger(logr.Discard()) // what the libraries of the fleet have to say of themselves
	os.Exit(node.Sandbox(m.Run))
}
