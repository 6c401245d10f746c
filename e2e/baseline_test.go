//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/e2e/census"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/observer"
)

// naivePatience is how long the naive writer waits for one member.
const naivePatience = 5 * time.Second

// plain is a namespace of the same fleet with a plain ResourceQuota in every member, under the same load and watched by
// the same kind of observer. fedquota has no part in it.
type plain struct {
	*scenario
	hard corev1.ResourceList
	// writers lead to the members by the way that the hub takes.
	writers map[string]client.Client
}

// plain makes such a namespace, with limits of the weights 3:2:1.
func (s *scenario) plain(kind string, hard corev1.ResourceList) *plain {
	s.Helper()
	p := &plain{
		scenario: &scenario{world: s.world, T: s.T, key: types.NamespacedName{Namespace: s.key.Namespace + "-" + kind, Name: s.key.Name}, shape: s.shape},
		hard:     hard, writers: map[string]client.Client{},
	}
	o, err := observer.Watch(context.WithoutCancel(s.Context()), observer.Options{
		Members: s.watchers, Namespace: p.key.Namespace, Name: p.key.Name, Budget: hard, Unmanaged: true, Scopes: s.scopes, ScopeSelector: s.selector,
	})
	s.must(err)
	p.observer = o
	s.Cleanup(p.cleanup)
	for i, member := range s.names() {
		config := rest.CopyConfig(s.watchers[member])
		config.Host = "https://" + s.proxies[member].Listen
		p.writers[member] = clientOf(s.T, config)
		p.namespaceIn(member)
		s.must(p.writers[member].Get(s.Context(), client.ObjectKey{Name: p.key.Namespace}, &corev1.Namespace{}))
		limits := portion(hard, splits[0], i)
		s.must(p.member(member).Create(s.Context(), &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name},
			Spec:       corev1.ResourceQuotaSpec{Hard: limits, Scopes: s.scopes, ScopeSelector: s.selector},
		}))
		s.eventually("the plain limit in "+member, func(ctx context.Context) error {
			quota, err := p.quota(ctx, member)
			if err == nil && (len(quota.Status.Hard) != len(limits) || len(quota.Status.Used) != len(limits)) {
				err = fmt.Errorf("in force %s, used %s", text(quota.Status.Hard), text(quota.Status.Used))
			}
			return err
		})
	}
	return p
}

// portion is what the i-th of some weights makes of a budget that they divide.
func portion(hard corev1.ResourceList, weights []int32, i int) corev1.ResourceList {
	var sum int64
	for _, weight := range weights {
		sum += int64(weight)
	}
	list := corev1.ResourceList{}
	for name, quantity := range hard {
		list[name] = *resource.NewMilliQuantity(quantity.MilliValue()/sum*int64(weights[i]), quantity.Format)
	}
	return list
}

// writeAll is the naive way to move limits: into all members at once. Whom it does not reach it leaves.
func (p *plain) writeAll(hard corev1.ResourceList, weights []int32) {
	p.Helper()
	var group sync.WaitGroup
	for i, member := range p.names() {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(p.Context(), naivePatience)
			defer cancel()
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}
			stored := quota.DeepCopy()
			quota.Spec.Hard = portion(hard, weights, i)
			if err := p.writers[member].Patch(ctx, quota, client.MergeFrom(stored)); err != nil {
				p.Logf("the naive writer goes on without %s: %v", member, err)
			}
		})
	}
	group.Wait()
}

// cutOff leads the naive writer to where nobody answers for a member, and leaves the hub its way, which it would take
// half a minute to find again.
func (p *plain) cutOff(member string) {
	p.Helper()
	port, err := fleet.FreePort(p.Context())
	p.must(err)
	config := rest.CopyConfig(p.watchers[member])
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", port)
	c, err := client.New(config, client.Options{Scheme: schemes.All()})
	p.must(err)
	p.writers[member] = c
}

// answered waits until so many requests of the load were answered.
func (p *plain) answered(count int64) {
	p.Helper()
	p.eventually("the load", func(context.Context) error {
		if done := p.requests(); done < count {
			return fmt.Errorf("%d of %d requests were answered", done, count)
		}
		return nil
	})
}

// judge ends the load and says what the observer saw.
func (p *plain) judge() *baseline {
	p.Helper()
	p.stopStorms()
	p.eventually("all to be judged", p.observer.Sync)
	recount, err := census.Of(p.Context(), p.observer)
	p.must(err)
	report := p.observer.Stop()
	p.result.take(report)
	b := &baseline{Confirmed: p.result.Confirmed, Native: p.result.Native, Over: recount.Over(), Load: p.result.Load}
	for _, r := range report.Resources {
		b.AboveSeconds = max(b.AboveSeconds, r.AboveBudget.Seconds())
	}
	b.Seconds = report.End.Sub(report.Start).Seconds()
	p.Logf("%s: %+v", p.key.Namespace, *b)
	return b
}

func (p *plain) cleanup() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p.stopStorms()
	p.observer.Stop()
	for _, member := range p.names() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.key.Namespace}}
		if err := client.IgnoreNotFound(p.member(member).Delete(ctx, namespace)); err != nil {
			p.Errorf("emptying %s: %v", member, err)
		}
	}
}
