package app_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
)

// TestHelp sees that each command says what it does, with at least two examples, on no more than a page's width.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	env := cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	commands := app.NewCommand(env).Commands()
	if len(commands) < 10 {
		t.Fatalf("there are %d commands", len(commands))
	}
	for _, command := range commands {
		if examples := strings.Count(command.Example, "kubectl fedquota "+command.Name()); examples < 2 {
			t.Errorf("%s has %d examples", command.Name(), examples)
		}
		if command.Long == "" || command.Short == "" {
			t.Errorf("%s does not say what it does", command.Name())
		}
		out.Reset()
		app.Execute(t.Context(), env, []string{command.Name(), "--help"})
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > 121 {
				t.Errorf("the help of %s is wider than 120 columns: %s", command.Name(), line)
			}
		}
	}
}

// TestMistakes sees that nobody whose command line is wrong is left with an exit code alone.
func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"describe --clutser=east": "unknown flag: --clutser",
		"explain":                 "accepts 1 arg(s), received 0",
		"describe -o xml":         `invalid argument "xml" for "-o, --output" flag: must be json or yaml`,
		"explian compute":         "unknown command",
		"plan":                    `required flag(s) "filename" not set`,
		"plan -f nowhere.yaml":    "no such file",
		"top --interval 1ms":      "--interval 1ms: must be at least 100ms",
	} {
		if got := open(t, "full").run(hub, strings.Fields(args)...); !strings.Contains(got, want) || !strings.Contains(got, "(exit code 1)") {
			t.Errorf("%s says %q, want %q", args, got, want)
		}
	}
}
