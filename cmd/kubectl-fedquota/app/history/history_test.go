package history_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/history"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/record"
)

var noon = time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC)

// objects are a budget, a record of it until an hour ago, and the events of two moves, of which the record has the first.
func objects(t *testing.T) []client.Object {
	t.Helper()
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team-a", Name: "compute", UID: "1", CreationTimestamp: metav1.NewTime(noon.AddDate(-1, 0, 0)),
	}}
	spec := func(pods string) quotav1alpha1.FederatedQuotaSpec {
		return quotav1alpha1.FederatedQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse(pods)}}
	}
	begun, until := noon.AddDate(0, 0, -20), noon.Add(-time.Hour)
	tally := record.Begin(begun, "1")
	tally.Now().Moves.Add(
		record.Move{Time: begun, Resource: "pods", Cluster: "east", From: "5", To: "9", Why: "Demand"},
		record.Move{Time: until.Add(-time.Minute), Resource: "pods", Cluster: "east", From: "9", To: "8", Why: "Weight"},
	)
	for generation, pods := range []string{"10", "12"} {
		if err := tally.Now().Audit.See(begun.AddDate(0, 0, generation), "kubectl-edit", int64(generation+1), spec(pods)); err != nil {
			t.Fatal(err)
		}
	}
	tally.Advance(until)
	data, err := tally.Take()[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	stored := &quotav1alpha1.QuotaRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "compute-2026-11"}, Quota: "compute",
		From: &metav1.Time{Time: begun}, Until: &metav1.Time{Time: until}, Data: data,
	}
	event := func(name, message string, at time.Time) client.Object {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}, InvolvedObject: corev1.ObjectReference{UID: "1"},
			Reason: quotav1alpha1.ReasonLimitsMoved, Message: message, LastTimestamp: metav1.NewTime(at),
		}
	}
	gone := stored.DeepCopy()
	gone.Name, gone.Quota = "gone-2026-11", "gone"
	return []client.Object{
		fq, stored, gone, event("a", "pods: east 9 → 8 (Weight)", until.Add(-time.Minute)),
		event("b", "pods: east 8 → 7 (Weight)", noon.Add(-time.Minute)),
	}
}

// run runs the command, and returns what it prints. A list of records may fail.
func run(t *testing.T, failure error, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	env := cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	env.Clock = clocktesting.NewFakePassiveClock(noon)
	env.Config.APIServer, env.Config.Namespace = new("https://hub"), new("team-a")
	env.Connect = func(*rest.Config) (client.WithWatch, error) {
		return fake.NewClientBuilder().WithScheme(schemes.All()).WithObjects(objects(t)...).
			WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
				return []string{string(o.(*corev1.Event).InvolvedObject.UID)}
			}).
			WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, records := list.(*quotav1alpha1.QuotaRecordList); records && failure != nil {
						return failure
					}
					return c.List(ctx, list, options...)
				},
			}).Build(), nil
	}
	command := history.NewCommand(env)
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = append([]string{"compute"}, args...)
	}
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	if err := command.ExecuteContext(t.Context()); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

// TestRecords tells of moves and changes that events tell no more of, of each once, the first one first.
func TestRecords(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "quotarecords"}, "", errors.New("nobody may"))
	for name, c := range map[string]struct {
		failure error
		args    []string
		want    []string
		not     string
	}{
		"a month": {args: []string{"--since", "30d"}, want: []string{
			"What happened before 2026-11-08T12:00:00Z may be missing", "20d east pods 5 → 9 Demand", "19d",
			"hard.pods: 10 → 12, by kubectl-edit", "61m east pods 9 → 8 Weight", "60s east pods 8 → 7 Weight",
		}},
		"what is recorded": {args: []string{"--since", "19d"}, want: []string{"19d", "hard.pods", "9 → 8", "8 → 7"}, not: "missing"},
		"an hour":          {want: []string{"60s east pods 8 → 7 Weight"}, not: "9 → 8"},
		"events alone": {failure: forbidden, args: []string{"--since", "2h"}, want: []string{
			"Events alone are shown", "nobody may", "9 → 8", "8 → 7",
		}},
		"of a budget that is gone": {args: []string{"gone", "--since", "30d"}, want: []string{"5 → 9"}, not: "8 → 7"},
		"of none":                  {args: []string{"none", "--since", "30d"}, want: []string{`error: federatedquotas.quota.fedquota.io "none" not found`}},

		"a failure":    {failure: errors.New("no answer"), want: []string{"error: no answer"}},
		"a month off":  {args: []string{"--since", "1month"}, want: []string{`invalid argument "1month" for "--since" flag: must be a time such as 90m, 12h or 30d`}},
		"no time back": {args: []string{"--since", "0d"}, want: []string{"must be a time such as"}},
	} {
		t.Run(name, func(t *testing.T) {
			rest := strings.Join(strings.Fields(run(t, c.failure, c.args...)), " ")
			if strings.Count(rest, "9 → 8 Weight") > 1 {
				t.Errorf("%s\ntells a move twice", rest)
			}
			if c.not != "" && strings.Contains(rest, c.not) {
				t.Errorf("%s\nsays %q", rest, c.not)
			}
			for _, piece := range c.want {
				_, after, found := strings.Cut(rest, piece)
				if !found {
					t.Errorf("%s\ndoes not say %q in its place", rest, piece)
				}
				rest = after
			}
		})
	}
}
