// Charges counts, in a real member, the charges of pods that the quota controller leaves out while limits are raised
// under a stream of creates, and how long such a create takes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/hack/bench/rig"
)

const (
	member = "east"
	// step is by how much the budget is raised.
	step = 3
)

func main() { rig.Main("charges", run) }

// count is what was seen in one namespace: nothing was deleted there.
type count struct {
	Writers int `json:"writers"`
	Pods    int `json:"pods"`
	// Refused are creates that were denied, and made again.
	Refused int64 `json:"refused"`
	// Raises are those of spec.hard, Falls how often status.used fell, and Lost by how many pods.
	Raises int   `json:"raises"`
	Falls  int   `json:"falls"`
	Lost   int64 `json:"lost"`
	// Beyond is how many pods there were beyond the limit at most.
	Beyond int64 `json:"beyond"`
	// P50 and P99 say how long a create took that was admitted, in milliseconds.
	P50, P99 float64
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("charges", flag.ContinueOnError)
	pods := flags.Int("pods", 300, "pods that each stream creates")
	namespaces := flags.Int("namespaces", 3, "namespaces, one after the other, for each number of writers")
	path := flags.String("out", filepath.Join("bin", "bench", "charges.json"), "file for the numbers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	machine := rig.ThisMachine()
	fleet, err := rig.Start(ctx, "charges", []string{member}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	var counts []count
	for _, writers := range []int{2, 8} {
		for n := range *namespaces {
			c, err := stream(ctx, fleet, fmt.Sprintf("team-%d-%d", writers, n), writers, *pods)
			if err != nil {
				return err
			}
			counts = append(counts, c)
		}
	}
	text := &strings.Builder{}
	fmt.Fprint(
		text, machine, "\n\nwriters\tpods\trefused\traises\tfalls\tlost per 1,000 raises\tbeyond\tp50, ms\tp99, ms\n",
	)
	for _, c := range counts {
		fmt.Fprintf(text, "%d\t%d\t%d\t%d\t%d\t%.1f\t%d\t%.1f\t%.1f\n", c.Writers, c.Pods, c.Refused, c.Raises, c.Falls,
			1000*float64(c.Lost)/float64(max(1, c.Raises)), c.Beyond, c.P50, c.P99)
	}
	return errors.Join(rig.Table(out, text.String()), rig.Write(*path, counts))
}

// stream has writers create pods of one CPU in a namespace whose limit is raised whenever it is used up.
func stream(ctx context.Context, r *rig.Rig, namespace string, writers, pods int) (count, error) {
	c := count{Writers: writers, Pods: pods}
	if err := r.Share(ctx, namespace, "1", []string{member}, quotav1alpha1.Admission{}); err != nil {
		return c, err
	}
	w := r.Clients[member]
	quotas, err := w.Watch(ctx, &corev1.ResourceQuotaList{}, client.InNamespace(namespace))
	if err != nil {
		return c, err
	}
	s := &storm{Client: w, namespace: namespace, pods: int64(pods)}
	var watching, creating, rising sync.WaitGroup
	watching.Go(func() { c.follow(quotas, &s.created) })
	raising, done := context.WithCancel(ctx)
	rising.Go(func() { err = raise(raising, r.HubClient, namespace, &s.created) })
	for range writers {
		creating.Go(func() { s.write(ctx) })
	}
	creating.Wait()
	done()
	rising.Wait()
	err = errors.Join(err, rig.Until(ctx, "all pods to be counted", func(ctx context.Context) (bool, error) {
		quota := &corev1.ResourceQuota{}
		err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: rig.QuotaName}, quota)
		used := quota.Status.Used[rig.CPU]
		return used.Value() == int64(pods), err
	}))
	quotas.Stop()
	watching.Wait()
	c.Refused = s.refused.Load()
	c.P50, c.P99 = rig.Millis(rig.Percentile(s.took, 50)), rig.Millis(rig.Percentile(s.took, 99))
	return c, err
}

// storm is pods that are created.
type storm struct {
	client.Client
	namespace              string
	pods                   int64
	next, created, refused atomic.Int64

	mutex sync.Mutex
	took  []time.Duration
}

// write creates one pod after the other, each until it is admitted.
func (s *storm) write(ctx context.Context) {
	for n := s.next.Add(1); n <= s.pods && ctx.Err() == nil; {
		began := time.Now()
		err := s.Create(ctx, rig.Pod(s.namespace, fmt.Sprintf("pod-%d", n), "1"))
		if err != nil {
			s.refused.Add(1)
			continue
		}
		s.created.Add(1)
		s.mutex.Lock()
		s.took = append(s.took, time.Since(began))
		s.mutex.Unlock()
		n = s.next.Add(1)
	}
}

// raise raises the budget by a few CPUs whenever there are as many pods.
func raise(ctx context.Context, hub client.Client, namespace string, created *atomic.Int64) error {
	for budget := int64(1); ; {
		used := func(context.Context) (bool, error) { return created.Load() >= budget, nil }
		if wait.PollUntilContextCancel(ctx, time.Millisecond, true, used) != nil {
			return nil //nolint:nilerr // it is stopped once all pods are there
		}
		budget = created.Load() + step
		patch := fmt.Appendf(nil, `{"spec":{"hard":{%q:"%d"}}}`, rig.CPU, budget)
		fq := &quotav1alpha1.FederatedQuota{}
		fq.Namespace, fq.Name = namespace, rig.QuotaName
		if err := hub.Patch(ctx, fq, client.RawPatch(types.MergePatchType, patch)); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// follow takes each version of the ResourceQuota.
func (c *count) follow(quotas watch.Interface, created *atomic.Int64) {
	var hard, used int64
	for event := range quotas.ResultChan() {
		quota, ok := event.Object.(*corev1.ResourceQuota)
		if !ok {
			return
		}
		limit, counted := quota.Spec.Hard[rig.CPU], quota.Status.Used[rig.CPU]
		if limit.Value() > hard {
			c.Raises++
		}
		if counted.Value() < used {
			c.Falls++
			c.Lost += used - counted.Value()
		}
		c.Beyond = max(c.Beyond, created.Load()-max(limit.Value(), hard))
		hard, used = limit.Value(), counted.Value()
	}
}
