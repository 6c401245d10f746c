package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The folders of a process's log and of its record.
const (
	logsFolder    = "logs"
	recordsFolder = "run"
)

const (
	readyTimeout = 2 * time.Minute
	tailLines    = 12
	tailBytes    = 8 << 10
	revivePause  = time.Second
)

var (
	errExited  = errors.New("it has exited")
	errRunning = errors.New("it runs already")
)

// command says how to run a process and when it is ready.
type command struct {
	name  string
	path  string
	args  []string
	env   []string
	dir   string
	ready func(context.Context) error
	// revive says whether the process is started again when it has ended by itself.
	revive bool
}

// Process is one process of a fleet. Its methods may be called from several goroutines.
type Process struct {
	// Name is the program's name within its control plane, or the one given to Fleet.Run.
	Name string
	// LogPath is the file with all that the process has printed, over all its restarts.
	LogPath string

	command command
	record  string
	detach  bool

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	// ended says that somebody has ended the process since it was started last: it stays away.
	ended bool
}

// newProcess describes a process, not started yet, that keeps its log and its record under a folder.
func newProcess(c command, folder string, detach bool) *Process {
	ended := make(chan struct{})
	close(ended)
	return &Process{
		Name:    c.name,
		LogPath: filepath.Join(folder, logsFolder, c.name+".log"),
		command: c,
		record:  filepath.Join(folder, recordsFolder, c.name),
		detach:  detach,
		done:    ended,
	}
}

// PID is the id of the process, or 0 if it never ran.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Done is closed once the process has ended. A restart opens a new one.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Pause stops the process as it stands (SIGSTOP), until Resume, and returns when it has stopped.
func (p *Process) Pause(ctx context.Context) error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		now, err := readStat(p.PID())
		return now.state == stateStopped, err
	})
}

// Resume continues a paused process.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Kill ends the process at once (SIGKILL) and returns when it is gone.
func (p *Process) Kill() error {
	if err := p.end(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.Done()
	return nil
}

// end sends a signal that ends the process for good.
func (p *Process) end(s os.Signal) error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	return p.signal(s)
}

// Stop asks the process to end, makes it end after a few seconds, and returns when it is gone.
func (p *Process) Stop() error {
	if err := errors.Join(p.end(syscall.SIGTERM), p.signal(syscall.SIGCONT)); err != nil {
		return err
	}
	select {
	case <-p.Done():
		return nil
	case <-time.After(stopGrace):
		return p.Kill()
	}
}

// Restart kills the process if it runs, starts it with the same arguments, and waits until it is ready.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Kill(); err != nil {
		return err
	}
	return p.start(ctx)
}

// start runs the process and waits until it is ready. One that does not get there is ended.
func (p *Process) start(ctx context.Context) error {
	p.mu.Lock()
	p.ended = false
	err := p.launch()
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if p.command.ready == nil {
		return nil
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, pollInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		if isClosed(p.Done()) {
			return false, errExited
		}
		last = p.command.ready(ctx)
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	if last != nil {
		err = fmt.Errorf("%w, and before: %w", err, last)
	}
	err = fmt.Errorf("%s is not ready: %w; its log %s ends with:\n%s", p.Name, err, p.LogPath, p.tail())
	return errors.Join(err, p.Kill())
}

// launch starts the process, unless it runs, and a goroutine that reaps it. The caller holds the mutex.
func (p *Process) launch() error {
	if !isClosed(p.done) {
		return errRunning
	}
	for _, file := range []string{p.LogPath, p.record} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
	}
	output, err := os.OpenFile(p.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()

	cmd, err := spawn(p.command, p.record, output, p.detach)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = os.Remove(p.record)
		close(done)
		if p.command.revive {
			time.AfterFunc(revivePause, p.revive)
		}
	}()
	p.cmd, p.done = cmd, done
	return nil
}

// revive starts the process again, unless somebody has ended it or started it meanwhile.
func (p *Process) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && isClosed(p.done) {
		_ = p.launch() // its log ends with why it has ended
	}
}

// isClosed tells whether a channel is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// signal sends a signal to the process; one that has ended, or never started, takes it in silence.
func (p *Process) signal(s os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s: %w", s, p.Name, err)
	}
	return nil
}

// tail returns the last lines of the log.
func (p *Process) tail() string {
	data, err := os.ReadFile(p.LogPath)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(data[max(0, len(data)-tailBytes):]))
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
