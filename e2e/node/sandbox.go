package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// stageVariable says what a process of the program is: the one that was started, the first one in the sandbox, or the
	// one that does the work.
	stageVariable = "FEDQUOTA_SANDBOX_STAGE"
	stageFirst    = "first"
	stageWork     = "work"

	failed = 1
)

// Sandbox runs a program's work in namespaces of its own, and returns the exit status of the program. All processes in
// them end with it, or with this process.
func Sandbox(work func() int) int {
	switch os.Getenv(stageVariable) {
	case stageWork:
		return work()
	case stageFirst:
		return report(beFirst())
	default:
		return report(enter())
	}
}

// report tells an error that comes with no exit status of its own.
func report(status int, err error) int {
	if err == nil {
		return status
	}
	fmt.Fprintln(os.Stderr, "sandbox:", err)
	return failed
}

// enter starts the program again in a new sandbox, waits for its end, and removes what the sandbox leaves.
func enter() (int, error) {
	runtime.LockOSThread() // the parent death signal is that of this thread
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := removeLeftCgroups(); err != nil {
		return failed, err
	}
	group := cgroupOf(os.Getpid())
	if err := makeCgroups(group); err != nil {
		return failed, errors.Join(err, removeCgroups(group))
	}
	first := again(ctx, stageFirst)
	first.Env = append(first.Env, cgroupVariable+"="+group)
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	err := first.Run()
	if err := removeCgroups(group); err != nil {
		return failed, err
	}
	return exitStatus(err)
}

// again is the command that runs this program again as a later stage.
func again(ctx context.Context, stage string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), stageVariable+"="+stage)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// exitStatus returns the exit status of a process that was waited for.
func exitStatus(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.Exited() {
		return ended.ExitCode(), nil
	}
	return failed, err
}

// beFirst is the first process of the sandbox: it makes mounts and network, starts the work, and reaps what others
// leave behind. All of the sandbox ends with it.
func beFirst() (int, error) {
	if err := makeMounts(); err != nil {
		return failed, fmt.Errorf("mounting: %w", err)
	}
	if err := makeNetwork(); err != nil {
		return failed, fmt.Errorf("making the network: %w", err)
	}
	work := again(context.Background(), stageWork)
	if err := work.Start(); err != nil {
		return failed, err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return failed, err
		case pid == work.Process.Pid && status.Exited():
			return status.ExitStatus(), nil
		case pid == work.Process.Pid:
			return failed, fmt.Errorf("ended by signal %s", status.Signal())
		}
	}
}

// makeMounts gives the sandbox a /proc of its processes, and empty folders where programs keep what they know of the
// machine.
func makeMounts() error {
	// Mounts of the sandbox stay in it; within it they are shared, as kubelet wants it.
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("/: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	for _, folder := range []string{"/run", "/var/lib", "/var/log"} {
		if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	return nil
}

// makeNetwork brings up the loopback device and a bridge with the node's address. All that has no other way goes to the
// bridge, for addresses of Services need one until kube-proxy turns them into others.
func makeNetwork() error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", device, "type", "bridge"},
		{"address", "add", Address + "/24", "dev", device},
		{"link", "set", device, "up"},
		{"route", "add", "default", "dev", device},
	} {
		if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, output)
		}
	}
	return nil
}
