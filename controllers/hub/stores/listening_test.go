package stores

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fedquota/fedquota/internal/pace"
)

// attempts are connections of which only is known whether they were tried, and whether they are there.
type attempts struct {
	clustercache.ClusterCache

	tried, connected bool
}

func (a *attempts) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	if a.connected {
		return nil, nil
	}
	return nil, clustercache.ErrClusterNotConnected
}

func (a *attempts) GetHealthCheckingState(context.Context, client.ObjectKey) (state clustercache.HealthCheckingState) {
	if a.tried {
		state.LastProbeTime = time.Unix(1, 0)
	}
	return state
}

func TestListening(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		tried, connected, asked bool
		later                   time.Duration
		want                    bool
	}{
		"nothing was tried":              {want: true},
		"nothing was tried for long":     {later: pace.Connecting, want: true},
		"nothing was tried for too long": {later: pace.Looking, want: false},
		"there is no connection":         {tried: true, want: false},
		"it was not asked":               {tried: true, connected: true, later: pace.Connecting, want: true},
		"it was asked":                   {tried: true, connected: true, asked: true, want: false},
		"it was not asked for too long":  {tried: true, connected: true, later: pace.Looking, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(begin)
			hub := interceptor.NewClient(nil, interceptor.Funcs{
				List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
					cluster := clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "west"}}
					cluster.Status.Initialization.InfrastructureProvisioned = new(true)
					list.(*clusterv1.ClusterList).Items = []clusterv1.Cluster{cluster}
					return nil
				},
			})
			w := Watcher{Client: hub, Members: &attempts{tried: c.tried, connected: c.connected}, Clock: clock}
			w.Begin()
			clock.SetTime(begin.Add(c.later))
			if c.asked {
				w.known.ask("west")
			}
			if got := w.Listening(t.Context()); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
			if c.want {
				return
			}
			w.Members = &attempts{}
			w.known.Forget("west")
			clock.SetTime(clock.Now().Add(pace.FirstLookInterval))
			if w.Listening(t.Context()) {
				t.Error("it begins anew, although it was over")
			}
		})
	}
}
