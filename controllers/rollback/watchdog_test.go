package rollback_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/rollback"
)

// answers is an API server that gives these answers to lists, an error for an empty one, and the last one again and again.
type answers struct {
	client.Reader

	versions []string
	t        *testing.T
}

func (a *answers) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var given client.ListOptions
	given.ApplyOptions(options)
	if given.AsListOptions().ResourceVersion != "" {
		a.t.Error("the read is not a consistent one")
	}
	version := a.versions[0]
	if len(a.versions) > 1 {
		a.versions = a.versions[1:]
	}
	if version == "" {
		return errors.New("no answer")
	}
	list.(*metav1.PartialObjectMetadataList).ResourceVersion = version
	return nil
}

func watchdog(t *testing.T, versions ...string) *rollback.Watchdog {
	t.Helper()
	return &rollback.Watchdog{Live: &answers{t: t, versions: versions}, Kind: corev1.SchemeGroupVersion.WithKind("ResourceQuota")}
}

func TestWatchdogEndsTheProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := watchdog(t, "10", "", "9").Start(ctx); !errors.Is(err, rollback.ErrStoreWentBack) {
		t.Errorf("got %v", err)
	}
}

func TestWatchdogEndsWithTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := watchdog(t, "10").Start(ctx); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestWatchdogRunsOnEveryReplica keeps it out of the group that waits for the lease.
func TestWatchdogRunsOnEveryReplica(t *testing.T) {
	if watchdog(t, "10").NeedLeaderElection() {
		t.Error("it waits for the lease")
	}
}
