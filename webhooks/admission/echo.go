package admission

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const (
	// settling is how long a request waits on at least after there came to be room, for API servers that see it later than
	// the one that is asked.
	settling = 15 * time.Millisecond
	// echoInterval is the pause before an API server that is behind is asked again.
	echoInterval = 2 * time.Millisecond

	echoPolicy = "fedquota-echo"
)

// settlingMost is how long it waits for the one that is asked. A test that has a real one lag gives itself more time.
var settlingMost = time.Second

// Echo asks the API server whether it judges by the limits and the usage that are stored, and returns these if they are
// known.
type Echo func(ctx context.Context, share types.NamespacedName) (stored *corev1.ResourceQuota, judgesByIt bool)

// NewEcho returns what asks an API server. It writes without effect what the policy fedquota-echo refuses while the API
// server's own cache is behind; any other answer is a yes.
func NewEcho(c client.Client) Echo {
	dry := client.NewDryRunClient(c)
	ask := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+quotav1alpha1.EchoAnnotation+`":"true"}}}`))
	return func(ctx context.Context, share types.NamespacedName) (*corev1.ResourceQuota, bool) {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: share.Namespace, Name: share.Name}}
		if err := dry.Patch(ctx, quota, ask); err != nil {
			return nil, !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+echoPolicy+"'")
		}
		return quota, true
	}
}

// settle has a request that was given a place go on once native quota judges by what the lane has seen, and says whether
// it does: room that another replica has given away meanwhile is not there any more.
func (g *Gate) settle(ctx context.Context, l *lane, p *place) bool {
	g.awaitEcho(ctx, l)
	return l.confirm(p, g.Clock.Now())
}

// awaitEcho waits until native quota judges by what the lane has seen: a request that goes on before is refused
// although there is room for it.
func (g *Gate) awaitEcho(ctx context.Context, l *lane) {
	timer := g.Clock.NewTimer(settling)
	defer timer.Stop()
	if g.Echo != nil {
		l.echo.do(func() bool { return g.catchUp(context.WithoutCancel(ctx), l) })
	}
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// catchUp asks until the API server has caught up, or for as long as that is worth waiting for, and says whether it
// has.
func (g *Gate) catchUp(ctx context.Context, l *lane) bool {
	ctx, cancel := context.WithTimeout(ctx, settlingMost)
	defer cancel()
	raises, until := l.raisesNow(), g.Clock.Now().Add(settlingMost)
	for {
		stored, judgesByIt := g.Echo(ctx, l.key)
		if judgesByIt {
			g.note(l, stored)
			break
		}
		timer := g.Clock.NewTimer(echoInterval)
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil || g.Clock.Now().After(until) {
			return false
		}
	}
	l.settle(raises)
	return true
}

func (l *lane) raisesNow() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.raises
}

// settle notes that the API server judges by so many raises.
func (l *lane) settle(raises int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.settled = max(l.settled, raises)
}
