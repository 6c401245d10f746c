package members

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Discovery is what an API server says of the kinds that it serves, by path and by whether it is asked for all kinds at
// once.
type Discovery map[question]document

type question struct {
	path  string
	atAll bool
}

type document struct {
	contentType string
	body        []byte
}

// aggregated is how clients ask for all kinds at once, and wantsAll is a part of it.
const (
	aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	wantsAll   = "as=APIGroupDiscoveryList"
)

// DiscoveryOf asks an API server. Members say what it says, so that a client has as much to remember of each as of a
// real one.
func DiscoveryOf(ctx context.Context, config *rest.Config) (Discovery, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	d := Discovery{}
	for _, path := range []string{"/api", "/apis"} {
		if err := d.ask(ctx, client, config.Host, question{path, true}); err != nil {
			return nil, err
		}
	}
	for _, path := range []string{"/api", "/apis", "/api/v1"} {
		if err := d.ask(ctx, client, config.Host, question{path: path}); err != nil {
			return nil, err
		}
	}
	groups := metav1.APIGroupList{}
	if err := json.Unmarshal(d[question{path: "/apis"}].body, &groups); err != nil {
		return nil, err
	}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			if err := d.ask(ctx, client, config.Host, question{path: "/apis/" + version.GroupVersion}); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func (d Discovery) ask(ctx context.Context, client *http.Client, host string, q question) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+q.path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if q.atAll {
		request.Header.Set("Accept", aggregated)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s%s for kinds: %s: %w", host, q.path, response.Status, err)
	}
	d[q] = document{response.Header.Get("Content-Type"), body}
	return nil
}

// answer returns what is said to a request, if it asks for kinds.
func (d Discovery) answer(r *http.Request) (document, bool) {
	if found, ok := d[question{r.URL.Path, strings.Contains(r.Header.Get("Accept"), wantsAll)}]; ok {
		return found, true
	}
	found, ok := d[question{path: r.URL.Path}]
	return found, ok
}
