package fleet

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// recordAndExec writes the shell's own line of /proc to the file in its first argument and becomes the program in the
// rest. So a process is on record before it can do anything, whatever happens to its starter in the meantime.
const recordAndExec = `set -e; IFS= read -r stat </proc/self/stat; printf '%s\n' "$stat" >"$1"; shift; exec "$@"`

// forks takes the functions that start processes. They all run on one operating system thread that never ends:
// the kernel sends the parent death signal when the thread that forked ends, not when the process does.
var forks = sync.OnceValue(func() chan<- func() {
	queue := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range queue {
			start()
		}
	}()
	return queue
})

// spawn starts a command whose process records itself in the given file and, unless it is detached, dies with this
// process. A session of its own keeps the terminal's signals away from it.
func spawn(c command, record string, output *os.File, detach bool) (*exec.Cmd, error) {
	args := append([]string{"-c", recordAndExec, "sh", record, c.path}, c.args...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !detach {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}

	started := make(chan error)
	forks() <- func() { started <- cmd.Start() }
	return cmd, <-started
}
