package web

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

// TestGuard sees that only who has the address gets an answer, from this host, and nothing that browsers would keep or run.
func TestGuard(t *testing.T) {
	w := open(t, "full", denied{})
	for path, want := range map[string]int{
		"/": http.StatusForbidden, "/app.js": http.StatusForbidden, "/events?page=budgets": http.StatusForbidden,
		"/?token=": http.StatusForbidden, "/?token=0123456788": http.StatusForbidden, "/events?page=budgets&token=0123456789": http.StatusForbidden,
	} {
		if got := w.get(path, "").code; got != want {
			t.Errorf("without a cookie %s answers with %d, want %d", path, got, want)
		}
	}
	if got := w.get("/?token=0123456789", "rebound.example:80").code; got != http.StatusForbidden {
		t.Errorf("another host is answered with %d", got)
	}
	w.enter()
	for _, path := range []string{"/", "/app.js", "/vendor/uplot.js", "/style.css"} {
		got := w.get(path, "")
		if got.code != http.StatusOK {
			t.Errorf("with the cookie %s answers with %d", path, got.code)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := got.header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s has %s %q, want %q", path, name, got, want)
			}
		}
	}
	if got := w.get("/", "rebound.example").code; got != http.StatusForbidden {
		t.Errorf("another host is answered with %d, with the cookie", got)
	}
	response, err := w.client.Post(w.server.URL+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a write is answered with %d", response.StatusCode)
	}
	if got := w.get("/events?page=secrets", "").code; got != http.StatusNotFound {
		t.Errorf("a page that does not exist is answered with %d", got)
	}
}

// TestCookie sees that a script of the page cannot read the token, and that pages of other sites cannot have it sent.
func TestCookie(t *testing.T) {
	w := open(t, "full", denied{})
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := w.get("/?token=0123456789", "")
	cookies := (&http.Response{Header: got.header}).Cookies()
	if got.header.Get("Location") != "/" || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("it leads to %q with %v", got.header.Get("Location"), cookies)
	}
}

// TestLive sees that a change arrives, and that what is gone goes.
func TestLive(t *testing.T) {
	w := open(t, "full", denied{})
	w.enter()
	all, one := w.follow("page=budgets"), w.follow("page=budget&namespace=team-a&name=compute")
	all.until("the budget", func() bool { return all.has("row/team-a/compute", `"full":1,`) })
	one.until("why", func() bool { return one.has("limit/requests.cpu/west", `"limit":"3"`, "Its fair part is 3.") })
	fq := &quotav1alpha1.FederatedQuota{}
	key := client.ObjectKey{Namespace: "team-a", Name: "compute"}
	if err := w.hub.Get(t.Context(), key, fq); err != nil {
		t.Fatal(err)
	}
	fq.Status.Used["requests.cpu"] = resource.MustParse("6")
	if err := w.hub.Update(t.Context(), fq); err != nil {
		t.Fatal(err)
	}
	all.until("the change", func() bool { return all.has("row/team-a/compute", `"full":0.5,`) })
	one.until("the change", func() bool { return one.has("head", `"used":"6"`) })
	fq.Finalizers = nil
	if err := errors.Join(w.hub.Update(t.Context(), fq), w.hub.Delete(t.Context(), fq)); err != nil {
		t.Fatal(err)
	}
	all.until("no budget", func() bool { return !all.has("row/team-a/compute") })
	one.until("no budget", func() bool { return !one.has("head") && !one.has("cluster/west") })
}

// TestSame sees that the page says what the commands say.
func TestSame(t *testing.T) {
	w := open(t, "full", denied{})
	w.enter()
	p := w.follow("page=budget&namespace=team-a&name=compute")
	p.until("who waits, and what moved", func() bool {
		moved := func(key string) bool {
			return p.has(key, `"cluster":"west"`, `"to":"3"`, `"words":"Surplus: it had more than it needs"`)
		}
		return p.has("explanation") && p.has("wait/requests.cpu/west", `"demand":"5"`) && slices.ContainsFunc(slices.Collect(maps.Keys(p.parts)), moved)
	})
	golden, err := os.ReadFile(filepath.Join("..", "testdata", "golden", "full-hub-explain_compute_-o_yaml.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, content, _ := strings.Cut(string(golden), "\n")
	var want view.Explanation
	if err := yaml.Unmarshal([]byte(content), &want); err != nil {
		t.Fatal(err)
	}
	for _, r := range want.Resources {
		for _, limit := range r.Limits {
			var got view.ExplainedLimit
			if err := json.Unmarshal(p.parts["limit/"+string(r.Resource)+"/"+limit.Cluster], &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(limit, got); diff != "" {
				t.Errorf("the page explains a limit in another way: %s", diff)
			}
		}
	}
}

// TestPages sees that each page has something to show.
func TestPages(t *testing.T) {
	for query, want := range map[string][]string{
		"page=pools":                {"tree/acme", "tree/orphan"},
		"page=pool&name=retail":     {"head", "explanation"},
		"page=clusters":             {"cluster/east"},
		"page=cluster&name=east":    {"head"},
		"page=pool&name=none":       {"about"},
		"page=cluster&name=nowhere": {"about"},
		"page=budget&name=none":     {"about"},
	} {
		t.Run(query, func(t *testing.T) {
			w := open(t, "pools", denied{})
			w.enter()
			p := w.follow(query)
			p.until(fmt.Sprint(want), func() bool { return !slices.ContainsFunc(want, func(key string) bool { return !p.has(key) }) })
		})
	}
}

// TestRights sees that it is said what the caller may not see.
func TestRights(t *testing.T) {
	w := open(t, "full", denied{everywhere: []string{"Event", "Cluster"}, atOnce: []string{"FederatedQuota"}})
	w.enter()
	p := w.follow("page=budget&namespace=team-a&name=compute")
	p.until("the budget", func() bool { return p.has("head") })
	for _, want := range []string{
		"events are not shown", "you lack the right to list events in namespace team-a", "Clusters are not shown",
		"FederatedQuotas of namespace team-a alone are shown", "you lack the right to list federatedquotas.quota.fedquota.io",
	} {
		if !p.has("about", want) {
			t.Errorf("it does not say %q: %s", want, p.parts["about"])
		}
	}
	if !p.has("unexplained", "list clusters.cluster.x-k8s.io in namespace default") {
		t.Errorf("it does not say why nothing is explained: %s", p.parts["unexplained"])
	}
	none := &world{T: t, hub: hubOf(t, "full", denied{everywhere: []string{"FederatedQuota"}}, nil)}
	if err := none.start(t.Context(), "team-a", false); cli.CodeOf(err) != cli.CodeForbidden {
		t.Errorf("who may see no budget gets %v", err)
	}
}

// TestSilent sees that it is said when nobody knows whether what is shown still holds.
func TestSilent(t *testing.T) {
	w := open(t, "full", denied{silent: true})
	w.enter()
	p := w.follow("page=budgets")
	p.until("the budget, and that it may be old", func() bool {
		return p.has("row/team-a/compute") && p.has("about", "FederatedQuotas may be old", "connection refused")
	})
}

// TestWhatIf sees that a change is planned as plan does it, and nothing is changed.
func TestWhatIf(t *testing.T) {
	w := open(t, "full", denied{})
	w.enter()
	w.follow("page=budget&namespace=team-a&name=compute").until("the budget and its clusters", func() bool {
		return len(objectsOf[client.Object](w.source.budgets)) == 1 && len(objectsOf[client.Object](w.source.clusters)) == 2
	})
	ask := func(query string, into any) int {
		got := w.get("/what-if?namespace=team-a&name="+query, "")
		if got.code == http.StatusOK && json.NewDecoder(got.body).Decode(into) != nil {
			t.Fatal("it is no JSON")
		}
		return got.code
	}
	var got answer
	if code := ask("compute&resource=requests.cpu&hard=8&of=west&weight=3&min=1&max=4", &got); code != http.StatusOK || !got.Plan.Changes {
		t.Fatalf("it answers with %d: %+v", code, got.Plan)
	}
	if want := []view.BudgetChange{{Resource: "requests.cpu", Before: "12", After: "8"}}; !cmp.Equal(got.Plan.Budget, want) {
		t.Errorf("the budget changes by %+v", got.Plan.Budget)
	}
	fq := &quotav1alpha1.FederatedQuota{}
	if err := yaml.UnmarshalStrict([]byte(got.YAML), fq); err != nil {
		t.Fatal(err)
	}
	rule := quotav1alpha1.DistributionRule{
		Clusters: []quotav1alpha1.ClusterName{"west"},
		RuleTerms: quotav1alpha1.RuleTerms{Weight: new(int32(3)),
			Min: corev1.ResourceList{"requests.cpu": resource.MustParse("1")}, Max: corev1.ResourceList{"requests.cpu": resource.MustParse("4")},
		},
	}
	if hard := fq.Spec.Hard["requests.cpu"]; fq.Kind != "FederatedQuota" || hard.String() != "8" || len(fq.Spec.Distribution.Rules) != 1 || !cmp.Equal(fq.Spec.Distribution.Rules[0], rule) {
		t.Errorf("it is to be applied: %s", got.YAML)
	}
	if err := w.hub.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "compute"}, fq); err != nil {
		t.Fatal(err)
	}
	if hard := fq.Spec.Hard["requests.cpu"]; hard.String() != "12" {
		t.Errorf("the hub has a budget of %s now", hard.String())
	}
	for _, query := range []string{
		"none", "none&kind=QuotaPool", "compute&resource=requests.cpu&hard=x", "compute&resource=requests.cpu&hard=-1",
		"compute&of=west&weight=-1", "compute&of=west&weight=x", "compute&of=west&resource=pods&min=x", "compute&of=west&resource=pods&max=-1",
	} {
		if code := ask(query, nil); code != http.StatusBadRequest {
			t.Errorf("%s is answered with %d", query, code)
		}
	}
}

// TestWhatIfPool sees that a change of a pool is planned as plan does it.
func TestWhatIfPool(t *testing.T) {
	w := open(t, "pools", denied{})
	w.enter()
	w.follow("page=pool&name=research").until("the pool", func() bool { return len(objectsOf[client.Object](w.source.pools)) > 0 })
	var got answer
	answered := w.get("/what-if?kind=QuotaPool&name=research&resource=requests.cpu&hard=60&of=vision/compute&max=50", "")
	if answered.code != http.StatusOK || json.NewDecoder(answered.body).Decode(&got) != nil {
		t.Fatalf("it answers with %d", answered.code)
	}
	pool := &quotav1alpha1.QuotaPool{}
	if err := yaml.UnmarshalStrict([]byte(got.YAML), pool); err != nil {
		t.Fatal(err)
	}
	rules := pool.Spec.Distribution.Rules
	if got.Plan.Kind != "QuotaPool" || pool.Name != "research" || len(rules) == 0 || rules[len(rules)-1].Children[0] != "vision/compute" {
		t.Errorf("%+v\n%s", got.Plan, got.YAML)
	}
	if !got.Plan.Changes || got.Plan.Limits[0].Child == "" {
		t.Errorf("no child has less of a smaller budget: %+v", got.Plan)
	}
}

// TestVendored sees that what others have written is what they have published.
func TestVendored(t *testing.T) {
	vendored, err := fs.Sub(static, "static/vendor")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := fs.ReadFile(vendored, "SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		fields := strings.Fields(line)
		want[fields[1]] = fields[0]
	}
	got := map[string]string{}
	err = fs.WalkDir(vendored, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == "SHA256SUMS" {
			return err
		}
		content, err := fs.ReadFile(vendored, path)
		got[path] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// inline is what the policy would keep a browser from: a script, a style or a handler in a page.
var inline = regexp.MustCompile(`<style|style="|\son\w+="|<script(?:\s(?:type|defer)(?:="\w+")?)*>`)

// TestPolicy sees that pages have nothing in them that the policy forbids.
func TestPolicy(t *testing.T) {
	for _, name := range []string{"app.js", "budget.js", "budgets.js", "chart.js", "clusters.js", "enter.js", "index.html", "pieces.js", "pools.js", "replay.js", "table.js", "whatif.js"} {
		content, err := static.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if found := inline.FindString(string(content)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}
