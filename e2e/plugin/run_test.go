//go:build e2e

package plugin_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/e2e/fleet"
)

// run runs a command against an API server, and returns its exit code and what it printed.
func (w *world) run(server string, args ...string) (code int, out, errOut string) {
	w.Helper()
	return w.runBy(w.Context(), w.plane(server).Kubeconfig, args...)
}

// runBy runs a command with a kubeconfig.
func (w *world) runBy(ctx context.Context, kubeconfig string, args ...string) (code int, out, errOut string) {
	w.Helper()
	var o, e bytes.Buffer
	all := append(slices.Clone(args), "--kubeconfig", kubeconfig)
	if !slices.Contains(args, "-n") {
		all = append(all, "-n", team)
	}
	code = app.Execute(ctx, cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &o, ErrOut: &e}), all)
	for line := range strings.Lines(o.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 120 && !strings.Contains(strings.Join(args, " "), "-o ") && args[0] != "bundle" {
			w.Errorf("%v prints a line of %d columns: %s", args, width, line)
		}
	}
	return code, o.String(), e.String()
}

// out runs a command that has to succeed, and returns what it printed.
func (w *world) out(server string, args ...string) string {
	w.Helper()
	code, out, errOut := w.run(server, args...)
	if code != 0 {
		w.Fatalf("kubectl fedquota %v in %s ended with %d: %s%s", args, server, code, out, errOut)
	}
	return out
}

// shows demands that a command succeeds, and prints these pieces in this order.
func (w *world) shows(server, command string, pieces ...string) {
	w.Helper()
	out := w.out(server, strings.Fields(command)...)
	w.has(command, out, pieces...)
}

// page runs a command and keeps what it prints for a page of docs/tasks, whatever it answers, and returns that.
func (w *world) page(name, server string, args ...string) string {
	w.Helper()
	if len(args) == 1 {
		args = strings.Fields(args[0])
	}
	_, out, errOut := w.run(server, args...)
	w.keep(name, server, pluginLine(args), out+errOut)
	return out + errOut
}

// pageAndCode is page for those who ask for the exit code, which is shown as well.
func (w *world) pageAndCode(name, server, command string) (code int, printed string) {
	w.Helper()
	code, out, errOut := w.run(server, strings.Fields(command)...)
	w.keep(name, server, pluginLine(strings.Fields(command)), fmt.Sprintf("%s%s$ echo $?\n%d\n", out, errOut, code))
	return code, out + errOut
}

// pluginLine is what somebody types to run a command of the plugin.
func pluginLine(args []string) []string {
	line := append([]string{"kubectl", "fedquota"}, args...)
	everywhere := func(arg string) bool {
		return slices.Contains([]string{"-n", "-A", "convert", "tree", "--pools"}, arg) || strings.HasPrefix(arg, "qp/")
	}
	if !slices.ContainsFunc(args, everywhere) {
		line = append(line, "-n", team)
	}
	return line
}

// kubectlPage runs kubectl, and keeps what it prints as page does.
func (w *world) kubectlPage(name, server string, args ...string) string {
	w.Helper()
	if len(args) == 1 {
		args = strings.Fields(args[0])
	}
	out, _ := w.kubectl(server, args...)
	w.keep(name, server, append([]string{"kubectl"}, args...), out)
	return out
}

// keep writes what a command has printed where make see-docs finds it. Files are shown as if they were at hand.
func (w *world) keep(name, server string, said []string, printed string) {
	w.Helper()
	shown := "$"
	for _, arg := range said {
		switch {
		case strings.ContainsAny(arg, `"{`):
			arg = "'" + arg + "'"
		case strings.Contains(arg, " "):
			arg = strconv.Quote(arg)
		}
		shown += " " + arg
	}
	if server != hub {
		shown += "   # in " + server
	}
	content := strings.ReplaceAll(shown+"\n"+strings.TrimRight(printed, "\n")+"\n", files, "")
	folder := filepath.Join(w.root, "bin", "e2e", "plugin")
	w.must(os.MkdirAll(folder, 0o750))
	w.must(os.WriteFile(filepath.Join(folder, name+".txt"), []byte(content), 0o600))
}

// answers demands an exit code, and pieces in what a command prints, in this order.
func (w *world) answers(server, command string, want int, pieces ...string) {
	w.Helper()
	code, out, errOut := w.run(server, strings.Fields(command)...)
	if code != want {
		w.Errorf("kubectl fedquota %s in %s ended with %d, want %d", command, server, code, want)
	}
	w.has(command, out+errOut, pieces...)
}

// has demands pieces of an output in this order, whatever space is between their words.
func (w *world) has(command, out string, pieces ...string) {
	w.Helper()
	rest := strings.Join(strings.Fields(out), " ")
	for _, piece := range pieces {
		_, after, found := strings.Cut(rest, piece)
		if !found {
			w.Errorf("kubectl fedquota %s does not print %q in its place:\n%s", command, piece, out)
			return
		}
		rest = after
	}
}

// files is where the objects are that commands are given.
const files = "../../cmd/kubectl-fedquota/app/testdata/files/"

// kubectl runs kubectl, which finds the built plugin, and returns all that it prints.
func (w *world) kubectl(server string, args ...string) (string, error) {
	w.Helper()
	command := exec.CommandContext(w.Context(), filepath.Join(os.Getenv(fleet.AssetsVariable), "kubectl"), args...)
	command.Env = append(os.Environ(), "PATH="+filepath.Join(w.root, "bin")+":"+os.Getenv("PATH"), "KUBECONFIG="+w.plane(server).Kubeconfig)
	out, err := command.CombinedOutput()
	return string(out), err
}
