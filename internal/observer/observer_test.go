package observer

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fedquota/fedquota/internal/observer/report"
)

// realMember is a real API server with a client that writes as an agent would.
type realMember struct {
	config *rest.Config
	client *kubernetes.Clientset
}

// startMembers returns two real API servers, each with its own etcd, which stop with the test.
func startMembers(t *testing.T) map[string]*realMember {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it must name a directory with etcd and kube-apiserver")
	}
	members := map[string]*realMember{}
	var mu sync.Mutex
	var starting sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		starting.Go(func() {
			env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute}
			config, err := env.Start()
			if err != nil {
				t.Errorf("member %s: %v", name, err)
				return
			}
			t.Cleanup(func() {
				if err := env.Stop(); err != nil {
					t.Errorf("member %s: %v", name, err)
				}
			})
			config.QPS = -1
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Errorf("member %s: %v", name, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			members[name] = &realMember{config: config, client: client}
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return members
}

// namespaces creates a namespace for one test in every member.
func namespaces(t *testing.T, members map[string]*realMember, name string) {
	t.Helper()
	for _, m := range members {
		_, err := m.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// create writes the managed object with its status, as if the quota controller had done its part.
func (m *realMember) create(ctx context.Context, t *testing.T, namespace, hard, used string) {
	t.Helper()
	m.createAs(ctx, t, makeQuota(0), namespace, hard, used)
}

func (m *realMember) createAs(ctx context.Context, t *testing.T, q quota, namespace, hard, used string) {
	t.Helper()
	rq := q.Spec(hard).Obj()
	rq.Namespace, rq.UID, rq.ResourceVersion = namespace, "", ""
	if _, err := m.client.CoreV1().ResourceQuotas(namespace).Create(ctx, rq, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.write(ctx, namespace, hard, used, 1); err != nil {
		t.Fatal(err)
	}
}

// write sets the limit in the spec and in force, and the usage.
func (m *realMember) write(ctx context.Context, namespace, hard, used string, revision int) error {
	quotas := m.client.CoreV1().ResourceQuotas(namespace)
	rq, err := quotas.Get(ctx, "compute", metav1.GetOptions{})
	if err != nil {
		return err
	}
	rq.Annotations["quota.fedquota.io/revision"], rq.Spec.Hard = fmt.Sprint(revision), amounts(hard)
	if rq, err = quotas.Update(ctx, rq, metav1.UpdateOptions{}); err != nil {
		return err
	}
	rq.Status.Hard, rq.Status.Used = amounts(hard), amounts(used)
	_, err = quotas.UpdateStatus(ctx, rq, metav1.UpdateOptions{})
	return err
}

func watchMembers(t *testing.T, members map[string]*realMember, namespace, budget string) *Observer {
	t.Helper()
	options := Options{Members: map[string]*rest.Config{}, Namespace: namespace, Name: "compute", Budget: amounts(budget)}
	for name, m := range members {
		options.Members[name] = m.config
	}
	o, err := Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Stop() })
	return o
}

// judged lets the observer judge all that was written. One try may be too slow.
func judged(t *testing.T, o *Observer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := o.Sync(ctx); err != nil; err = o.Sync(ctx) {
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestRealMembers starts two API servers once for all that needs them.
func TestRealMembers(t *testing.T) {
	members := startMembers(t)
	t.Run("moves", func(t *testing.T) { testMoves(t, members) })
	t.Run("single member", func(t *testing.T) { testSingleMember(t, members) })
	t.Run("sync", func(t *testing.T) { testSync(t, members) })
	t.Run("unmanaged", func(t *testing.T) { testUnmanaged(t, members) })
	t.Run("versions", func(t *testing.T) { testVersions(t, members) })
	t.Run("levels", func(t *testing.T) { testLevels(t, members) })
}

// mover moves 2 of 10 pods to and fro between a and b, n times.
type mover func(ctx context.Context, members map[string]*realMember, namespace string, n int) error

// donorFirst lowers one member, and raises the other after that write has returned.
func donorFirst(ctx context.Context, members map[string]*realMember, namespace string, n int) error {
	donor, receiver := sides(members, n)
	if err := donor.write(ctx, namespace, "pods=4", "pods=0", n+2); err != nil {
		return err
	}
	return receiver.write(ctx, namespace, "pods=6", "pods=0", n+2)
}

// receiverFirst is the naive order.
func receiverFirst(ctx context.Context, members map[string]*realMember, namespace string, n int) error {
	donor, receiver := sides(members, n)
	if err := receiver.write(ctx, namespace, "pods=6", "pods=0", n+2); err != nil {
		return err
	}
	return donor.write(ctx, namespace, "pods=4", "pods=0", n+2)
}

// atOnce writes to both members without any order.
func atOnce(ctx context.Context, members map[string]*realMember, namespace string, n int) error {
	donor, receiver := sides(members, n)
	lowered := make(chan error, 1)
	go func() { lowered <- donor.write(ctx, namespace, "pods=4", "pods=0", n+2) }()
	if err := receiver.write(ctx, namespace, "pods=6", "pods=0", n+2); err != nil {
		return err
	}
	return <-lowered
}

func sides(members map[string]*realMember, n int) (donor, receiver *realMember) {
	if n%2 == 0 {
		return members["a"], members["b"]
	}
	return members["b"], members["a"]
}

func testMoves(t *testing.T, members map[string]*realMember) {
	cases := map[string]struct {
		move  mover
		moves int
		found bool
	}{
		"donor first":    {donorFirst, 40, false},
		"receiver first": {receiverFirst, 40, true},
		"all at once":    {atOnce, 200, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			namespace := strings.ReplaceAll(name, " ", "-")
			namespaces(t, members, namespace)
			members["a"].create(t.Context(), t, namespace, "pods=6", "pods=0")
			members["b"].create(t.Context(), t, namespace, "pods=4", "pods=0")
			o := watchMembers(t, members, namespace, "pods=10")
			for n := range tc.moves {
				if err := tc.move(t.Context(), members, namespace, n); err != nil {
					t.Fatal(err)
				}
			}
			judged(t, o)
			seen := o.Stop()
			if err := seen.WriteTable(t.Output()); err != nil {
				t.Error(err)
			}
			if found := len(seen.Violations()) > 0; found != tc.found {
				t.Errorf("violations found: %t, want %t", found, tc.found)
			}
			for _, m := range seen.Members {
				if want := 2*tc.moves + 1; m.Versions != want {
					t.Errorf("member %s: %d versions seen, want %d", m.Name, m.Versions, want)
				}
			}
		})
	}
}

func testSingleMember(t *testing.T, members map[string]*realMember) {
	const namespace = "single"
	namespaces(t, members, namespace)
	o := watchMembers(t, members, namespace, "pods=10")
	a := members["a"]
	a.create(t.Context(), t, namespace, "pods=6", "pods=5")
	if err := a.write(t.Context(), namespace, "pods=4", "pods=5", 2); err != nil {
		t.Fatal(err)
	}
	if err := a.client.CoreV1().ResourceQuotas(namespace).Delete(t.Context(), "compute", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	a.create(t.Context(), t, namespace, "pods=6", "pods=0")
	judged(t, o)
	seen := o.Stop()
	for _, kind := range []report.FindingKind{report.LimitBelowUsage, report.RevisionDown, report.Deleted, report.Recreated} {
		if seen.Counts[kind] != 1 {
			t.Errorf("%s found %d times, want once; all: %v", kind, seen.Counts[kind], seen.Counts)
		}
	}
	if got := len(seen.Violations()); got != 3 {
		t.Errorf("violations: %q", seen.Violations())
	}
}

// testSync checks that what was written before Sync has been judged after it, and that budgets follow ChangeBudget.
func testSync(t *testing.T, members map[string]*realMember) {
	const namespace = "sync"
	namespaces(t, members, namespace)
	o := watchMembers(t, members, namespace, "pods=10")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := o.ChangeBudget(ctx, amounts("pods=12"), func(context.Context) error {
		members["a"].create(ctx, t, namespace, "pods=12", "pods=0")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	judged(t, o)
	res := o.Report().Resources[0]
	if !same(res.Last, "12") || res.Seen != 0 {
		t.Errorf("last %s, %d excesses seen; want 12 and none", res.Last.String(), res.Seen)
	}
	members["b"].create(ctx, t, namespace, "pods=1", "pods=0")
	judged(t, o)
	if got := o.Report().Violations(); len(got) != 1 {
		t.Errorf("violations before the end: %q", got)
	}
	o.Forget("b")
	if got := o.Report().Resources[0].Last; !same(got, "12") {
		t.Errorf("sum without the forgotten member is %s, want 12", got.String())
	}
	o.Stop()
	if err := o.Sync(ctx); err == nil {
		t.Error("Sync of a stopped observer did not fail")
	}
}

// testLevels has the sum over two namespaces be within what is allowed, that of one of them above the budget of its own
// level, and that of the other within what its level had granted before.
func testLevels(t *testing.T, members map[string]*realMember) {
	namespaces(t, members, "vision")
	namespaces(t, members, "speech")
	members["a"].create(t.Context(), t, "speech", "pods=7", "pods=0")
	options := Options{Places: map[string]Place{}, Budget: amounts("pods=20"), Levels: []Level{
		{Name: "vision", Budget: amounts("pods=10"), Places: []string{"vision in a", "vision in b"}},
		{Name: "speech", Budget: amounts("pods=6"), Granted: amounts("pods=7"), Places: []string{"speech in a"}},
	}}
	for _, place := range []struct{ namespace, member string }{{"vision", "a"}, {"vision", "b"}, {"speech", "a"}} {
		options.Places[place.namespace+" in "+place.member] = Place{Config: members[place.member].config, Namespace: place.namespace, Name: "compute"}
	}
	o, err := Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Stop() })
	members["a"].create(t.Context(), t, "vision", "pods=8", "pods=0")
	members["b"].create(t.Context(), t, "vision", "pods=3", "pods=0")
	judged(t, o)
	seen := o.Stop()
	if err := seen.WriteTable(t.Output()); err != nil {
		t.Error(err)
	}
	violations := seen.Violations()
	if len(violations) != 1 || !strings.HasPrefix(violations[0], "vision: excess of pods: 1 above 10") {
		t.Errorf("violations: %q", violations)
	}
	if largest := seen.Resources[0].Largest; !same(largest, "18") || len(seen.Levels) != 2 {
		t.Errorf("the largest sum is %s, of %d levels", largest.String(), len(seen.Levels))
	}
}
