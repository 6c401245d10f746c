package admission

import (
	"cmp"
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/pace"
	"github.com/fedquota/fedquota/webhooks/admission/lanes"
)

const echoPolicy = "fedquota-echo"

// catchUpMost is how long it waits for the one that is asked.
func (g *Gate) catchUpMost() time.Duration { return cmp.Or(g.catchUpFor, pace.CatchUpMost) }

// Echo asks the API server whether it judges by the limits and the usage that are stored, and returns these if they are
// known.
type Echo func(ctx context.Context, share types.NamespacedName) (stored *corev1.ResourceQuota, judgesByIt bool)

// NewEcho returns what asks an API server. It writes without effect what the policy fedquota-echo refuses while the API
// server's own cache is behind; any other answer is a yes.
func NewEcho(c client.Client) Echo {
	dry := client.NewDryRunClient(c)
	ask := patches.Merge{"metadata": map[string]any{"annotations": map[string]any{quotav1alpha1.EchoAnnotation: "true"}}}
	return func(ctx context.Context, share types.NamespacedName) (*corev1.ResourceQuota, bool) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: share.Namespace, Name: share.Name}}
		if err := dry.Patch(ctx, quota, ask); err != nil {
			return nil, !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+echoPolicy+"'")
		}
		return quota, true
	}
}

// goOn has a request that was given a place go on once native quota judges by what the lane has seen, and says
// whether it does: room that another replica has given away meanwhile is not there any more.
func (g *Gate) goOn(ctx context.Context, l *lane, p *lanes.Place) bool {
	g.awaitEcho(ctx, l)
	return l.Confirm(p, g.Clock.Now())
}

// awaitEcho waits until native quota judges by what the lane has seen: a request that goes on before is refused
// although there is room for it.
func (g *Gate) awaitEcho(ctx context.Context, l *lane) {
	timer := g.Clock.NewTimer(pace.CatchUp)
	defer timer.Stop()
	if g.Echo != nil {
		l.echo.Get(func() bool { return g.catchUp(context.WithoutCancel(ctx), l) })
	}
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// catchUp asks until the API server has caught up, or for as long as that is worth waiting for, and says whether it
// has.
func (g *Gate) catchUp(ctx context.Context, l *lane) bool {
	ctx, cancel := context.WithTimeout(ctx, g.catchUpMost())
	defer cancel()
	raises, until := l.Raises(), g.Clock.Now().Add(g.catchUpMost())
	for {
		stored, judgesByIt := g.Echo(ctx, l.Key)
		if judgesByIt {
			g.note(l, stored)
			break
		}
		timer := g.Clock.NewTimer(pace.EchoInterval)
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || g.Clock.Now().After(until) {
			return false
		}
	}
	l.CaughtUp(raises)
	return true
}
