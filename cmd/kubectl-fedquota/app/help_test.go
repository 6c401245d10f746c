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
		"describe --clutser=east": "unknown flag: --clutser: see kubectl fedquota describe --help",
		"explain":                 "accepts 1 arg(s), received 0: must be kubectl fedquota explain [KIND/]NAME [flags]",
		"describe -o xml":         `invalid argument "xml" for "-o, --output" flag: must be json or yaml`,
		"explian compute":         "unknown command",
		"plan":                    `required flag(s) "filename" not set`,
		"plan -f nowhere.yaml":    "no such file",
		"top --interval 1ms":      "--interval 1ms: must be at least 100ms",
		"tree fq/compute":         `"fq/compute": must be NAME or qp/NAME, of a QuotaPool`,
		"top --limit -1":          "--limit -1: must be 0, which shows all, or more",
		"list compute":            "must be kubectl fedquota list [flags]",

		"describe nothing":                                  `federatedquotas.quota.fedquota.io "nothing" not found: namespace team-a has compute`,
		"describe qs/nothing":                               "this API server does not serve the kinds of fedquota",
		"describe compute --resource cpus":                  "--resource cpus: FederatedQuota compute does not limit it, it limits pods, requests.cpu",
		"history compute --cluster nowhere":                 "--cluster nowhere: FederatedQuota compute has no such cluster, it has east, west",
		"history compute --since 0":                         `invalid argument "0" for "--since" flag: must be a time such as 90m, 12h or 30d`,
		"audit compute --for -1s":                           `invalid argument "-1s" for "--for" flag: must be a time such as 90m, 12h or 30d`,
		"audit nothing":                                     "namespace team-a has compute",
		"fits -f testdata/files/pod.yaml --cluster nowhere": "--cluster nowhere: no FederatedQuota that counts these pods selects it, they select east, west",
		"adopt compute --clusters east,east":                "--clusters east,east: names east twice",
		"adopt compute --clusters=":                         "--clusters: must name a Cluster",
		"adopt compute --clusters east --timeout -1s":       `invalid argument "-1s" for "--timeout" flag: must be a time such as 30s or 5m, or 0`,
		"join west --budget=":                               "--budget: must name a FederatedQuota",
		"leave west --budget=":                              "--budget: must name a FederatedQuota",
		"leave west --destroyed=":                           "--destroyed: must not be empty",
		"view --serve-others :0 --most-others 0":            "--most-others 0, --most-of-one 5: must be 1 or more",
	} {
		if got := open(t, "full").run(hub, strings.Fields(args)...); !strings.Contains(got, want) || !strings.Contains(got, "(exit code 1)") {
			t.Errorf("%s says %q, want %q", args, got, want)
		}
	}
}
