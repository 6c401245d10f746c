package join

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/pace"
)

// +kubebuilder:rbac:groups=multicluster.x-k8s.io,namespace=default,resources=clusterprofiles,verbs=list;watch

// clusterProfile is the kind of the cluster inventory. Of its objects the metadata count alone, which no version changes.
var clusterProfile = schema.GroupKind{Group: "multicluster.x-k8s.io", Kind: "ClusterProfile"}

// Profiles is the source of ClusterProfiles with a Secret for fedquota, where their kind is served. It also reads kubeconfig Secrets: one
// that is not there by the name that Cluster API gives it may be that of a ClusterProfile.
type Profiles struct {
	client.Reader

	// Namespace is where the ClusterProfiles and their Secrets are.
	Namespace string

	inventory atomic.Pointer[inventory]
}

// inventory caches ClusterProfiles, and the Secrets for fedquota.
type inventory struct {
	cache.Cache

	kind schema.GroupVersionKind
}

// Get implements client.Reader.
func (p *Profiles) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := p.Reader.Get(ctx, key, object, options...)
	s, ok := object.(*corev1.Secret)
	cached := p.inventory.Load()
	if !apierrors.IsNotFound(err) || !ok || cached == nil {
		return err
	}
	cluster, purpose, unknown := secret.ParseSecretName(key.Name)
	if unknown != nil || purpose != secret.Kubeconfig {
		return err
	}
	found, missing := members.ProfileSecret(ctx, cached, client.ObjectKey{Namespace: key.Namespace, Name: cluster})
	if apierrors.IsNotFound(missing) {
		return err
	}
	if missing != nil {
		return missing
	}
	found.DeepCopyInto(s)
	s.Data = map[string][]byte{secret.KubeconfigDataName: found.Data[members.ProfileDataName]}
	return nil
}

// wish implements Source.
func (p *Profiles) wish(ctx context.Context, key client.ObjectKey) (*wish, error) {
	cached := p.inventory.Load()
	profile := cached.profile()
	if err := cached.Get(ctx, key, profile); err != nil || !profile.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	s, err := members.ProfileSecret(ctx, cached, key)
	if errors.Is(err, members.ErrSeveralSecrets) {
		return &wish{of: profile, problem: err.Error()}, nil
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &wish{
		of: profile, name: profile.Name, labels: profile.Labels, secret: s.Name, problem: problemOf(s, members.ProfileDataName),
	}, nil
}

// profile returns a ClusterProfile that is yet to be read.
func (i *inventory) profile() *metav1.PartialObjectMetadata {
	profile := &metav1.PartialObjectMetadata{}
	profile.SetGroupVersionKind(i.kind)
	return profile
}

// SetupWithManager registers the reconciler of this source, now or once the kind is served.
func (p *Profiles) SetupWithManager(mgr ctrl.Manager, r *Reconciler, options controller.Options) error {
	if begun, err := p.begin(mgr, r, options); begun || err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, pace.ProfilesInterval, false, func(context.Context) (bool, error) { return p.begin(mgr, r, options) })
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
		return err
	}))
}

// begin registers the reconciler if the kind is served. If that cannot be known just now, it is asked again.
func (p *Profiles) begin(mgr ctrl.Manager, r *Reconciler, options controller.Options) (begun bool, err error) {
	mapping, err := mgr.GetRESTMapper().RESTMapping(clusterProfile)
	if err != nil {
		if !apimeta.IsNoMatchError(err) {
			mgr.GetLogger().Error(err, "Asking whether ClusterProfiles are served")
		}
		return false, nil
	}
	cached := &inventory{kind: mapping.GroupVersionKind}
	cached.Cache, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: map[string]cache.Config{p.Namespace: {}}, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{members.ConsumerLabel: members.Consumer})},
		},
	})
	if err != nil {
		return false, err
	}
	if err := mgr.Add(cached.Cache); err != nil {
		return false, err
	}
	p.inventory.Store(cached)
	of := func(name func(client.Object) string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name(object)}}}
		})
	}
	return true, ctrl.NewControllerManagedBy(mgr).
		Named("join-profiles").
		WatchesRawSource(source.Kind[client.Object](cached.Cache, cached.profile(), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind[client.Object](cached.Cache, &corev1.Secret{}, of(func(s client.Object) string {
			return s.GetLabels()[members.ProfileLabel]
		}))).
		Watches(&clusterv1.Cluster{}, of(client.Object.GetName), builder.WithPredicates(predicate.NewPredicateFuncs(func(object client.Object) bool {
			return joined(object.(*clusterv1.Cluster))
		}))).
		WithOptions(options).
		Complete(&Reconciler{Client: r.Client, Recorder: r.Recorder, source: p})
}
