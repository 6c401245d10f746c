//go:build e2e

package native_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const budgetName = "budget"

// scene is a row that is played in a namespace of its own.
type scene struct {
	*testing.T
	*world
	*row

	namespace string
	sight     sight

	mutex sync.Mutex
	made  int
}

// scene makes the namespace of a row on the hub and in the members, and waits for what Kubernetes makes there.
func (w *world) scene(t *testing.T, r *row, number int) *scene {
	t.Helper()
	s := &scene{T: t, world: w, row: r, namespace: fmt.Sprintf("row-%d", number)}
	for _, server := range []string{hub, east, west} {
		s.must(w.clients[server].Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	}
	for _, member := range []string{east, west} {
		s.eventually("what Kubernetes makes in each namespace", func(ctx context.Context) error {
			c := w.clients[member]
			return errors.Join(c.Get(ctx, s.key("default"), &corev1.ServiceAccount{}), c.Get(ctx, s.key("kube-root-ca.crt"), &corev1.ConfigMap{}))
		})
		for _, object := range decode(t, s.namespace, r.setup) {
			s.must(w.clients[member].Create(t.Context(), object))
		}
	}
	return s
}

func (s *scene) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

// must ends the row on an error.
func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) eventually(what string, condition func(context.Context) error) {
	s.Helper()
	s.must(await(s.Context(), what, condition))
}

// create creates a FederatedQuota over both members. It gives nobody headroom: limits move by demand alone.
func (s *scene) create(name, spec string, hard resource.Quantity) *quotav1alpha1.FederatedQuota {
	s.Helper()
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard:      corev1.ResourceList{corev1.ResourceName(s.name): hard},
			Placement: quotav1alpha1.Placement{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}},
			Rebalance: quotav1alpha1.Rebalance{Mode: quotav1alpha1.RebalanceAuto, HeadroomPercent: new(int32(0))},
			Admission: quotav1alpha1.Admission{WaitMilliseconds: new(int32(1000))},
		},
	}
	for name, unit := range s.also {
		fq.Spec.Hard[corev1.ResourceName(name)] = times(2, unit)
	}
	s.must(yaml.UnmarshalStrict([]byte(spec), &fq.Spec))
	s.must(s.clients[hub].Create(s.Context(), fq))
	return fq
}

// budget creates a FederatedQuota over both members, and waits until they enforce it.
func (s *scene) budget(name, spec string, hard resource.Quantity) {
	s.Helper()
	fq := s.create(name, spec, hard)
	s.eventually("the budget to be enforced", func(ctx context.Context) error {
		err := s.clients[hub].Get(ctx, client.ObjectKeyFromObject(fq), fq)
		if err == nil && (fq.Status.ObservedGeneration != fq.Generation || fq.Status.Settled != "2/2" || fq.Status.SpecRevision == 0) {
			err = fmt.Errorf("settled: %s; %v", fq.Status.Settled, fq.Status.Conditions)
		}
		return err
	})
}

// quota reads a ResourceQuota of a member.
func (s *scene) quota(ctx context.Context, member, name string) (*corev1.ResourceQuota, error) {
	quota := &corev1.ResourceQuota{}
	return quota, s.clients[member].Get(ctx, s.key(name), quota)
}

// limits are those in force in east and west.
func (s *scene) limits() (limits [2]resource.Quantity) {
	s.Helper()
	for i, member := range []string{east, west} {
		quota, err := s.quota(s.Context(), member, budgetName)
		s.must(err)
		limits[i] = quota.Status.Hard[corev1.ResourceName(s.name)]
	}
	return limits
}

// have waits until the limits of east and west are what so many objects are charged.
func (s *scene) have(objects ...int64) {
	s.Helper()
	s.eventually(fmt.Sprintf("limits of %v objects", objects), func(context.Context) error {
		for i, limit := range s.limits() {
			if limit.Cmp(s.charge(objects[i], 1)) != 0 {
				return fmt.Errorf("%s is the limit of member %d", limit.String(), i)
			}
		}
		return nil
	})
}

// uses waits until a member is charged for so many objects.
func (s *scene) uses(member string, objects int64) {
	s.Helper()
	s.usesOf(member, budgetName, s.charge(objects, 1))
}

// usesOf waits until a member is charged so much of a budget.
func (s *scene) usesOf(member, budget string, want resource.Quantity) {
	s.Helper()
	s.must(s.awaitUse(member, budget, want))
}

func (s *scene) awaitUse(member, budget string, want resource.Quantity) error {
	return await(s.Context(), fmt.Sprintf("%s to be charged %s", member, want.String()), func(ctx context.Context) error {
		used, err := s.used(ctx, member, budget)
		if err == nil && used.Cmp(want) != 0 {
			err = fmt.Errorf("it is charged %s", used.String())
		}
		return err
	})
}

// used is what a member is charged of a budget.
func (s *scene) used(ctx context.Context, member, budget string) (resource.Quantity, error) {
	quota, err := s.quota(ctx, member, budget)
	return quota.Status.Used[corev1.ResourceName(s.name)], err
}

// new returns an object of the YAML, with a name unless it shall be given one.
func (s *scene) new(content string) *unstructured.Unstructured {
	s.Helper()
	object := decode(s.T, s.namespace, content)[0]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.made++; object.GetName() == "" && object.GetGenerateName() == "" {
		object.SetName(fmt.Sprintf("object-%d", s.made))
	}
	return object
}

// fits creates an object that there is room for in the fleet, as clients do: one that is refused is tried again.
func (s *scene) fits(member, content string) *unstructured.Unstructured {
	s.Helper()
	object := s.new(content)
	s.eventually(fmt.Sprintf("a %s in %s", object.GetKind(), member), func(ctx context.Context) error {
		created := object.DeepCopy()
		err := s.clients[member].Create(ctx, created)
		if err == nil {
			object = created
		} else if ctx.Err() == nil && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
			s.Fatal(err)
		}
		return err
	})
	return object
}

// change changes an object by a patch in YAML.
func (s *scene) change(ctx context.Context, member, part string, object client.Object, patch string) error {
	content, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return err
	}
	kind := types.MergePatchType
	if object.GetObjectKind().GroupVersionKind().Kind == "Pod" {
		kind = types.StrategicMergePatchType // containers are merged by name
	}
	changed := object.DeepCopyObject().(client.Object)
	if part != "" {
		return s.clients[member].SubResource(part).Patch(ctx, changed, client.RawPatch(kind, content))
	}
	return s.clients[member].Patch(ctx, changed, client.RawPatch(kind, content))
}

// changes makes a change, as clients do: what is refused is tried again.
func (s *scene) changes(member, part string, object client.Object, patch string) {
	s.Helper()
	s.eventually("the change "+patch, func(ctx context.Context) error { return s.change(ctx, member, part, object, patch) })
}

// remove deletes an object.
func (s *scene) remove(member string, object client.Object) {
	s.Helper()
	s.must(s.tryRemove(member, object))
}

func (s *scene) tryRemove(member string, object client.Object) error {
	return s.clients[member].Delete(s.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// refusedInBoth sees that there is no room for an object, in east that has all nor in west that has nothing.
func (s *scene) refusedInBoth() {
	s.Helper()
	var waiting sync.WaitGroup
	errs := [2]error{}
	waiting.Go(func() { errs[0] = s.refusedBy(budgetName, east, 2, s.creates(east, s.object)) })
	waiting.Go(func() { errs[1] = s.refusedBy(budgetName, west, 0, s.creates(west, s.object)) })
	waiting.Wait()
	s.must(errors.Join(errs[:]...))
}

// attempt is a request that there is no room for. If it is let through all the same, undo makes up for it.
type attempt func() (undo func() error, err error)

// creates is the attempt to create an object.
func (s *scene) creates(member, content string) attempt {
	return func() (func() error, error) {
		object := s.new(content)
		return func() error { return s.tryRemove(member, object) }, s.clients[member].Create(s.Context(), object)
	}
}

// refusedBy sees a request for one object more refused in a member that is charged for so many, and has room for no
// more: by the agent, in the words of native quota. An API server that does not call the agent yet, or had no answer
// from it in time, refuses it alone.
func (s *scene) refusedBy(budget, member string, objects int64, request attempt) error {
	s.Helper()
	used := s.charge(objects, 1)
	requested, all := s.words(times(1, s.unit), 1), s.words(used, objects)
	want := fmt.Sprintf("exceeded quota: %s, requested: %s, used: %s, limited: %s; fleet: used ", budget, requested, all, all)
	var err error
	for range 5 {
		var undo func() error
		if undo, err = request(); err == nil {
			s.slipped()
			if err := errors.Join(undo(), s.awaitUse(member, budget, used)); err != nil {
				return err
			}
			err = errors.New("native quota lets in what is above the limit")
		} else if apierrors.IsForbidden(err) && strings.Contains(err.Error(), want) {
			return nil
		}
	}
	return fmt.Errorf("in %s: got %w, want %q", member, err, want)
}

// slipped counts a request that native quota let through beyond the limit: it had not counted an object that was just
// made.
func (s *scene) slipped() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sight.slips++
}
