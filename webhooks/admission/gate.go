package admission

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/webhooks/admission/lanes"
	"github.com/fedquota/fedquota/webhooks/admission/shared"
)

// Request is what the gate has to know of an admission request.
type Request struct {
	// Namespace of the request.
	Namespace string
	// Name is that of the object that it creates, empty if the API server makes the name up or if there is one already.
	Name string
	// Kind is that of the object.
	Kind schema.GroupVersionKind
	// Charge is what it adds to a quota.
	Charge nativequota.Charge
	// Owner is who asks.
	Owner demand.Owner
	// DryRun means that the request must have no effect.
	DryRun bool
}

// Gate holds requests that do not fit until their limit is raised. It never admits: what it lets through is judged by
// the native ResourceQuota. It is safe for concurrent use.
type Gate struct {
	// Clock measures how long requests wait.
	Clock clock.Clock
	// Book is told what does not fit.
	Book *demand.Book
	// Report is called when the demand of a share has changed. It must not block.
	Report func(share types.NamespacedName)
	// Refused, if there is one, is told why a request of an owner was refused. It must not block.
	Refused func(namespace string, owner demand.Owner, why string)
	// Live reads from the API server: nothing is denied on the word of a cache.
	Live client.Reader
	// Echo says whether the API server judges by the limits that are stored; without it that is taken for granted.
	Echo Echo
	// Stuck says whether this replica has found that the quota controller does not work. One that does not lead never
	// looks.
	Stuck func() bool

	repeats repeats
	classes shared.Answer[map[string]string]
	hub     lanes.Heartbeat
	feeds   []toolscache.ResourceEventHandlerRegistration
	feed    sync.Mutex // held by who changes what a lane has, so that nobody drops it meanwhile
	mutex   sync.RWMutex
	lanes   map[string][]*lane // by namespace, sorted by name
	// catchUpFor, if not zero, takes the place of pace.CatchUpMost: a real API server that lags needs more.
	catchUpFor time.Duration
}

// lane is where the requests of one share pass, and what they ask the API server together.
type lane struct {
	*lanes.Lane

	live shared.Answer[*corev1.ResourceQuota]
	echo shared.Answer[bool]
}

// claim is what a request asks of one share.
type claim struct {
	*lane
	of     *Request
	since  time.Time // it asks
	asked  amount.List
	list   corev1.ResourceList // the same, as native quota has it
	place  *lanes.Place        // nil if it has none
	waiter *lanes.Waiter       // nil if it is not held
}

// Admit returns "" for a request that native quota shall judge, or why it is denied. It waits for a raise if need be.
func (g *Gate) Admit(ctx context.Context, request Request) string {
	now := g.Clock.Now()
	request.Charge.Now = now
	lanes := g.lanesOf(request.Namespace)
	if unstated(lanes, &request.Charge) {
		return ""
	}
	if request.Charge.Resource == nativequota.Claims && request.Name != "" { // one that is to grow asks for itself
		request.Owner = g.Book.Claimant(request.Namespace, request.Owner)
	}
	request.Charge.Mapped = g.mapped(ctx, &request, lanes)
	room, lacks := g.claims(ctx, request, lanes, now)
	denial := g.pass(ctx, request, lacks, now)
	for i := range room {
		c := &room[i]
		if denial == "" && !c.place.Gone && !g.goOn(ctx, c.lane, c.place) {
			c.place = nil
			denial = g.pass(ctx, request, []claim{*c}, g.Clock.Now())
		}
	}
	if denial != "" {
		for _, c := range room {
			c.GiveBack(c.place)
		}
		return denial
	}
	g.letThrough(&request, room)
	if len(room)+len(lacks) > 0 {
		g.repeats.note(&request, now)
	}
	return ""
}

// unstated says whether native quota refuses a pod in any case, since it does not state what it asks for: no raise
// helps it, and native quota says what is missing.
func unstated(lanes []*lane, charge *nativequota.Charge) bool {
	pod, ok := charge.Object.(*corev1.Pod)
	return ok && slices.ContainsFunc(lanes, func(l *lane) bool { return l.Unstated(pod) })
}

// letThrough notes a request that goes on, in the shares in which it has a place.
func (g *Gate) letThrough(request *Request, room []claim) {
	for _, c := range room {
		if c.place != nil && !request.DryRun && g.Book.Admitted(c.Key, request.Owner, c.asked, g.Clock.Now()) {
			g.Report(c.Key)
		}
	}
}

// claims returns what a request asks of shares in which it has a place, and of those that have no room for it.
func (g *Gate) claims(ctx context.Context, request Request, lanes []*lane, now time.Time) (room, lacks []claim) {
	for _, l := range lanes {
		asked, list := l.Charge(request.Charge)
		if len(asked) == 0 {
			continue
		}
		c := claim{lane: l, of: &request, since: now, asked: asked, list: list}
		if c.place = g.enter(ctx, l, asked, now, request.DryRun); c.place != nil {
			room = append(room, c)
		} else {
			lacks = append(lacks, c)
		}
	}
	return room, lacks
}

// enter gives the request a place in a share, nil if there is no room for it. Where that is doubtful, it asks the API
// server.
func (g *Gate) enter(ctx context.Context, l *lane, asked amount.List, now time.Time, dryRun bool) *lanes.Place {
	if l.Doubtful(asked, now) {
		g.refresh(ctx, l)
	}
	return l.Enter(asked, now, dryRun)
}

// pass takes a request through the shares that have no room for it. It is held for none of them if one denies it
// anyway.
func (g *Gate) pass(ctx context.Context, request Request, lacks []claim, now time.Time) string {
	var asks []claim
	for _, c := range lacks {
		if request.DryRun || g.stuck(c.lane) || g.repeats.often(&request, now) || c.Hopeless(c.asked) {
			if denial := g.judge(ctx, c); denial != "" {
				return denial
			}
			continue
		}
		asks = append(asks, c)
	}
	if len(asks) == 0 {
		return ""
	}
	return g.hold(ctx, request, asks, now)
}

// hold tells all shares what the request asks for, so that they are raised at the same time, and waits for them.
func (g *Gate) hold(ctx context.Context, request Request, asks []claim, now time.Time) string {
	pod := signatureOf(request.Charge.Object)
	for i := range asks {
		c := &asks[i]
		if g.Book.Hold(c.Key, request.Owner, pod, c.asked, now) {
			c.waiter = c.Queue(c.asked, now)
		}
		g.Report(c.Key)
	}
	held.Inc()
	denial := g.await(ctx, asks)
	ended(g.Clock.Since(now), denial)
	for _, c := range asks {
		if denial != "" && c.waiter != nil {
			c.GiveBack(c.waiter.Place)
		}
		g.Book.End(c.Key, request.Owner, c.asked, denial == "", g.Clock.Now())
		g.Report(c.Key)
	}
	return denial
}

// await waits until there is room in all shares, or one denies the request. Those that it is not held for are judged
// first.
func (g *Gate) await(ctx context.Context, asks []claim) (denial string) {
	for _, c := range asks {
		if c.waiter == nil && denial == "" {
			denial = g.judge(ctx, c)
		}
	}
	for _, c := range asks {
		if c.waiter != nil && !g.wait(ctx, c, denial != "") && denial == "" {
			denial = g.judge(ctx, c)
		}
	}
	return denial
}

// signatureOf returns that of a pod, nil for any other object.
func signatureOf(object any) *signature.Signature {
	if pod, ok := object.(*corev1.Pod); ok {
		return signature.Of(&pod.Spec)
	}
	return nil
}

// wait waits until there is room for the request in one share, unless it is denied already, and says whether there is.
func (g *Gate) wait(ctx context.Context, c claim, denied bool) bool {
	if denied {
		return c.Leave(c.waiter, g.Clock.Now())
	}
	for {
		timer := g.Clock.NewTimer(c.waiter.Until.Sub(g.Clock.Now()))
		select {
		case <-c.waiter.Fits:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		switch {
		case !c.Leave(c.waiter, g.Clock.Now()):
			return false
		case g.goOn(ctx, c.lane, c.waiter.Place):
			return true
		case !c.Again(c.waiter, g.Clock.Now()):
			return false
		}
	}
}

// judge returns why native quota would deny the request, or "" if it would not or if that is in doubt. Room that came
// meanwhile is waited for until native quota sees it, too. One that its client has given up goes nowhere.
func (g *Gate) judge(ctx context.Context, c claim) string {
	if err := ctx.Err(); err != nil {
		countDenial(denialGivenUp)
		return err.Error()
	}
	if g.stuck(c.lane) {
		return ""
	}
	quota := g.read(ctx, c.lane)
	if !lanes.Dependable(quota) || !lanes.Counted(quota, c.list) {
		return ""
	}
	share := c.Share()
	if share == nil {
		return ""
	}
	text := denial(quota, share, c.list)
	if text == "" {
		g.awaitEcho(ctx, c.lane)
		return ""
	}
	reason, _ := c.full(quota, fleetOf(share, quota))
	countDenial(reason)
	if g.Refused != nil && !c.of.DryRun {
		g.Refused(c.of.Namespace, c.of.Owner, c.waitText(quota, share, g.Clock.Now()))
	}
	return text
}

// stuck says whether usage is not to be relied upon. As long as the share says so the hub does not raise it, whatever
// the canary has found since.
func (g *Gate) stuck(l *lane) bool {
	share := l.Share()
	return g.Stuck() ||
		share != nil && apimeta.IsStatusConditionTrue(share.Status.Conditions, quotav1alpha1.ConditionStuckQuotaController)
}

// Pings says whether the status of a share shall ping the hub, because a hold ended without one. A hub
// that is there answers.
func (g *Gate) Pings(share types.NamespacedName) bool {
	for _, l := range g.lanesOf(share.Namespace) {
		if l.Key == share {
			return l.Pings()
		}
	}
	return false
}

func (g *Gate) lanesOf(namespace string) []*lane {
	g.mutex.RLock()
	defer g.mutex.RUnlock()
	return g.lanes[namespace]
}

// lane returns the lane of a share, which it makes if need be.
func (g *Gate) lane(key types.NamespacedName) *lane {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	others := g.lanes[key.Namespace]
	for _, l := range others {
		if l.Key == key {
			return l
		}
	}
	l := &lane{Lane: lanes.New(key, &g.hub, g.catchUpMost())}
	others = append(slices.Clone(others), l)
	slices.SortFunc(others, func(a, b *lane) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	if g.lanes == nil {
		g.lanes = map[string][]*lane{}
	}
	g.lanes[key.Namespace] = others
	return l
}

// SetShare notes a share as it is now.
func (g *Gate) SetShare(share *quotav1alpha1.QuotaShare) {
	g.feed.Lock()
	defer g.feed.Unlock()
	g.lane(client.ObjectKeyFromObject(share)).SetShare(share, g.Clock.Now())
}

// SetLease notes the Lease of the hub as it is now.
func (g *Gate) SetLease(lease *coordinationv1.Lease) {
	g.hub.See(lease.Spec, g.Clock.Now())
}

// SetQuota notes a ResourceQuota as it is now: requests that it has room for go on.
func (g *Gate) SetQuota(quota *corev1.ResourceQuota) {
	key := client.ObjectKeyFromObject(quota)
	if !nativequota.IsManaged(quota) {
		g.DeleteQuota(key)
		return
	}
	g.feed.Lock()
	defer g.feed.Unlock()
	g.lane(key).SetQuota(quota, g.Clock.Now())
}

// DeleteShare strikes out a share.
func (g *Gate) DeleteShare(key types.NamespacedName) {
	g.unset(key, func(l *lane) { l.DeleteShare() })
}

// DeleteLease strikes out the Lease of the hub.
func (g *Gate) DeleteLease(types.NamespacedName) {
	g.hub.See(coordinationv1.LeaseSpec{}, g.Clock.Now())
}

// DeleteQuota strikes out a ResourceQuota.
func (g *Gate) DeleteQuota(key types.NamespacedName) {
	g.unset(key, func(l *lane) { l.SetQuota(nil, g.Clock.Now()) })
}

// unset takes something from a lane, and drops the lane if that was all it had: nobody tells again what it still has.
func (g *Gate) unset(key types.NamespacedName, take func(*lane)) {
	g.feed.Lock()
	defer g.feed.Unlock()
	for _, l := range g.lanesOf(key.Namespace) {
		if l.Key != key {
			continue
		}
		if take(l); l.Share() == nil && l.Quota() == nil {
			g.drop(l)
		}
	}
}

func (g *Gate) drop(l *lane) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	lanes := slices.Clone(g.lanes[l.Key.Namespace])
	g.lanes[l.Key.Namespace] = slices.DeleteFunc(lanes, func(other *lane) bool { return other == l })
	if len(g.lanes[l.Key.Namespace]) == 0 {
		delete(g.lanes, l.Key.Namespace)
	}
}
