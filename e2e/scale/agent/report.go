package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

// row is what a phase has shown. Memory is resident, in MiB; CPU in seconds, of the agent and of etcd and
// kube-apiserver.
type row struct {
	phase              string
	seconds            float64
	peak, end          float64
	cpu, controlPlane  float64
	load, note         string
	startedWith, began float64
}

// measure runs a phase and notes what it showed.
func (m *member) measure(ctx context.Context, phase string, do func(context.Context) (string, error)) error {
	fmt.Fprintln(os.Stderr, "phase", phase)
	r := row{phase: phase}
	pid := m.pid()
	if pid > 0 {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // without, the maximum goes on from the phase before
		r.startedWith = rig.CPUSeconds(pid)
	}
	r.began = m.planeCPU()
	began := time.Now()
	var err error
	if r.note, err = do(ctx); err != nil {
		return err
	}
	r.seconds = time.Since(began).Seconds()
	if m.pid() != pid {
		r.startedWith = 0
	}
	r.cpu, r.controlPlane = rig.CPUSeconds(m.pid())-r.startedWith, m.planeCPU()-r.began
	r.peak, r.end = rig.Memory(m.pid())
	r.load = rig.ThisMachine().Load
	m.rows = append(m.rows, r)
	if err := m.write(); err != nil || !m.profile {
		return err
	}
	return errors.Join(rig.SaveProfile(ctx, m.pprof, "heap", m.results, phase), rig.SaveProfile(ctx, m.pprof, "goroutine", m.results, phase))
}

func (m *member) pid() int {
	if m.agent == nil {
		return 0
	}
	return m.agent.PID()
}

func (m *member) planeCPU() (sum float64) {
	for _, name := range []string{fleet.Etcd, fleet.APIServer} {
		sum += rig.CPUSeconds(m.plane.Process(name).PID())
	}
	return sum
}

// write writes the table.
func (m *member) write() error {
	var lines strings.Builder
	fmt.Fprintf(&lines, "phase\tseconds\tMiB max\tMiB end\tagent CPU s\tcontrol plane CPU s\tload\t\n")
	for _, r := range m.rows {
		fmt.Fprintf(&lines, "%s\t%.1f\t%.0f\t%.0f\t%.1f\t%.1f\t%s\t%s\n", r.phase, r.seconds, r.peak, r.end, r.cpu, r.controlPlane, r.load, r.note)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "agent: %s\n", m.machine)
	if err := rig.Table(&table, lines.String()); err != nil {
		return err
	}
	if err := os.MkdirAll(m.results, 0o755); err != nil {
		return err
	}
	fmt.Fprint(os.Stderr, table.String())
	return os.WriteFile(filepath.Join(m.results, "agent.txt"), []byte(table.String()), 0o644)
}
