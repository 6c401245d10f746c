package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/recorded"
	"github.com/fedquota/fedquota/controllers/schemes"
)

var update = flag.Bool("update", false, "Write what commands print into testdata/golden.")

const hub = "hub"

// recording is a fleet as it was at one time, behind API servers that answer from what was recorded.
type recording struct {
	t          *testing.T
	servers    map[string]client.WithWatch
	at         time.Time
	kubeconfig string
	forbidden  []string
	color      bool
}

// open opens what was recorded in a state.
func open(t *testing.T, state string) *recording {
	t.Helper()
	recordedServers := read(t, state)
	r := &recording{t: t, servers: map[string]client.WithWatch{}}
	config := clientcmdapi.NewConfig()
	for name, server := range recordedServers {
		if server.At.After(r.at) {
			r.at = server.At
		}
		r.servers["https://"+name] = r.serve(server)
		config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name}
		config.AuthInfos["someone"] = &clientcmdapi.AuthInfo{Token: "none"}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: "someone", Namespace: "team-a"}
	}
	r.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, r.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return r
}

// states are the recordings that were read, and their objects.
var states, contents sync.Map

// read reads what was recorded in a state, once.
func read(t *testing.T, state string) map[string]*recorded.Server {
	t.Helper()
	if known, ok := states.Load(state); ok {
		return known.(map[string]*recorded.Server)
	}
	servers, err := recorded.Read(filepath.Join("testdata", "recorded", state))
	if err != nil {
		t.Fatal(err)
	}
	states.Store(state, servers)
	return servers
}

// objectsOf returns copies of what a server held.
func objectsOf(t *testing.T, server *recorded.Server, scheme *runtime.Scheme) []client.Object {
	t.Helper()
	known, ok := contents.Load(server)
	if !ok {
		objects, err := server.Decoded(scheme)
		if err != nil {
			t.Fatal(err)
		}
		known = objects
		contents.Store(server, objects)
	}
	var copies []client.Object
	for _, object := range known.([]client.Object) {
		copies = append(copies, object.DeepCopyObject().(client.Object))
	}
	return copies
}

// serve returns a client of an API server that holds what was recorded, and on the hub the ways to the members.
func (r *recording) serve(server *recorded.Server) client.WithWatch {
	r.t.Helper()
	scheme := schemes.All()
	objects := objectsOf(r.t, server, scheme)
	for _, object := range slices.Clone(objects) {
		if gvk, err := apiutil.GVKForObject(object, scheme); err == nil && gvk.Kind == "Cluster" {
			objects = append(objects, wayTo(object.GetNamespace(), object.GetName()))
		}
	}
	lacks := func(object runtime.Object) error {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return err
		}
		kind := schema.GroupKind{Group: gvk.Group, Kind: strings.TrimSuffix(gvk.Kind, "List")}
		if slices.Contains(server.Lacks, kind.String()) {
			return &apimeta.NoKindMatchError{GroupKind: kind, SearchedVersions: []string{gvk.Version}}
		}
		return r.refuses(kind)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&quotav1alpha1.FederatedQuota{}, &quotav1alpha1.QuotaShare{}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if err := lacks(object); err != nil {
					return err
				}
				return c.Get(ctx, key, object, options...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if err := lacks(list); err != nil {
					return err
				}
				return c.List(ctx, list, options...)
			},
		}).Build()
}

// refuses answers as an API server does that lets nobody read a kind.
func (r *recording) refuses(kind schema.GroupKind) error {
	if !slices.Contains(r.forbidden, kind.Kind) {
		return nil
	}
	plural, _ := apimeta.UnsafeGuessKindToResource(kind.WithVersion("v1"))
	return apierrors.NewForbidden(plural.GroupResource(), "", fmt.Errorf(
		"User \"bob\" cannot list resource %q in API group %q in the namespace \"team-a\"", plural.Resource, kind.Group))
}

// wayTo is the Secret of a Cluster's kubeconfig.
func wayTo(namespace, cluster string) *corev1.Secret {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: "https://" + cluster}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster}
	config.CurrentContext = cluster
	content, err := clientcmd.Write(*config)
	if err != nil {
		panic(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig"}, Data: map[string][]byte{"value": content}}
}

// run runs a command, and returns what a terminal would show, with the exit code behind it.
func (r *recording) run(server string, args ...string) string {
	r.t.Helper()
	var out bytes.Buffer
	if code := r.execute(&out, &out, server, args); code != 0 {
		fmt.Fprintf(&out, "(exit code %d)\n", code)
	}
	return out.String()
}

// execute runs a command, and returns its exit code.
func (r *recording) execute(out, errOut io.Writer, server string, args []string) int {
	r.t.Helper()
	env := cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut})
	env.Build = cli.Build{Version: "v0.1.0", Commit: "1111", Platform: "go1.26 linux/amd64"}
	env.Color = r.color
	env.Clock = clocktesting.NewFakePassiveClock(r.at)
	env.Connect = func(config *rest.Config) (client.WithWatch, error) {
		c, known := r.servers[config.Host]
		if !known {
			return nil, fmt.Errorf("dial %s: connection refused", config.Host)
		}
		return c, nil
	}
	return app.Execute(r.t.Context(), env, append(args, "--kubeconfig", r.kubeconfig, "--context", server))
}

// TestGolden compares what commands print of recorded fleets with what they are known to print.
func TestGolden(t *testing.T) {
	for state, commands := range cases {
		for _, command := range commands {
			server, line, _ := strings.Cut(command, ": ")
			name := state + "-" + server + "-" + strings.Trim(strings.NewReplacer(" ", "_", "/", "_", "=", "_", ".", "_", ",", "_").Replace(line), "_")
			t.Run(name, func(t *testing.T) {
				got := "$ kubectl fedquota " + line + "\n" + open(t, state).run(server, strings.Fields(line)...)
				narrow(t, line, got)
				golden(t, name, got)
			})
		}
	}
}

// narrow demands that no line is wider than a page.
func narrow(t *testing.T, command, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 120 && !strings.Contains(command, "-o json") {
			t.Errorf("wider than 120 columns: %s", line)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGoldenFilesAreOfCases finds what is left of cases that are gone.
func TestGoldenFilesAreOfCases(t *testing.T) {
	count := 0
	for _, commands := range cases {
		count += len(commands)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txt"))
	if err != nil || len(files) != count {
		t.Errorf("%d files for %d cases: %v", len(files), count, err)
	}
}

// TestForbidden sees that the right is named that somebody lacks, with an exit code of its own.
func TestForbidden(t *testing.T) {
	r := open(t, "full")
	r.forbidden = []string{"FederatedQuota"}
	got := r.run(hub, "list")
	for _, want := range []string{
		"you lack the right to list federatedquotas.quota.fedquota.io in namespace team-a: fedquota-federatedquota-viewer", "(exit code 3)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it prints no %q:\n%s", want, got)
		}
	}
	r.forbidden = []string{"Secret"}
	whole, stored := open(t, "full").run(hub, "explain", "compute"), r.run(hub, "explain", "compute")
	hint := "Members were not asked, which needs the right to get secrets in namespace default. This goes by what the hub has stored\nof them last.\n"
	if got := strings.Replace(stored, hint, "", 1); got != whole {
		t.Errorf("what the hub has stored is explained in another way: %s", cmp.Diff(whole, got))
	}
	r.forbidden = []string{"Event"}
	if got := r.run(hub, "describe", "compute"); !strings.Contains(got, "Events:     not shown: you lack the right to list events in namespace team-a") {
		t.Errorf("it does not say why there are no events:\n%s", got)
	}
}

// TestJSON sees that what scripts read is what the API server holds.
func TestJSON(t *testing.T) {
	var list struct {
		Kind  string
		Items []quotav1alpha1.FederatedQuota
	}
	if err := json.Unmarshal([]byte(open(t, "full").run(hub, "list", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "List" || len(list.Items) != 1 || list.Items[0].Kind != "FederatedQuota" || list.Items[0].Name != "compute" {
		t.Errorf("got %+v", list)
	}
}

// valued are the commands whose answer scripts can read as one value.
var valued = []string{"describe", "explain", "fits", "history", "list", "plan", "top", "tree", "version", "why"}

// TestValues sees that -o json prints one value with nothing beside it wherever text is printed, with the same exit code,
// and -o yaml the same value.
func TestValues(t *testing.T) {
	seen := map[string]int{}
	for state, commands := range cases {
		for _, command := range commands {
			server, line, _ := strings.Cut(command, ": ")
			args := strings.Fields(line)
			if !slices.Contains(valued, args[0]) || slices.Contains(args, "-o") {
				continue
			}
			t.Run(state+" "+command, func(t *testing.T) {
				var plain, asJSON, asYAML bytes.Buffer
				code := open(t, state).execute(&plain, io.Discard, server, args)
				if plain.Len() == 0 {
					return // it has failed
				}
				if got := open(t, state).execute(&asJSON, io.Discard, server, append(args, "-o", "json")); got != code {
					t.Errorf("as JSON it ends with %d, as text with %d", got, code)
				}
				open(t, state).execute(&asYAML, io.Discard, server, append(args, "-o", "yaml"))
				converted, err := yaml.YAMLToJSON(asYAML.Bytes())
				if err != nil || !json.Valid(asJSON.Bytes()) {
					t.Fatalf("it prints no value: %v\n%s\n%s", err, asJSON.String(), asYAML.String())
				}
				var one, other any
				if err := errors.Join(json.Unmarshal(asJSON.Bytes(), &one), json.Unmarshal(converted, &other)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(one, other); diff != "" {
					t.Errorf("JSON and YAML are of two values: %s", diff)
				}
				seen[args[0]]++
			})
		}
	}
	for _, command := range valued {
		if seen[command] == 0 {
			t.Errorf("%s was not seen to print a value", command)
		}
	}
}

// TestHistoryEnds sees that nobody takes what events have forgotten for what did not happen.
func TestHistoryEnds(t *testing.T) {
	const ends = "may be missing: nothing is recorded of it"
	r := open(t, "full")
	r.at = r.at.Add(90 * time.Minute)
	if got := r.run(hub, "history", "compute", "--since", "2h"); !strings.Contains(got, ends) || !strings.Contains(got, "4500m   →   9") {
		t.Errorf("it does not say where it ends: %s", got)
	}
	if got := r.run(hub, "history", "compute"); strings.Contains(got, ends) || !strings.Contains(got, "Nothing happened in the last 1h") {
		t.Errorf("within the hour it says: %s", got)
	}
	if got := open(t, "full").run(hub, "history", "compute", "--since", "2h"); strings.Contains(got, ends) {
		t.Errorf("of a budget that is younger it says: %s", got)
	}
}

// TestColors sees that a terminal gets colours and the same words, and nothing else gets colours.
func TestColors(t *testing.T) {
	r := open(t, "draining")
	plain := r.run(hub, "describe", "compute")
	if strings.Contains(plain, "\x1b") {
		t.Errorf("there are colours in %q", plain)
	}
	r.color = true
	painted := r.run(hub, "describe", "compute")
	if !strings.Contains(painted, "\x1b[") {
		t.Errorf("there are no colours in %q", painted)
	}
	if got := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(painted, ""); got != plain {
		t.Errorf("a terminal gets other words: %s", cmp.Diff(plain, got))
	}
}

// TestCompletion completes names of budgets, clusters and resources.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"describe ":                      "compute\n",
		"describe x":                     "",
		"describe compute --cluster ":    "east\nwest\n",
		"describe compute --resource re": "requests.cpu\n",
		"join west --budget other,":      "other,compute\n",
		"adopt x --clusters east,w":      "east,west\n",
	} {
		head, last := args[:strings.LastIndex(args, " ")], args[strings.LastIndex(args, " ")+1:]
		r := open(t, "full")
		// The words before the last one are as a shell has them; the flags of kubectl come first.
		line := append([]string{"__completeNoDesc", "--kubeconfig", r.kubeconfig, "--context", hub}, append(strings.Fields(head), last)...)
		got, _, _ := strings.Cut(r.complete(line), ":")
		if got != want {
			t.Errorf("%q is completed by %q, want %q", args, got, want)
		}
	}
}

// complete runs a completion, which takes no flags at its end.
func (r *recording) complete(args []string) string {
	var out bytes.Buffer
	env := cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &bytes.Buffer{}})
	env.Connect = func(config *rest.Config) (client.WithWatch, error) { return r.servers[config.Host], nil }
	app.Execute(r.t.Context(), env, args)
	return out.String()
}
