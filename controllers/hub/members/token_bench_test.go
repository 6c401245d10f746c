package members

import (
	"context"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/bundle"
)

// cached reads one Secret, as the hub manager does from its cache.
type cached struct {
	client.Reader

	secret *corev1.Secret
}

func (c cached) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.secret.DeepCopyInto(object.(*corev1.Secret))
	return nil
}

// BenchmarkToken gets a token as each member's is renewed: by a connection of its own, which is idle for too long to be
// there at the next time. It tells what this process takes, without the API server.
func BenchmarkToken(b *testing.B) {
	if server == nil {
		b.Skipf("%s is not set", fleet.AssetsVariable)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bundle.Namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: bundle.Namespace, Name: AccountName}},
	} {
		if err := server.Create(b.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			b.Fatal(err)
		}
	}
	a := &account{
		Accounts: &Accounts{
			Secrets:   cached{secret: &corev1.Secret{Data: map[string][]byte{"value": admin}}},
			Namespace: bundle.Namespace, Clock: clock.RealClock{}, Timeout: 10 * time.Second,
		},
		secret: client.ObjectKey{Namespace: "default", Name: "east-kubeconfig"},
	}
	config, err := a.bootstrap(b.Context(), a.secret, "")
	if err != nil {
		b.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		b.Fatal(err)
	}
	before := cpu(b)
	for b.Loop() {
		utilnet.CloseIdleConnectionsFor(transport)
		if _, err := a.ask(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// cpu is what this process has taken.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
