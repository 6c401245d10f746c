package join

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/served"
)

// +kubebuilder:rbac:groups=multicluster.x-k8s.io,namespace=default,resources=clusterprofiles,verbs=list;watch

// clusterProfile is the kind of the cluster inventory. Of its objects the metadata count alone, which no version
// changes.
var clusterProfile = schema.GroupKind{Group: "multicluster.x-k8s.io", Kind: "ClusterProfile"}

// Profiles is the source of ClusterProfiles with a Secret for fedquota, where their kind is served. It also reads
// kubeconfig Secrets: one that is not there by the name that Cluster API gives it may be that of a ClusterProfile.
type Profiles struct {
	client.Reader

	// Namespaces are where the ClusterProfiles and their Secrets are.
	Namespaces []string

	inventory atomic.Pointer[inventory]
}

// inventory reads ClusterProfiles of a kind that is served, and the Secrets for fedquota.
type inventory struct {
	client.Reader

	kind schema.GroupVersionKind
}

// Get implements client.Reader.
func (p *Profiles) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	err := p.Reader.Get(ctx, key, object, options...)
	if s, ok := object.(*corev1.Secret); ok && apierrors.IsNotFound(err) {
		return p.instead(ctx, key, s, err)
	}
	return err
}

// instead reads the kubeconfig of a ClusterProfile in place of one that is not there, if the Cluster is one that it may
// be for.
func (p *Profiles) instead(ctx context.Context, key client.ObjectKey, s *corev1.Secret, absent error) error {
	known := p.inventory.Load()
	name, purpose, err := secret.ParseSecretName(key.Name)
	if known == nil || err != nil || purpose != secret.Kubeconfig {
		return absent
	}
	cluster, profile := &clusterv1.Cluster{}, client.ObjectKey{Namespace: key.Namespace, Name: name}
	if err := p.Reader.Get(ctx, profile, cluster); err != nil || !joined(cluster) {
		return absent
	}
	found, err := members.ProfileSecret(ctx, known, profile)
	if apierrors.IsNotFound(err) {
		return absent
	}
	if err != nil {
		return err
	}
	found.DeepCopyInto(s)
	s.Data = map[string][]byte{secret.KubeconfigDataName: found.Data[members.ProfileDataName]}
	return nil
}

// wish implements Source.
func (p *Profiles) wish(ctx context.Context, key client.ObjectKey) (*wish, error) {
	known := p.inventory.Load()
	profile := known.profile()
	if err := known.Get(ctx, key, profile); err != nil || !profile.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	s, err := members.ProfileSecret(ctx, known, key)
	if errors.Is(err, members.ErrSeveralSecrets) {
		return &wish{of: profile, problem: err.Error()}, nil
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &wish{
		of: profile, name: profile.Name, labels: profile.Labels, secret: s.Name,
		problem: problemOf(s, members.ProfileDataName),
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
	return served.Once(mgr, func() error { return p.begin(mgr, r, options) }, clusterProfile)
}

func (p *Profiles) begin(mgr ctrl.Manager, r *Reconciler, options controller.Options) error {
	mapping, err := mgr.GetRESTMapper().RESTMapping(clusterProfile)
	if err != nil {
		return err
	}
	cached, err := p.newCache(mgr)
	if err != nil {
		return err
	}
	known := &inventory{Reader: cached, kind: mapping.GroupVersionKind}
	p.inventory.Store(known)
	return ctrl.NewControllerManagedBy(mgr).
		Named("join-profiles").
		WatchesRawSource(source.Kind[client.Object](cached, known.profile(), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind[client.Object](cached, &corev1.Secret{}, profileOf(func(s client.Object) string {
			return s.GetLabels()[members.ProfileLabel]
		}))).
		Watches(&clusterv1.Cluster{}, profileOf(client.Object.GetName),
			builder.WithPredicates(predicate.NewPredicateFuncs(func(c client.Object) bool {
				return joined(c.(*clusterv1.Cluster))
			}))).
		WithOptions(options).
		Complete(&Reconciler{Client: r.Client, Recorder: r.Recorder, source: p})
}

// newCache adds a cache of ClusterProfiles and of the Secrets for fedquota. The manager's own goes by another label.
func (p *Profiles) newCache(mgr ctrl.Manager) (cache.Cache, error) {
	namespaces := map[string]cache.Config{}
	for _, namespace := range p.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	cached, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: namespaces, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{members.ConsumerLabel: members.Consumer})},
		},
	})
	if err != nil {
		return nil, err
	}
	return cached, mgr.Add(cached)
}

// profileOf has an object wake the ClusterProfile that it names.
func profileOf(name func(client.Object) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name(object)}}}
	})
}
