//go:build e2e

package plugin_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/report"
	"github.com/fedquota/fedquota/e2e/system"
)

const (
	// middle is how many pods a crowd has, and swing how many more and less it gets. The hub stores what is used every 5
	// seconds, or later on a busy machine, so what comes or goes in such a time is to be little beside what there is.
	middle, swing = 80, 6
	// beat is how often a pod comes and another one goes, and wave how many beats a surge takes.
	beat = 100 * time.Millisecond
	wave = 400
)

// crowd is pods of a member that come and go. Each asks for another amount, so that what all use together tells when
// that was.
type crowd struct {
	*world

	client client.Client
	pods   []*corev1.Pod
	made   int
}

func (w *world) crowd(member string) *crowd {
	w.Helper()
	c, err := system.Client(w.Member(member))
	w.must(err)
	return &crowd{world: w, client: c}
}

// create creates a pod, and says whether there was room for it.
func (c *crowd) create(ctx context.Context) bool {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: crowded, Name: fmt.Sprintf("pod-%d", c.made)}}
	milli := int64(20 + c.made*37%83)
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)},
	}}}
	c.made++
	if c.client.Create(ctx, pod) != nil {
		return false
	}
	c.pods = append(c.pods, pod)
	return true
}

// grow creates pods until there are so many.
func (c *crowd) grow(count int) {
	c.Helper()
	c.eventually("a crowd", func(ctx context.Context) (bool, error) {
		for len(c.pods) < count && c.create(ctx) {
		}
		return len(c.pods) == count, nil
	})
}

// surge has the crowd grow and shrink, or the other way round, to what it was. Whether a pod comes before another one
// goes or after it changes from beat to beat: on average there are as many as there are to be.
func (c *crowd) surge(direction int) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for n := range wave {
		<-ticker.C
		want := middle + direction*swing*triangle(n)/(wave/4)
		if n%2 == 0 {
			c.comes(want)
			c.goes(want)
		} else {
			c.goes(want)
			c.comes(want)
		}
	}
}

// comes creates a pod, unless there are more than there are to be.
func (c *crowd) comes(want int) {
	if len(c.pods) <= want {
		c.create(c.Context())
	}
}

// goes deletes the oldest pod, unless there are fewer than there are to be.
func (c *crowd) goes(want int) {
	if len(c.pods) < want {
		return
	}
	if err := c.client.Delete(c.Context(), c.pods[0]); err != nil {
		c.Errorf("deleting a pod: %v", err)
	}
	c.pods = c.pods[1:]
}

// triangle rises for a quarter of a wave, falls for a half and rises again.
func triangle(n int) int {
	switch {
	case n < wave/4:
		return n
	case n < 3*wave/4:
		return wave/2 - n
	}
	return n - wave
}

// crowdReport is what is reported of a crowd.
type crowdReport struct{ report.Report }

// of returns the row of a cluster and a resource.
func (r *crowdReport) of(cluster string, name corev1.ResourceName) report.Row {
	for _, row := range r.Rows {
		if row.Cluster == cluster && row.Resource == name {
			return row
		}
	}
	return report.Row{}
}
