package applied

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/pace"
)

// ownedWhole are kinds of which the spec is as it is applied, and no more: one further field in a policy or in its
// binding can take a protection out of force. What others add to objects elsewhere stays.
var ownedWhole = sets.New("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

// urgent is the kind that each look includes: without the configuration of the webhook, requests that do not fit are
// refused at once.
const urgent = "ValidatingWebhookConfiguration"

// record is an object as it was applied.
type record struct {
	object *unstructured.Unstructured
	version
}

// version changes when somebody changes an object, and stays when its status changes.
type version struct {
	uid    types.UID
	number string
}

// versionOf returns the version of an object. Kinds without a generation have no status that changes often. Of the
// Lease, which the hub renews all the time, no more is asked than that it is there.
func versionOf(object client.Object) version {
	switch {
	case object.GetObjectKind().GroupVersionKind().Kind == "Lease":
		return version{uid: object.GetUID()}
	case object.GetGeneration() > 0:
		return version{object.GetUID(), strconv.FormatInt(object.GetGeneration(), 10)}
	}
	return version{object.GetUID(), object.GetResourceVersion()}
}

// key tells the objects of a member apart.
type key struct {
	kind string
	client.ObjectKey
}

func keyOf(object *unstructured.Unstructured) key {
	return key{object.GetKind(), client.ObjectKeyFromObject(object)}
}

// nameOf returns what messages call an object.
func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

// visit is one look at a connected member.
type visit struct {
	*Controller

	member client.Client
	// writer returns the client that applies, which is made once it is needed.
	writer func() (client.Client, error)
	state  *State
}

// look has a connected member have what it is to have, and notes what it has then.
func (c *Controller) look(
	ctx context.Context, member client.Client, cluster members.Cluster, wanted *Wanted, state *State,
) (err error) {
	v := &visit{Controller: c, member: member, state: state, writer: func() (client.Client, error) { return member, nil }}
	if c.Bootstrap != nil {
		v.writer = sync.OnceValues(func() (client.Client, error) {
			return c.Bootstrap(ctx, client.ObjectKeyFromObject(cluster))
		})
	}
	if err := v.removeAll(ctx, wanted.Absent); err != nil {
		return err
	}
	whole := wanted.Whole || c.Clock.Since(state.lookedAt) >= pace.InstallInterval
	if err := v.applyAll(ctx, wanted.Objects, whole); err != nil {
		return err
	}
	state.From = wanted.From
	if whole {
		state.lookedAt = c.Clock.Now()
		state.Flaw, err = c.Source.Flaw(ctx, member)
	}
	return err
}

// removeAll removes objects that are not to be there, and tries all of them.
func (v *visit) removeAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	var errs []error
	for _, object := range objects {
		delete(v.state.records, keyOf(object))
		if err := v.remove(ctx, object); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", nameOf(object), err))
		}
	}
	return errors.Join(errs...)
}

// remove removes an object. Where the hub has no right to look at it, it never had the one to make it: the manifests
// there are older.
func (v *visit) remove(ctx context.Context, object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	found, err := v.present(ctx, object)
	switch {
	case found == version{} && err == nil, apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return err
	}
	return client.IgnoreNotFound(v.member.Delete(ctx, object))
}

// applyAll applies the objects that are not as they were applied last.
func (v *visit) applyAll(ctx context.Context, objects []*unstructured.Unstructured, whole bool) error {
	var applied []string
	defer func() {
		if v.state.Writes += len(applied); len(applied) > 0 {
			ctrl.LoggerFrom(ctx).Info("Applied objects to a member", "objects", applied)
		}
	}()
	for _, object := range objects {
		if !whole && object.GetKind() != urgent {
			continue
		}
		changed, err := v.ensure(ctx, object)
		if err != nil {
			return err
		}
		if changed {
			applied = append(applied, nameOf(object))
		}
	}
	return nil
}

// ensure applies an object that is not as it was applied last, and says whether that has changed it.
func (v *visit) ensure(ctx context.Context, object *unstructured.Unstructured) (changed bool, err error) {
	name := nameOf(object)
	found, err := v.present(ctx, object)
	if apierrors.IsForbidden(err) && v.Bootstrap != nil {
		err = nil // the role of the hub's account was changed, or is older than this hub manager
	}
	if err != nil {
		return false, fmt.Errorf("looking at %s: %w", name, err)
	}
	last, known := v.state.records[keyOf(object)]
	if known && found == last.version && equality.Semantic.DeepEqual(last.object, object) {
		return false, nil
	}
	delete(v.state.records, keyOf(object))
	now, err := v.apply(ctx, object)
	if err != nil {
		return false, fmt.Errorf("applying %s: %w", name, err)
	}
	v.state.records[keyOf(object)] = record{object: object, version: now}
	return now != found, nil
}

// present returns the version of an object in the member, the zero one if it is not there.
func (v *visit) present(ctx context.Context, object *unstructured.Unstructured) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	stored := &metav1.PartialObjectMetadata{}
	stored.SetGroupVersionKind(object.GroupVersionKind())
	err := v.member.Get(ctx, client.ObjectKeyFromObject(object), stored)
	switch {
	case apierrors.IsNotFound(err), members.IsAbsentKind(err):
		return version{}, nil
	case err != nil:
		return version{}, err
	}
	return versionOf(stored), nil
}

// apply applies an object and returns its version then. A role can name what may be applied, and not what may be
// created.
func (v *visit) apply(ctx context.Context, object *unstructured.Unstructured) (version, error) {
	c, err := v.writer()
	if err != nil {
		return version{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	owner, applied := client.FieldOwner(v.Source.FieldOwner()), object.DeepCopy()
	if ownedWhole.Has(object.GetKind()) {
		if err := replaceSpec(ctx, c, object, owner); client.IgnoreNotFound(err) != nil {
			return version{}, err
		}
	}
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), owner, client.ForceOwnership)
	return versionOf(applied), err
}

// replaceSpec takes out of the spec of an object in the member what others have added. An apply would keep it, or fail
// on it: a binding that somebody has had warn cannot deny as well.
func replaceSpec(
	ctx context.Context, c client.Client, object *unstructured.Unstructured, owner client.FieldOwner,
) error {
	spec := patches.Operation{Op: "replace", Path: patches.Pointer("spec"), Value: object.Object["spec"]}
	return c.Patch(ctx, object.DeepCopy(), patches.JSON{spec}, owner)
}
