package members

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Discovery is what an API server says of the kinds that it serves, by path.
type Discovery map[string]document

type document struct {
	contentType string
	body        []byte
}

// aggregated is how clients ask for all kinds at once.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// DiscoveryOf asks an API server. Members say what it says, so that a client has as much to remember of each as of a real one.
func DiscoveryOf(ctx context.Context, config *rest.Config) (Discovery, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	d := Discovery{}
	for _, path := range []string{"/api", "/apis"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", aggregated)
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("asking %s for its kinds: %s: %w", config.Host, response.Status, err)
		}
		d[path] = document{response.Header.Get("Content-Type"), body}
	}
	return d, nil
}
