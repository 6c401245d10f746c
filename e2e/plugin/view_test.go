//go:build e2e

package plugin_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
)

// page is the page of the hub, as a browser has it open.
type page struct {
	*world

	browser *http.Client
	address *url.URL
}

// openPage opens the page of the hub, until it is closed.
func (w *world) openPage() (opened *page, closePage func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		env := cli.NewEnv(genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: write})
		ended <- app.Execute(ctx, env, []string{"view", "--kubeconfig", w.Hub.Kubeconfig})
		_ = write.Close()
	}()
	printed := bufio.NewReader(read)
	line, err := printed.ReadString('\n')
	w.must(err)
	go func() { _, _ = io.Copy(io.Discard, printed) }()
	address, err := url.Parse(strings.TrimSpace(strings.TrimPrefix(line, "Open ")))
	w.must(err)
	jar, err := cookiejar.New(nil)
	w.must(err)
	p := &page{world: w, browser: &http.Client{Jar: jar, Timeout: time.Minute}, address: address}
	w.must(p.get(address.Path, address.RawQuery).Close())
	return p, func() {
		cancel()
		if code := <-ended; code != 0 {
			w.Errorf("view ended with %d", code)
		}
	}
}

// get returns what is at a path, to be read within a minute.
func (p *page) get(path, query string) io.ReadCloser {
	p.Helper()
	at := p.address.ResolveReference(&url.URL{Path: path, RawQuery: query})
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, at.String(), nil)
	p.must(err)
	response, err := p.browser.Do(request)
	p.must(err)
	if response.StatusCode != http.StatusOK {
		p.Fatalf("%s answers with %d", at, response.StatusCode)
	}
	return response.Body
}

// views has the page of the hub tell what else is told, as its streams send it.
func (w *world) views() {
	w.Helper()
	p, closePage := w.openPage()
	defer closePage()
	_, rows := w.rows()
	for query, pieces := range map[string][]string{
		"page=budgets": append(rows, `"row/team-a/compute":`, `"used":"12"`, `"full":1,`),
		"page=budget&namespace=team-a&name=compute": {`"limit/requests.cpu/west":`, "Its fair part is 3.", `"move/`, `"wait/requests.cpu/west":`, `"sample/`},
		"page=clusters": {`"cluster/east":`, `"known":true`},
	} {
		body := p.get("/events", query)
		w.streams(query, body, pieces)
		_ = body.Close()
	}
	past := p.get("/replay", "namespace=team-a&name=compute")
	w.streams("the past", past, []string{`"from":`, `"requests.cpu":[`, `"levels":[{"resource":"pods"`})
	_ = past.Close()
}

// streamed returns the first change that a stream sends.
func (w *world) streamed(body io.Reader) string {
	w.Helper()
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		if data, found := strings.CutPrefix(scanner.Text(), "data: "); found {
			return data
		}
	}
	w.Fatalf("the stream ended: %v", scanner.Err())
	return ""
}

// streams reads a stream until all pieces were seen.
func (w *world) streams(what string, body io.Reader, pieces []string) {
	w.Helper()
	scanner, seen := bufio.NewScanner(body), ""
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		seen += scanner.Text() + "\n"
		missing := 0
		for _, piece := range pieces {
			if !strings.Contains(seen, piece) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	w.Errorf("%s does not tell all of %q: %v\n%s", what, pieces, scanner.Err(), seen)
}
