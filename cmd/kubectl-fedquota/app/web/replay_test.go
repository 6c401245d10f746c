package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	"github.com/fedquota/fedquota/internal/record"
)

// recordsOf are what the hub has recorded of the budget compute of team-a until ten minutes ago, since three hours ago: 4 of
// 10 CPUs were in use, and limits have moved three times.
func recordsOf(t *testing.T, now time.Time) []client.Object {
	t.Helper()
	ago := func(minutes int) time.Time {
		return now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Second)
	}
	tally := record.Begin(ago(180), "1")
	amounts := []record.Amounts{{Budget: 10_000, Granted: 9_000, Used: 4_000}}
	tally.Observe(ago(180), &record.Level{
		Names: []corev1.ResourceName{"requests.cpu"}, Total: amounts, Clusters: []record.Holding{{Name: "east", Amounts: amounts}},
	})
	move := func(minutes int, cluster, from, to, why string) {
		tally.Advance(ago(minutes))
		tally.Now().Moves.Add(record.Move{Time: ago(minutes), Resource: "requests.cpu", Cluster: cluster, From: from, To: to, Why: why})
	}
	move(170, "east", "2", "4500m", "Weight")
	move(170, "west", "2", "4500m", "Weight")
	move(100, "east", "4500m", "7", "Demand")
	move(100, "west", "4500m", "5", "Surplus")
	move(40, "east", "7", "9", "Demand")
	move(40, "west", "5", "3", "Surplus")
	tally.Advance(ago(10))
	var objects []client.Object
	for _, month := range tally.Take() {
		data, err := month.Encode()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &quotav1alpha1.QuotaRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: recorder.NameOf("compute", month.From)}, Quota: "compute",
			From: &metav1.Time{Time: month.From}, Until: &metav1.Time{Time: month.Until}, Data: data,
		})
	}
	return objects
}

// replays asks for the past of a budget, and returns the status of the answer.
func (w *world) replays(query string, into any) int {
	w.Helper()
	got := w.get("/replay?namespace=team-a&name="+query, "")
	if got.code == http.StatusOK {
		if err := json.NewDecoder(got.body).Decode(into); err != nil {
			w.Fatal(err)
		}
	}
	return got.code
}

// known waits until the page knows the budget.
func (w *world) known() {
	w.Helper()
	w.enter()
	p := w.follow("page=budget&namespace=team-a&name=compute")
	p.until("the budget", func() bool { return p.has("head") && p.has("cluster/west") })
}

// TestReplay sees that the past is what records say, and the present what is seen.
func TestReplay(t *testing.T) {
	now := time.Now()
	w := open(t, "full", denied{}, recordsOf(t, now)...)
	w.known()
	var whole film
	if code := w.replays("compute", &whole); code != http.StatusOK || now.Sub(whole.From.Time) < 3*time.Hour-time.Second || whole.Denied != "" {
		t.Fatalf("it answers with %d, since %v, and without the right to %q", code, whole.From, whole.Denied)
	}
	if len(whole.Marks["requests.cpu"]) < 6 || len(whole.Samples) < 5 {
		t.Errorf("it knows of moves at %v, and has %d samples", whole.Marks, len(whole.Samples))
	}
	for _, c := range []struct {
		minutes    int
		used, east string
		basis      view.Basis
	}{{120, "4", "4500m", view.Mean}, {60, "4", "7", view.Mean}, {20, "4", "9", view.Mean}, {5, "", "9", ""}, {-1, "12", "9", view.Seen}} {
		var past view.Past
		at := now.Add(-time.Duration(c.minutes) * time.Minute).Unix()
		if code := w.replays(fmt.Sprintf("compute&resource=requests.cpu&at=%d", at), &past); code != http.StatusOK {
			t.Fatalf("%d minutes ago is answered with %d", c.minutes, code)
		}
		used := ""
		for _, r := range past.Resources {
			if r.Resource == "requests.cpu" {
				used = r.Used
			}
		}
		if past.Basis != c.basis || used != c.used || len(past.Clusters) != 2 || past.Clusters[0].Limit != c.east {
			t.Errorf("%d minutes ago it was %+v, want %+v", c.minutes, past, c)
		}
	}
	for query, want := range map[string]int{"none": http.StatusNotFound, "none&at=1": http.StatusNotFound, "compute&at=x": http.StatusBadRequest} {
		if code := w.replays(query, nil); code != want {
			t.Errorf("%s is answered with %d, want %d", query, code, want)
		}
	}
}

// TestReplayDenied sees that who may not read records is told so, and is shown what events tell and the page has seen.
func TestReplayDenied(t *testing.T) {
	w := open(t, "full", denied{everywhere: []string{"QuotaRecord"}}, recordsOf(t, time.Now())...)
	w.known()
	var whole film
	if code := w.replays("compute", &whole); code != http.StatusOK || !strings.HasPrefix(whole.Denied, "get quotarecords") {
		t.Errorf("it answers with %d, and says that the right to %q is missing", code, whole.Denied)
	}
	var past view.Past
	at := time.Now().Unix()
	if code := w.replays(fmt.Sprintf("compute&resource=requests.cpu&at=%d", at), &past); code != http.StatusOK || past.Basis != view.Seen {
		t.Errorf("it answers with %d: %+v", code, past)
	}
}

// TestBrowserReplay looks back, by mouse and keyboard, and returns to now.
func TestBrowserReplay(t *testing.T) {
	w := open(t, "full", denied{}, recordsOf(t, time.Now())...)
	b := w.browse()
	b.do("open the budget", to("#/budget/team-a/compute/requests.cpu"), chromedp.WaitVisible("#replay"))
	b.reads("12 used, 12 granted of 12")
	b.do("look back", chromedp.Click("#replay"), chromedp.WaitVisible("#replay-at"))
	b.reads("This is the past")
	b.reads("4 used, 9 granted of 10")
	b.reads("no more is recorded")
	b.limit("east", "7")
	b.limit("west", "5")
	if live := b.number(`document.querySelectorAll("[aria-label='Who waits'], [aria-label='What if']").length`); live > 0 {
		t.Errorf("%d parts of the present are shown beside the past", live)
	}
	b.do("go to the next move", chromedp.Click(`//button[.="Move after"]`))
	b.limit("east", "9")
	b.picture("replay")
	b.do("go to the ones before", chromedp.Click(`//button[.="Move before"]`))
	b.limit("east", "7")
	b.do("see all that is known", chromedp.SendKeys("#replay-span", "all"), chromedp.Focus("#replay-at"), chromedp.KeyEvent(kb.Home))
	b.limit("east", "2")
	b.do("play", chromedp.Click(`//button[.="Play moves"]`))
	b.limit("east", "4500m")
	b.limit("east", "7")
	b.do("return", chromedp.Click("#replay-end"), chromedp.WaitNotPresent("#replay-at"))
	b.reads("12 used, 12 granted of 12")
	b.reads("west asks for 5 more")
}

// limit waits until a cluster is shown with a limit.
func (b *browser) limit(cluster, limit string) {
	b.Helper()
	row := fmt.Sprintf(`[...document.querySelectorAll(".past tbody tr")].some((row) => row.cells[0].innerText === %q && row.cells[1].innerText === %q)`, cluster, limit)
	b.do("see the limit "+limit+" of "+cluster, chromedp.Poll(row, nil, chromedp.WithPollingTimeout(0)))
}
