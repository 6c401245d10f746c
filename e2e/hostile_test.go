//go:build e2e

package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/observer"
)

// TestHostileMember has somebody in east stop the agent, take its token, and report lies, while east goes on using what
// it has. The hub believes what it cannot check, so east may have more than its part; all others together never have
// more than the budget, nothing of theirs is touched, what they are guaranteed they get, and all is well once the lies
// end.
func TestHostileMember(t *testing.T) {
	w := startWorld(t, "hostile", system.Options{Fleet: fleet.Options{Members: threeMembers()}})
	s := newScenario(t, w, "team-a", budget("30", "60"))
	s.create(budget("30", "60"), following, func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Distribution.Rules[1].Min = corev1.ResourceList{cpu: resource.MustParse("6")}
	})
	s.rest("no demand yet")
	s.witness(1)
	s.fill(east, "kept", 8, "1")
	s.settle()
	s.observer.Stop()
	hub := s.HubManager.PID()

	l := s.liarIn(east)
	l.tries()
	honest := s.honest(west, north)
	table := &system.Table{}
	table.Row("east says", "conditions that come", "limits of the others, of 30 cpu")
	for _, lie := range lies() {
		l.Log(lie.name)
		conditions := l.conditions(func() {
			l.tells(lie.tell)
			lie.seen(l)
		})
		s.untouched()
		table.Row(lie.name, conditions, l.others())
	}
	s.must(table.Write("..", "lies"))
	l.isGivenUp()
	l.ends()
	s.settle()
	for _, finding := range honest.Stop().Violations() {
		s.Errorf("among the others: %s", finding)
	}
	if pid := s.HubManager.PID(); pid != hub {
		s.Errorf("the hub manager has been process %d, and is %d", hub, pid)
	}
	s.observeAnew(budget("30", "60"))
	s.follows(north, 10)
	s.finish()
}

// honest observes members without the one that lies.
func (s *scenario) honest(members ...string) *observer.Observer {
	s.Helper()
	watchers := map[string]*rest.Config{}
	for _, member := range members {
		watchers[member] = s.watchers[member]
	}
	o, err := observer.Watch(context.WithoutCancel(s.Context()), observer.Options{
		Members: watchers, Namespace: s.key.Namespace, Name: s.key.Name, Budget: budget("30", "60"),
	})
	s.must(err)
	return o
}

// liar reports for a member, by the token of its agent, whatever it is told to.
type liar struct {
	*scenario

	name   string
	client client.WithWatch
	cancel context.CancelFunc
	done   sync.WaitGroup

	mutex sync.Mutex
	tell  telling
}

// telling makes the status of a share a lie.
type telling func(share *quotav1alpha1.QuotaShare)

// liarIn ends the agent of a member for a liar.
func (s *scenario) liarIn(member string) *liar {
	s.Helper()
	s.must(s.Agents[member].Kill())
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.Member(member).Dir, system.Agent(member)+".kubeconfig"))
	s.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	l := &liar{scenario: s, name: member, client: clientOf(s.T, config), cancel: cancel, tell: func(*quotav1alpha1.QuotaShare) {}}
	l.done.Go(func() {
		for ctx.Err() == nil {
			if err := l.report(ctx); err != nil && ctx.Err() == nil {
				l.Logf("reporting: %v", err)
			}
			pause(ctx, pollInterval)
		}
	})
	s.Cleanup(cancel)
	return l
}

// report tells the present lie about the present share.
func (l *liar) report(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	share := &quotav1alpha1.QuotaShare{}
	if err := l.client.Get(ctx, l.key, share); err != nil {
		return err
	}
	stored := share.DeepCopy()
	share.Status.ObservedGeneration = share.Generation
	l.tell(share)
	return l.client.Status().Patch(ctx, share, client.MergeFrom(stored))
}

func (l *liar) tells(tell telling) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.tell = tell
}

// ends has the agent report again.
func (l *liar) ends() {
	l.Helper()
	l.cancel()
	l.done.Wait()
	l.must(l.Agents[l.name].Restart(l.Context()))
}

// isGivenUp has the liar tell, again and again, what keeps its budget from raising anybody, until it is taken out of
// the budget and given up: then others go on, whatever it tells.
func (l *liar) isGivenUp() {
	l.Helper()
	l.Log("it is given up while it enforces what is next")
	var tells atomic.Int64
	l.tells(func(share *quotav1alpha1.QuotaShare) {
		share.Status.Revision = share.Spec.Revision + 1
		tells.Add(1)
	})
	l.condition(quotav1alpha1.ConditionRebuilding)
	fq, err := l.federatedQuota(l.Context())
	l.must(err)
	before := fq.Spec.Placement
	l.change(func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Placement = quotav1alpha1.Placement{Clusters: clusterNames{west, north}}
		fq.Spec.Removal.Destroyed = clusterNames{quotav1alpha1.ClusterName(l.name)}
	})
	l.deploy(west, "freed", 22, "1")
	l.runs(west, "freed", 22)
	l.undeploy(west, "freed")
	if tells.Load() < 2 {
		l.Error("it told its lie once")
	}
	l.untouched()
	l.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Placement, fq.Spec.Removal.Destroyed = before, nil })
}

// tries has the token do what the agent does not do.
func (l *liar) tries() {
	l.Helper()
	own := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: "own"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{pods: resource.MustParse("0")}},
	}
	l.must(l.member(l.name).Create(l.Context(), own))
	share, managed := &quotav1alpha1.QuotaShare{}, &corev1.ResourceQuota{}
	l.must(l.client.Get(l.Context(), l.key, share))
	l.must(l.client.Get(l.Context(), l.key, managed))
	set := l.deployment("bait", 0, "1")
	l.must(l.member(l.name).Create(l.Context(), set))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.key.Namespace}}
	patch := func(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }
	ahead := fmt.Sprintf(`{"spec":{"revision":%d,"hard":{"pods":"999"}}}`, share.Spec.Revision+1)
	tried := map[string]func(ctx context.Context, c client.Client) error{
		"limit the pods of others": func(ctx context.Context, c client.Client) error {
			return c.Create(ctx, named(own, "another"))
		},
		"lift a limit that others set": func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, own)
		},
		"raise the managed limit": func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, managed, patch(`{"spec":{"hard":{"pods":"999"}}}`))
		},
		"raise the limit in force": func(ctx context.Context, c client.Client) error {
			return c.Status().Patch(ctx, managed, patch(`{"status":{"hard":{"pods":"999"}}}`))
		},
		"write a share as if it were the hub": func(ctx context.Context, c client.Client) error {
			return client.WithFieldOwner(c, quotav1alpha1.HubFieldManager).Patch(ctx, share, patch(ahead))
		},
		"say that a workload runs": func(ctx context.Context, c client.Client) error {
			return c.Status().Patch(ctx, set, patch(`{"status":{"replicas":9}}`))
		},
		"scale a workload": func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, set, patch(`{"spec":{"replicas":9}}`))
		},
		"create a pod": func(ctx context.Context, c client.Client) error {
			return c.Create(ctx, newPod(l.key.Namespace, "mine", "1"))
		},
		"read a Secret of a team": func(ctx context.Context, c client.Client) error {
			return c.Get(ctx, l.key, &corev1.Secret{})
		},
		"list the Secrets of its namespace": func(ctx context.Context, c client.Client) error {
			return c.List(ctx, &corev1.SecretList{}, client.InNamespace("fedquota-system"))
		},
		"label a namespace": func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, namespace, patch(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`))
		},
		"annotate a namespace": func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, namespace, patch(`{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/node-selector":"a=b"}}}`))
		},
		"delete a namespace": func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, namespace)
		},
	}
	table := &system.Table{}
	table.Row("by the token of an agent", "answer")
	for _, what := range slices.Sorted(maps.Keys(tried)) {
		err := tried[what](l.Context(), client.NewDryRunClient(l.client))
		if !apierrors.IsForbidden(err) {
			l.Errorf("the agent's token is good to %s: %v", what, err)
		}
		table.Row(what, apierrors.ReasonForError(err))
	}
	l.must(table.Write("..", "attempts"))
	l.must(l.member(l.name).Delete(l.Context(), own))
	l.must(l.member(l.name).Delete(l.Context(), set))
}

func named(quota *corev1.ResourceQuota, name string) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: quota.Namespace, Name: name}, Spec: quota.Spec}
}

// conditions returns those of the budget that become true while do runs and tell of something wrong.
func (l *liar) conditions(do func()) string {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	seen := sets.New[string]()
	look := func() sets.Set[string] {
		now := sets.New[string]()
		if fq, err := l.federatedQuota(ctx); err == nil {
			for _, c := range fq.Status.Conditions {
				if c.Status == metav1.ConditionTrue {
					now.Insert(c.Type)
				}
			}
		}
		return now
	}
	before := look().Insert(quotav1alpha1.ConditionReady, quotav1alpha1.ConditionReconciling)
	var looking sync.WaitGroup
	looking.Go(func() {
		for ctx.Err() == nil {
			seen = seen.Union(look())
			pause(ctx, pollInterval)
		}
	})
	do()
	last := look()
	cancel()
	looking.Wait()
	return cmp.Or(strings.Join(sets.List(seen.Union(last).Difference(before)), ", "), "none")
}

// others returns what limits of cpu the members enforce together that do not lie.
func (l *liar) others() string {
	l.Helper()
	sum := resource.Quantity{}
	for _, name := range []string{west, north} {
		quota := &corev1.ResourceQuota{}
		l.must(l.member(name).Get(l.Context(), l.key, quota))
		sum.Add(quota.Status.Hard[cpu])
	}
	return sum.String()
}

// lie is one that a member tells, and what is seen of it elsewhere.
type lie struct {
	name string
	tell telling
	seen func(l *liar)
}

func lies() []lie {
	return []lie{
		{
			name: "it uses nothing, and gives all back that it is told to",
			tell: obeys(func(share *quotav1alpha1.QuotaShare) { share.Status.Used = corev1.ResourceList{cpu: zero, pods: zero} }),
			seen: func(l *liar) {
				l.deploy(west, "greedy", 25, "1")
				l.runs(west, "greedy", 25)
				l.undeploy(west, "greedy")
			},
		}, {
			name: "it needs more than there is",
			tell: obeys(func(share *quotav1alpha1.QuotaShare) {
				share.Status.Used = share.Spec.Hard
				share.Status.Demand = budget("1000000", "1000000")
			}),
			seen: func(l *liar) {
				l.eventually("the lie to count", l.targeted(func(target int64) bool { return target >= 20 }))
				l.deploy(west, "guaranteed", 5, "1")
				l.runs(west, "guaranteed", 5)
				l.undeploy(west, "guaranteed")
			},
		}, {
			name: "it enforces what is next",
			tell: func(share *quotav1alpha1.QuotaShare) { share.Status.Revision = share.Spec.Revision + 1 },
			seen: func(l *liar) {
				l.condition(quotav1alpha1.ConditionRebuilding)
			},
		}, {
			name: "it enforces a revision that nobody gave",
			tell: func(share *quotav1alpha1.QuotaShare) { share.Status.Revision = math.MaxInt64 },
			seen: func(l *liar) {
				l.condition(quotav1alpha1.ConditionMemberNotReady, l.name, "the hub has not written revision")
			},
		}, {
			name: "it uses and enforces more than exists",
			tell: obeys(func(share *quotav1alpha1.QuotaShare) {
				share.Status.Used, share.Status.Hard = budget("9E", "9E"), budget("9E", "9E")
			}),
			seen: func(l *liar) {
				l.condition(quotav1alpha1.ConditionDebt)
			},
		}, {
			name: "it is another cluster",
			tell: func(*quotav1alpha1.QuotaShare) {},
			seen: func(l *liar) {
				l.is(west)
				l.condition(quotav1alpha1.ConditionUnreachable, "lead to the same API server")
				l.is(l.name)
			},
		},
	}
}

var zero = resource.MustParse("0")

// obeys makes a lie one of a member that says that it does as it is told.
func obeys(tell telling) telling {
	return func(share *quotav1alpha1.QuotaShare) {
		share.Status.Revision, share.Status.Hard, share.Status.Demand = share.Spec.Revision, share.Spec.Hard, nil
		tell(share)
	}
}

// targeted says whether the target of the liar is as it should be.
func (l *liar) targeted(want func(target int64) bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		share := &quotav1alpha1.QuotaShare{}
		if err := l.client.Get(ctx, l.key, share); err != nil {
			return err
		}
		target := share.Spec.Hard[cpu]
		if !want(target.Value()) {
			return fmt.Errorf("its target is %s", target.String())
		}
		return nil
	}
}

// is writes for which Cluster the share in the member is, as its administrator can.
func (l *liar) is(cluster string) {
	l.Helper()
	object := &clusterv1.Cluster{}
	l.must(l.hub.Get(l.Context(), client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: cluster}, object))
	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: l.key.Name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, quotav1alpha1.ClusterAnnotation, object.UID)
	as := client.WithFieldOwner(l.member(l.name), quotav1alpha1.HubFieldManager)
	l.must(as.Patch(l.Context(), share, client.RawPatch(types.MergePatchType, patch)))
}
