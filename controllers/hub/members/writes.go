package members

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "fedquota_member_writes_total",
	Help: "Requests of the hub manager that write into clusters, by verb, by resource, and by the code of the answer: `none` where there was none.",
}, []string{"verb", "resource", "code"})

func init() { metrics.Registry.MustRegister(writes) }

// counting counts the requests that write into a member.
type counting struct{ http.RoundTripper }

// WrappedRoundTripper says what is wrapped, for those who close idle connections.
func (t counting) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if writes := r.Method != http.MethodGet && !r.URL.Query().Has("dryRun"); writes {
		count(r, response)
	}
	return response, err
}

// noAnswer is the code of an answer that there was none.
const noAnswer = "none"

// infos tells what an API server is asked for.
var infos = request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// count counts a request. What asks for no object is not counted.
func count(r *http.Request, response *http.Response) {
	info, err := infos.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		return
	}
	code := noAnswer
	if response != nil {
		code = strconv.Itoa(response.StatusCode)
	}
	what := slices.DeleteFunc([]string{info.Resource, info.Subresource}, func(s string) bool { return s == "" })
	writes.WithLabelValues(info.Verb, strings.Join(what, "/"), code).Inc()
}
