package rollback_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fedquota/fedquota/controllers/rollback"
)

// answers is an API server that gives these answers to lists, an error for an empty one, and the last one again and
// again. The Reader answers what is asked for by name.
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
	return &rollback.Watchdog{
		Live: &answers{t: t, versions: versions, Reader: quotas(nil)}, Kind: corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
		Cached: quotas(nil), Objects: &corev1.ResourceQuotaList{},
	}
}

// quotas is a store, or a cache, with ResourceQuotas at these resourceVersions.
func quotas(versions map[string]string) client.Client {
	builder := fake.NewClientBuilder()
	for name, version := range versions {
		builder.WithObjects(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, ResourceVersion: version}})
	}
	return builder.Build()
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

// TestWatchdogLooksBesideTheCache has a store that is ahead of all looks, and behind what came into the cache since the
// last one.
func TestWatchdogLooksBesideTheCache(t *testing.T) {
	type versions = map[string]string
	for name, tc := range map[string]struct {
		cached, live versions
		want         error
	}{
		"the same":                             {cached: versions{"a": "5", "b": "7"}, live: versions{"a": "5", "b": "7"}},
		"a cache that lags":                    {cached: versions{"a": "5", "b": "7"}, live: versions{"a": "5", "b": "8"}},
		"the newest went back":                 {cached: versions{"a": "5", "b": "7"}, live: versions{"a": "5", "b": "6"}, want: rollback.ErrStoreWentBack},
		"the newest went back, of more digits": {cached: versions{"a": "9", "b": "10"}, live: versions{"a": "9", "b": "8"}, want: rollback.ErrStoreWentBack},
		"the newest is gone":                   {cached: versions{"a": "5", "b": "7"}, live: versions{"a": "5"}},
		"the newest was forgotten":             {cached: versions{"a": "5", "b": "7"}, live: versions{"a": "4"}, want: rollback.ErrStoreWentBack},
		"nothing is cached":                    {live: versions{"a": "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := watchdog(t, "10")
			w.Cached, w.Live.(*answers).Reader = quotas(tc.cached), quotas(tc.live)
			if err := w.Look(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestWatchdogRunsOnEveryReplica keeps it out of the group that waits for the lease.
func TestWatchdogRunsOnEveryReplica(t *testing.T) {
	if watchdog(t, "10").NeedLeaderElection() {
		t.Error("it waits for the lease")
	}
}
