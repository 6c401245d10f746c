package member_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestSlowShareHoldsUpNoOther has the API server not answer what is asked about one share: another one is enforced
// meanwhile.
func TestSlowShareHoldsUpNoOther(t *testing.T) {
	slow, other := newWorld(t), newWorld(t)
	asked := make(chan struct{}, 1)
	other.agent.Live = interceptor.NewClient(as(t, agent), interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if key != slow.key {
				return inner.Get(ctx, key, into, opts...)
			}
			select {
			case asked <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return ctx.Err()
		},
	})
	other.agent.Recorder = &events.FakeRecorder{} // there are shares of other tests, too
	// A queue of priorities may hang as it shuts down (kubernetes-sigs/controller-runtime#3538).
	manager, err := ctrl.NewManager(server, ctrl.Options{
		Scheme: as(t, admin).Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	})
	must(t, err)
	must(t, other.agent.SetupWithManager(manager))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()

	slow.share(1, "pods", "1")
	<-asked
	other.share(1, "pods", "1")
	eventually(t, func(ctx context.Context) string {
		if err := other.hub.Get(ctx, other.key, &corev1.ResourceQuota{}); err != nil {
			return err.Error()
		}
		return ""
	})
}
