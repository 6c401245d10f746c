package web

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// shots is where pictures go, if anywhere.
const shots = "FEDQUOTA_SCREENSHOTS"

// browser is a browser that looks at a world.
type browser struct {
	*world

	ctx context.Context
}

// browse opens the page in a browser, or skips the test where there is none.
func (w *world) browse() *browser {
	w.Helper()
	b := w.launch()
	b.do("open the address", cdplog.Enable(), chromedp.Navigate(w.server.URL+"/?token="+w.site.token))
	return b
}

// launch starts a browser, or skips the test where there is none. What the browser complains of fails the test.
func (w *world) launch() *browser {
	w.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		w.Skip("there is no chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(1280, 900))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 3*time.Minute)
	w.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	w.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	w.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *cdplog.EventEntryAdded:
			w.Errorf("the browser says: %s %s", e.Entry.Text, e.Entry.URL)
		case *runtime.EventExceptionThrown:
			w.Errorf("the page fails: %s", e.ExceptionDetails.Error())
		}
	})
	return &browser{w, ctx}
}

// do does things, within a time that fails the test.
func (b *browser) do(what string, actions ...chromedp.Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if what == "open the address" {
		ctx = b.ctx // the browser lives as long as the context that starts it
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(b.ctx, chromedp.Evaluate("document.body.innerText", &text))
		b.Fatalf("%s: %v, on\n%s", what, err, text)
	}
}

// reads waits until the page has a text.
func (b *browser) reads(text string) {
	b.Helper()
	b.do("read "+text, chromedp.Poll(fmt.Sprintf("document.body.innerText.includes(%q)", text), nil, chromedp.WithPollingTimeout(0)))
}

// number evaluates an expression.
func (b *browser) number(expression string) int {
	b.Helper()
	var n int
	b.do(expression, chromedp.Evaluate(expression, &n))
	return n
}

// picture keeps what is seen.
func (b *browser) picture(name string) {
	b.Helper()
	folder := os.Getenv(shots)
	if folder == "" {
		return
	}
	var content []byte
	b.do("take a picture", chromedp.FullScreenshot(&content, 100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), content, 0o600); err != nil {
		b.Fatal(err)
	}
}

// TestBrowser plays what somebody does who asks why a team waits.
func TestBrowser(t *testing.T) {
	w := open(t, "full", denied{}, other("idle", 1), other("web", 0))
	b := w.browse()
	b.reads("team-a/compute")
	b.reads("requests.cpu 12 of 12")
	if first := b.number("[...document.querySelectorAll('tbody th')].findIndex((e) => e.innerText === 'team-a/compute')"); first != 0 {
		t.Errorf("the fullest budget is in row %d", first)
	}
	b.picture("budgets")
	b.do("search", chromedp.KeyEvent("/"), chromedp.KeyEvent("idle"), chromedp.WaitNotPresent(`//a[.="team-a/compute"]`),
		chromedp.KeyEvent(strings.Repeat(kb.Backspace, 4)), chromedp.WaitVisible(`//a[.="team-a/compute"]`))
	b.do("open the budget", chromedp.Click(`//a[.="team-a/compute"]`), chromedp.WaitVisible(`//h2[.="Who waits for requests.cpu"]`))
	for _, text := range []string{
		"west asks for 5 more", "The budget does not hold all that clusters ask for. Its fair part is 3.",
		"has 3 of others", "Select a row to see why its limit is what it is.", "Surplus: it had more than it needs",
	} {
		b.reads(text)
	}
	b.do("select east by keyboard", chromedp.Focus(`.beside .scroll`), chromedp.KeyEvent(kb.ArrowDown))
	b.reads("east: why 9?")
	b.do("and west", chromedp.KeyEvent(kb.End))
	b.reads("west: why 3?")
	b.picture("budget")
	b.do("ask what a smaller budget would change", chromedp.SendKeys("#what-if-hard", "8"+kb.Enter))
	b.reads("5 in use must end first")
	b.do("and a max of west", chromedp.SendKeys("#what-if-max", "2"+kb.Enter))
	b.reads("1 in use must end first")
	b.change("compute", func(fq *quotav1alpha1.FederatedQuota) { fq.Status.Used["requests.cpu"] = resource.MustParse("7") })
	b.reads("7 used, 12 granted of 12")
	b.tell("requests.cpu: west 3 → 8 (Demand)")
	b.reads("Demand: it asks for more")
	b.do("hear of it", chromedp.Poll(`document.querySelector(".unseen[role=status]").innerText.includes("west: requests.cpu from 3 to 8")`, nil))
	b.do("look at a cluster", chromedp.Click(`//th/a[.="east"]`), chromedp.WaitVisible(`//h1[.="east"]`), chromedp.WaitVisible(`//a[.="team-a/compute"]`))
	b.do("look on a phone", chromedp.EmulateViewport(390, 800), to("#/budget/team-a/compute"))
	b.reads("west asks for 5 more")
	if over := b.number("document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("on a phone the page is %d pixels too wide", over)
	}
	b.picture("phone")
	b.do("see it in the dark", chromedp.EmulateViewport(1280, 900), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	b.picture("dark")
}

// TestBrowserPool asks what another budget of a pool, and a max of a child, would change.
func TestBrowserPool(t *testing.T) {
	w := open(t, "pools", denied{})
	b := w.browse()
	b.do("open the pool", to("#/pool/research/requests.cpu"), chromedp.WaitVisible(`//h2[.="What if?"]`))
	b.reads("Select a child above to try another weight, min or max.")
	b.do("select a child", chromedp.Focus(`.beside .scroll`), chromedp.KeyEvent(kb.End), chromedp.WaitVisible("#what-if-max"))
	b.do("ask", chromedp.SendKeys("#what-if-hard", "70"), chromedp.SendKeys("#what-if-max", "60"+kb.Enter))
	b.reads("8 in use must end first")
	b.picture("pool")
}

// TestBrowserLarge sees that of a thousand clusters only those are drawn that are seen.
func TestBrowserLarge(t *testing.T) {
	w := open(t, "full", denied{}, other("large", 1000))
	b := w.browse()
	b.do("open the budget", to("#/budget/team-a/large/requests.cpu/c-0999"), chromedp.WaitVisible(`//a[.="c-0000"]`))
	if rows := b.number("document.querySelectorAll('.beside tbody tr').length"); rows > 60 {
		t.Errorf("%d rows are drawn", rows)
	}
	b.do("go to the end", chromedp.Focus(".beside .scroll"), chromedp.KeyEvent(kb.End), chromedp.WaitVisible(`//a[.="c-0999"]`))
	if rows := b.number("document.querySelectorAll('.beside tbody tr').length"); rows > 60 {
		t.Errorf("%d rows are drawn at the end", rows)
	}
	b.picture("large")
}

// to leads to another page of the site.
func to(hash string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf("location.hash = %q", hash), nil)
}

// change changes a FederatedQuota on the hub.
func (b *browser) change(name string, change func(*quotav1alpha1.FederatedQuota)) {
	b.Helper()
	fq := &quotav1alpha1.FederatedQuota{}
	if err := b.hub.Get(b.Context(), client.ObjectKey{Namespace: "team-a", Name: name}, fq); err != nil {
		b.Fatal(err)
	}
	change(fq)
	if err := b.hub.Update(b.Context(), fq); err != nil {
		b.Fatal(err)
	}
}

// tell has the hub tell of moves of compute.
func (b *browser) tell(moves string) {
	b.Helper()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "compute.moved", UID: "moved"}, Reason: quotav1alpha1.ReasonLimitsMoved, Message: moves,
		InvolvedObject: corev1.ObjectReference{Kind: "FederatedQuota", Namespace: "team-a", Name: "compute"}, EventTime: metav1.NowMicro(),
	}
	if err := b.hub.Create(b.Context(), event); err != nil {
		b.Fatal(err)
	}
}

// other returns a budget over so many clusters, which use a tenth of it.
func other(name string, clusters int) *quotav1alpha1.FederatedQuota {
	cpus := func(n int) corev1.ResourceList {
		return corev1.ResourceList{"requests.cpu": *resource.NewQuantity(int64(n), resource.DecimalSI)}
	}
	fq := &quotav1alpha1.FederatedQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}}
	fq.Spec.Hard = cpus(10 * max(clusters, 1))
	fq.Status.Hard, fq.Status.Used, fq.Status.Granted, fq.Status.Free = fq.Spec.Hard, cpus(clusters), cpus(2*clusters), cpus(8*clusters)
	fq.Status.Revision = 1
	for i := range clusters {
		fq.Status.Clusters = append(fq.Status.Clusters, quotav1alpha1.ClusterStatus{
			Name: quotav1alpha1.ClusterName(fmt.Sprintf("c-%04d", i)), Revision: 1, State: quotav1alpha1.ClusterSettled, Used: cpus(1), Granted: cpus(2),
		})
	}
	return fq
}
