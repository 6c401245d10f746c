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

// views has the page of the hub tell what else is told, as its streams send it.
func (w *world) views() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
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
	browser := &http.Client{Jar: jar}
	get := func(at *url.URL) io.ReadCloser {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		w.must(err)
		response, err := browser.Do(request)
		w.must(err)
		if response.StatusCode != http.StatusOK {
			w.Fatalf("%s answers with %d", at, response.StatusCode)
		}
		return response.Body
	}
	w.must(get(address).Close())
	_, rows := w.rows()
	for query, pieces := range map[string][]string{
		"page=budgets": append(rows, `"row/team-a/compute":`, `"used":"12"`, `"full":1,`),
		"page=budget&namespace=team-a&name=compute": {`"limit/requests.cpu/west":`, "Its fair part is 3.", `"move/`, `"wait/requests.cpu/west":`, `"sample/`},
		"page=clusters": {`"cluster/east":`, `"known":true`},
	} {
		body := get(address.ResolveReference(&url.URL{Path: "/events", RawQuery: query}))
		w.streams(query, body, pieces)
		_ = body.Close()
	}
	past := get(address.ResolveReference(&url.URL{Path: "/replay", RawQuery: "namespace=team-a&name=compute"}))
	w.streams("the past", past, []string{`"from":`, `"requests.cpu":[`, `"levels":[{"resource":"pods"`})
	_ = past.Close()
	cancel()
	if code := <-ended; code != 0 {
		w.Errorf("view ended with %d", code)
	}
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
