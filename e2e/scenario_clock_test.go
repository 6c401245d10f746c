//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
)

// skewVariable says by how many seconds the wall clock of a manager of skewedManager is ahead.
const skewVariable = "FEDQUOTA_CLOCK_SKEW"

// testClocks runs agents whose clocks are an hour ahead and an hour behind, and then a hub manager whose clock is an
// hour ahead.
func testClocks(t *testing.T, w *world) {
	manager := skewedManager(t)
	s := newScenario(t, w, "clocks", budget("30", "60"))
	s.create(budget("30", "60"))
	s.split(sample)
	s.witness(1)
	s.fault("clock of the agent of east an hour ahead, of west an hour behind")
	for member, skew := range map[string]int{east: 3600, west: -3600} {
		s.standIn(w.Agents[member], manager, skew, func(ctx context.Context, other *system.System) (*fleet.Process, error) {
			return other.StartAgent(ctx, w.Member(member), system.Agent(member)+"-skewed")
		})
	}
	s.movesUnderLoad()
	s.fault("and of the hub manager an hour ahead")
	s.standIn(w.HubManager, manager, 3600, func(ctx context.Context, other *system.System) (*fleet.Process, error) {
		return other.StartHubManager(ctx, system.HubManager+"-skewed")
	})
	s.movesUnderLoad()

	// Limits that follow demand: requests that are held, demand that ages, moves that are damped.
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Rebalance.Mode = quotav1alpha1.RebalanceAuto })
	for _, member := range []string{east, west} {
		s.fill(member, "most", 24, "1")
		s.used(member, cpu, "24100m")
		s.drain(member, "most")
	}
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Rebalance.Mode = quotav1alpha1.RebalanceStatic })
	s.split(sample)
	s.finish()
}

// movesUnderLoad moves limits to and fro under load, and sees that all comes to rest.
func (s *scenario) movesUnderLoad() {
	s.Helper()
	s.storm(east, west)
	for n := range 4 {
		s.turn(n + 1)
		s.progress()
	}
	s.turn(0)
	s.endStorms()
	s.split(sample)
}

// standIn ends a process and starts one of another clock in its place, until the scenario ends.
func (s *scenario) standIn(process *fleet.Process, manager string, skew int, start func(context.Context, *system.System) (*fleet.Process, error)) {
	s.Helper()
	s.must(process.Kill())
	s.Cleanup(func() { s.must(process.Restart(context.Background())) })
	other, err := start(s.Context(), s.StandIn(manager, fmt.Sprintf("%s=%d", skewVariable, skew)))
	s.must(err)
	s.Cleanup(func() { s.must(other.Kill()) })
}

// skewedManager builds the manager with a standard library whose time.Now is off by what skewVariable says: the whole
// process has that clock, its libraries included, and the product has nothing in it that could turn its clock.
func skewedManager(t *testing.T) string {
	t.Helper()
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), now) != 1 {
		t.Fatal("time.Now of this Go is not the one that this test knows")
	}
	const skew = "package time\n\nimport \"syscall\"\n\nvar skew = func() int64 {\n" +
		"\ttext, _ := syscall.Getenv(\"" + skewVariable + "\")\n\tseconds, _ := atoi(text)\n\treturn int64(seconds)\n}()\n"
	// Go's tools leave folders alone whose names begin so.
	dir, err := filepath.Abs(filepath.Join("..", "bin", "e2e", "_skewed"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"time.go": strings.Replace(string(source), now, now+"\tsec += skew\n", 1), "skew.go": skew}
	overlay := map[string]map[string]string{"Replace": {}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		overlay["Replace"][filepath.Join(library, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, manager := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "manager")
	if err := os.WriteFile(list, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log("building the manager with another clock, about 2 minutes on two cores, once")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-overlay", list, "-ldflags", "-s -w", "-o", manager, "./cmd/manager")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return manager
}
