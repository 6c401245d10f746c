package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/report"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/record"
)

var noon = time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC)

// recorded returns the record of a budget of 10 cores and 40 GiB over two clusters, of the ten hours before noon.
func recorded(t *testing.T, namespace, pool string) *quotav1alpha1.QuotaRecord {
	t.Helper()
	const gib = 1 << 30
	from := noon.Add(-10 * time.Hour)
	tally := record.Begin(from, "1")
	tally.Observe(from, &record.Level{
		Names: []corev1.ResourceName{"requests.cpu", "requests.memory"},
		Total: []record.Amounts{{Budget: 10000, Granted: 10000, Used: 8000, Demand: 2000}, {Budget: 40 * gib, Granted: 30 * gib, Used: 20 * gib}},
		Clusters: []record.Holding{
			{Name: "east", Amounts: []record.Amounts{{Budget: 5000, Granted: 7000, Used: 5000}, {Budget: 20 * gib, Granted: 15 * gib, Used: 10 * gib}}},
			{Name: "west", Silent: true, Amounts: []record.Amounts{{Budget: 5000, Granted: 3000, Used: 3000, Demand: 2000}, {Budget: 20 * gib, Granted: 15 * gib, Used: 10 * gib}}},
		},
	})
	tally.Advance(noon)
	month := tally.Take()[0]
	data, err := month.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &quotav1alpha1.QuotaRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "compute-2026-11"}, Quota: "compute", Pool: pool, Month: "2026-11",
		From: &metav1.Time{Time: from}, Until: &metav1.Time{Time: noon}, Data: data,
	}
}

// ofPool returns the record of a pool of 20 cores with two children, of the ten hours before noon.
func ofPool(t *testing.T) *quotav1alpha1.QuotaRecord {
	t.Helper()
	from := noon.Add(-10 * time.Hour)
	tally := record.Begin(from, "1")
	tally.Observe(from, &record.Level{
		Names: []corev1.ResourceName{"requests.cpu"},
		Total: []record.Amounts{{Budget: 20000, Granted: 20000, Used: 16000, Demand: 2000}},
		Clusters: []record.Holding{
			{Name: "FederatedQuota/team-a/compute", Amounts: []record.Amounts{{Budget: 10000, Granted: 14000, Used: 14000, Demand: 2000}}},
			{Name: "QuotaPool/interns", Amounts: []record.Amounts{{Budget: 10000, Granted: 6000, Used: 2000}}},
		},
	})
	tally.Advance(noon)
	month := tally.Take()[0]
	data, err := month.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &quotav1alpha1.QuotaRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fedquota-system", Name: "research-2026-11-pool"}, Pool: "research", Month: "2026-11",
		From: &metav1.Time{Time: from}, Until: &metav1.Time{Time: noon}, Data: data,
	}
}

// run runs the command over objects, and returns what it prints, and its error.
func run(t *testing.T, objects []client.Object, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	env := cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	env.Clock = clocktesting.NewFakePassiveClock(noon)
	env.Config.APIServer, env.Config.Namespace = new("https://hub"), new("team-a")
	env.Connect = func(*rest.Config) (client.WithWatch, error) {
		return fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(objects...).Build(), nil
	}
	command := report.NewCommand(env)
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	if err := command.ExecuteContext(t.Context()); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReport(t *testing.T) {
	objects := []client.Object{recorded(t, "team-a", "research"), recorded(t, "team-b", "research"), ofPool(t)}
	prices := write(t, "currency: EUR\nprices: {requests.cpu: 0.5, requests.memory: 0.01, pods: 1}\n")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"by cluster": {nil, `
NAME      CLUSTER   RESOURCE          UNIT   BUDGET   GRANTED   USED    DEMAND   LENDS   LENT   WAITED   PEAK
compute   east      requests.cpu      core   50.0     70.0      50.0    -        -       20.0   -        5.00
compute   east      requests.memory   GiB    200.0    150.0     100.0   -        -       -      -        10.0
compute   west      requests.cpu      core   50.0     30.0      30.0    20.0     20.0    -      10.0     3.00
compute   west      requests.memory   GiB    200.0    150.0     100.0   -        -       -      -        10.0
`},
		"by pool, with what that costs": {[]string{"-A", "--by", "pool", "--prices", prices}, `
--prices: no budget has pods.
POOL       RESOURCE          UNIT   BUDGET   GRANTED   USED    DEMAND   LENDS   LENT   WAITED   PEAK   EUR
research   requests.cpu      core   200.0    200.0     160.0   40.0     40.0    40.0   20.0     8.00   80.00
research   requests.memory   GiB    800.0    600.0     400.0   -        -       -      -        20.0   4.00
`},
		"what was granted is paid for": {[]string{"--by", "namespace", "--prices", prices, "--charge", "granted", "-o", "csv"}, `
--prices: no budget has pods.
pool,namespace,budget,cluster,resource,unit,budgetHours,grantedHours,usedHours,demandHours,lendsHours,lentHours,waitedHours,peak,unobservedHours,cost,currency
,team-a,,,requests.cpu,core,100,100,80,20,20,20,10,8,0,50,EUR
,team-a,,,requests.memory,GiB,400,300,200,0,0,0,0,20,0,3,EUR
`},
		"by hour":              {[]string{"--by", "hour", "-o", "csv"}, "cost,currency,start\nresearch,team-a,compute,,requests.cpu,core,10,10,8,2,0,0,1,8,0,,,2026-11-28T02:00Z\n"},
		"by hour for OpenCost": {[]string{"--by", "hour", "-o", "opencost"}, "error: --by hour: OpenCost's allocations are of the whole month"},
		"no such month":        {[]string{"--month", "2026-13"}, `error: --month "2026-13": must be a year and a month, such as 2026-11`},
		"nothing of it":        {[]string{"--month", "2026-10"}, `error: --month "2026-10": nothing is recorded of it; something is of 2026-11`},
		"nothing at all":       {[]string{"other"}, "error: nothing is recorded in namespace team-a: the hub manager writes the first QuotaRecord of a budget within a minute, and none with --record-months 0"},
		"a pool by children": {[]string{"qp/research"}, `
CHILD                           RESOURCE       UNIT   BUDGET   GRANTED   USED    DEMAND   LENDS   LENT   WAITED   PEAK
FederatedQuota/team-a/compute   requests.cpu   core   100.0    140.0     140.0   20.0     -       40.0   10.0     14.0
QuotaPool/interns               requests.cpu   core   100.0    60.0      20.0    -        40.0    -      -        2.00
`},
		"a pool":           {[]string{"qp/research", "--by", "pool", "-o", "csv"}, "cost,currency,child\nresearch,,,,requests.cpu,core,200,200,160,20,40,40,10,16,0,,,\n"},
		"a pool by hour":   {[]string{"qp/research", "--by", "hour", "-o", "csv"}, "cost,currency,start,child\nresearch,,,,requests.cpu,core,20,20,16,2,0,0,1,16,0,,,2026-11-28T02:00Z,\n"},
		"a pool by budget": {[]string{"qp/research", "--by", "budget"}, `error: --by "budget": of a pool, must be cluster, which shows its children, pool or hour`},
		"no such pool":     {[]string{"qp/other"}, "error: nothing is recorded in namespace fedquota-system: "},
		"a share":          {[]string{"qs/compute"}, `error: "qs/compute": must be NAME, fq/NAME or qp/NAME: of others nothing is recorded`},
		"by what":          {[]string{"--by", "team"}, `error: --by "team": must be cluster, budget, namespace, pool, hour`},
		"a bad price":      {[]string{"--prices", write(t, "prices: {pods: -1}")}, "must be 0 or more"},
		"no prices":        {[]string{"--prices", write(t, "currency: EUR")}, "names no price: prices must have a resource name, such as requests.cpu: 0.03"},
		"a typo in prices": {[]string{"--prices", write(t, "price: {pods: 1}")}, "must be prices by resource name, as the help shows"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if len(args) > 0 && args[0] == "-n" { // the flag is one of the whole program
				args = args[2:]
			}
			got := run(t, objects, args...)
			if want := strings.TrimPrefix(c.want, "\n"); !strings.HasPrefix(c.want, "\n") {
				if !strings.Contains(got, want) {
					t.Errorf("%s\ndoes not say %q", got, want)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOpenCost has a month be allocations that OpenCost's readers take.
func TestOpenCost(t *testing.T) {
	got := run(t, []client.Object{recorded(t, "team-a", "")}, "--by", "budget", "-o", "opencost", "--prices", write(t, "prices: {requests.cpu: 0.5}"))
	want := `{
    "code": 200,
    "data": [
        {
            "team-a/compute": {
                "name": "team-a/compute",
                "properties": {
                    "namespace": "team-a",
                    "labels": {
                        "budget": "compute"
                    }
                },
                "window": {
                    "start": "2026-11-01T00:00:00Z",
                    "end": "2026-11-28T12:00:00Z"
                },
                "start": "2026-11-01T00:00:00Z",
                "end": "2026-11-28T12:00:00Z",
                "minutes": 39600,
                "cpuCores": 0.1212121,
                "cpuCoreRequestAverage": 0.1212121,
                "cpuCoreHours": 80,
                "cpuCost": 40,
                "gpuCount": 0,
                "gpuHours": 0,
                "gpuCost": 0,
                "pvBytes": 0,
                "pvByteHours": 0,
                "pvCost": 0,
                "ramBytes": 325376300,
                "ramByteRequestAverage": 325376300,
                "ramByteHours": 214748364800,
                "ramCost": 0,
                "externalCost": 0,
                "totalCost": 40
            }
        }
    ]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
