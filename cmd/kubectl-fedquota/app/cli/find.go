package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/text"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/shares"
)

// Kind is what a name is the name of.
type Kind int

// Kinds that hold a budget or a part of one.
const (
	// AnyKind is a FederatedQuota where the API server has it, else a QuotaShare.
	AnyKind Kind = iota
	FederatedQuota
	QuotaShare
	// QuotaPool is a budget above budgets: only commands that know of pools take it.
	QuotaPool
)

// kinds are the ways to write a kind.
var kinds = map[string]Kind{
	"fq": FederatedQuota, "federatedquota": FederatedQuota, "federatedquotas": FederatedQuota,
	"federatedquota.quota.fedquota.io": FederatedQuota, "federatedquotas.quota.fedquota.io": FederatedQuota,
	"qs": QuotaShare, "quotashare": QuotaShare, "quotashares": QuotaShare,
	"quotashare.quota.fedquota.io": QuotaShare, "quotashares.quota.fedquota.io": QuotaShare,
	"qp": QuotaPool, "quotapool": QuotaPool, "quotapools": QuotaPool,
	"quotapool.quota.fedquota.io": QuotaPool, "quotapools.quota.fedquota.io": QuotaPool,
}

// ParseName takes NAME or KIND/NAME apart.
func ParseName(arg string) (Kind, string, error) {
	kind, name, slash := strings.Cut(arg, "/")
	if !slash {
		return AnyKind, arg, nil
	}
	found, known := kinds[strings.ToLower(kind)]
	if !known || name == "" {
		return 0, "", fmt.Errorf("%q: must be NAME, fq/NAME, qs/NAME or qp/NAME", arg)
	}
	return found, name, nil
}

// Find returns the FederatedQuota, or else the QuotaShare, that an argument names, or the QuotaPool of qp/NAME.
func Find(ctx context.Context, c client.Client, namespace, arg string) (client.Object, error) {
	kind, name, err := ParseName(arg)
	if err != nil {
		return nil, err
	}
	key, fq := client.ObjectKey{Namespace: namespace, Name: name}, &quotav1alpha1.FederatedQuota{}
	switch kind {
	case QuotaPool:
		return get(ctx, c, client.ObjectKey{Name: name}, &quotav1alpha1.QuotaPool{})
	case QuotaShare:
		return get(ctx, c, key, &quotav1alpha1.QuotaShare{})
	case FederatedQuota:
		return get(ctx, c, key, fq)
	}
	budget, err := get(ctx, c, key, fq)
	if err == nil || !passes(err) {
		return budget, err
	}
	share, other := get(ctx, c, key, &quotav1alpha1.QuotaShare{})
	if other == nil || apimeta.IsNoMatchError(err) {
		return share, other
	}
	return nil, err
}

// get reads an object. If there is none of the name, the error says which others there are.
func get(ctx context.Context, c client.Client, key client.ObjectKey, object client.Object) (client.Object, error) {
	err := c.Get(ctx, key, object)
	switch {
	case err == nil:
		return Typed(object), nil
	case !apierrors.IsNotFound(err):
		return nil, Served(err)
	}
	kind, where := QuotaPool, "there are:"
	if key.Namespace != "" {
		kind, where = FederatedQuota, "namespace "+key.Namespace+" has"
	}
	if _, isShare := object.(*quotav1alpha1.QuotaShare); isShare {
		kind = QuotaShare
	}
	held, other := FindAll(ctx, c, key.Namespace, kind)
	if other != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s %s", err, where, named(held.Objects()))
}

// named names objects, "none" if there are none.
func named(objects []client.Object) string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return cmp.Or(shares.Abbreviated(names), "none")
}

// Budget reads a FederatedQuota.
func Budget(ctx context.Context, c client.Client, key client.ObjectKey) (*quotav1alpha1.FederatedQuota, error) {
	fq := &quotav1alpha1.FederatedQuota{}
	_, err := get(ctx, c, key, fq)
	return fq, err
}

// Pool returns the name of the QuotaPool that the argument names, NAME or qp/NAME, "" if there is none.
func Pool(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	kind, name, err := ParseName(args[0])
	if err != nil || kind != AnyKind && kind != QuotaPool {
		return "", fmt.Errorf("%q: must be NAME or qp/NAME, of a QuotaPool", args[0])
	}
	return name, nil
}

// Check says whether an object has the cluster and the resource name that alone are to be shown.
func Check(object client.Object, only view.Only) error {
	kind, name := object.GetObjectKind().GroupVersionKind().Kind, object.GetName()
	var limited []corev1.ResourceName
	switch o := object.(type) {
	case *quotav1alpha1.FederatedQuota:
		if only.Cluster != "" && view.EntryOf(o, only.Cluster) == nil {
			return fmt.Errorf("--cluster %s: FederatedQuota %s has no such cluster, it has %s", only.Cluster, name, ClustersOf(o))
		}
		limited = text.Names(o.Spec.Hard, o.Status.Hard)
	case *quotav1alpha1.QuotaPool:
		limited = text.Names(o.Spec.Hard, o.Status.Hard)
	case *quotav1alpha1.QuotaShare:
		limited = text.Names(o.Spec.Hard, o.Status.Hard)
	}
	if _, isBudget := object.(*quotav1alpha1.FederatedQuota); only.Cluster != "" && !isBudget {
		return fmt.Errorf("--cluster %s: only FederatedQuotas have clusters, and %s is a %s", only.Cluster, name, kind)
	}
	if only.Resource != "" && !slices.Contains(limited, only.Resource) {
		return fmt.Errorf("--resource %s: %s %s does not limit it, it limits %s", only.Resource, kind, name, view.Listed(limited))
	}
	return nil
}

// passes says whether the name may be that of a QuotaShare, if it is none of a FederatedQuota that can be read.
func passes(err error) bool {
	return apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) || apierrors.IsForbidden(err)
}

// Served turns the error of a kind that an API server does not have into one that says what that means.
func Served(err error) error {
	if apimeta.IsNoMatchError(err) {
		return fmt.Errorf("this API server does not serve the kinds of fedquota. "+
			"FederatedQuotas are on the hub, QuotaShares in members: see --context and --kubeconfig (%w)", err)
	}
	return err
}

// Typed sets the kind of an object that was read.
func Typed[T client.Object](object T) T {
	if gvk, err := apiutil.GVKForObject(object, scheme); err == nil {
		object.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return object
}

var scheme = schemes.All()

// Held are the budgets, or the parts of budgets, that an API server has.
type Held struct {
	// Kind is that of all of them.
	Kind    Kind
	Budgets []quotav1alpha1.FederatedQuota
	Shares  []quotav1alpha1.QuotaShare
	Pools   []quotav1alpha1.QuotaPool
}

// FindAll returns all FederatedQuotas of a namespace, or of all if that is empty, or else all QuotaShares; of the kind
// QuotaPool, all of these.
func FindAll(ctx context.Context, c client.Client, namespace string, kind Kind) (Held, error) {
	switch kind {
	case QuotaPool:
		var list quotav1alpha1.QuotaPoolList
		err := c.List(ctx, &list)
		return Held{Kind: kind, Pools: list.Items}, Served(err)
	case QuotaShare:
		var list quotav1alpha1.QuotaShareList
		err := c.List(ctx, &list, client.InNamespace(namespace))
		return Held{Kind: kind, Shares: list.Items}, Served(err)
	}
	var list quotav1alpha1.FederatedQuotaList
	err := c.List(ctx, &list, client.InNamespace(namespace))
	if kind == AnyKind && apimeta.IsNoMatchError(err) {
		return FindAll(ctx, c, namespace, QuotaShare)
	}
	return Held{Kind: FederatedQuota, Budgets: list.Items}, Served(err)
}

// Objects returns what is held.
func (h Held) Objects() []client.Object {
	return slices.Concat(objectsOf(h.Budgets), objectsOf(h.Shares), objectsOf(h.Pools))
}

func objectsOf[T any, P interface {
	*T
	client.Object
}](items []T) []client.Object {
	var objects []client.Object
	for i := range items {
		objects = append(objects, Typed(P(&items[i])))
	}
	return objects
}

// Scope says what a command shows that lists budgets: those of a namespace or of all, or QuotaPools, which are in none.
type Scope struct{ All, Pools bool }

// Bind adds the flags.
func (s *Scope) Bind(flags *pflag.FlagSet) {
	flags.BoolVarP(&s.All, "all-namespaces", "A", false, "Show those of all namespaces.")
	flags.BoolVar(&s.Pools, "pools", false, "Show QuotaPools instead.")
}

// Namespace returns the one that is shown, empty for all.
func (s *Scope) Namespace(env *Env) (string, error) {
	if s.All = s.All && !s.Pools; s.All || s.Pools {
		return "", nil
	}
	return env.Namespace()
}

// Find returns what is shown of a namespace.
func (s *Scope) Find(ctx context.Context, c client.Client, namespace string) (Held, error) {
	if s.Pools {
		return FindAll(ctx, c, namespace, QuotaPool)
	}
	return FindAll(ctx, c, namespace, AnyKind)
}
