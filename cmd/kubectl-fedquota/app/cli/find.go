package cli

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
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
	if kind == QuotaPool {
		return findPool(ctx, c, name)
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	fq, share := &quotav1alpha1.FederatedQuota{}, &quotav1alpha1.QuotaShare{}
	if kind != QuotaShare {
		err = c.Get(ctx, key, fq)
		switch {
		case err == nil:
			return Typed(fq), nil
		case kind == FederatedQuota || !passes(err):
			return nil, Served(err)
		}
	}
	if other := c.Get(ctx, key, share); other == nil {
		return Typed(share), nil
	} else if kind == QuotaShare || apimeta.IsNoMatchError(err) {
		return nil, Served(other)
	}
	return nil, err
}

func findPool(ctx context.Context, c client.Client, name string) (client.Object, error) {
	pool := &quotav1alpha1.QuotaPool{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
		return nil, Served(err)
	}
	return Typed(pool), nil
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

var scheme = Scheme()

// Held are the budgets, or the parts of budgets, that an API server has.
type Held struct {
	// Budgets are nil where the API server does not have the kind, as in a member.
	Budgets *quotav1alpha1.FederatedQuotaList
	// Shares are read where there are no budgets.
	Shares *quotav1alpha1.QuotaShareList
	// Pools are read where they alone are asked for.
	Pools *quotav1alpha1.QuotaPoolList
}

// FindAll returns all FederatedQuotas of a namespace, or of all if that is empty, or else all QuotaShares; of the kind
// QuotaPool, all of these.
func FindAll(ctx context.Context, c client.Client, namespace string, kind Kind) (Held, error) {
	if kind == QuotaPool {
		return findPools(ctx, c)
	}
	in := client.InNamespace(namespace)
	budgets := &quotav1alpha1.FederatedQuotaList{}
	if kind != QuotaShare {
		err := c.List(ctx, budgets, in)
		if err == nil {
			for i := range budgets.Items {
				Typed(&budgets.Items[i])
			}
			return Held{Budgets: listed(budgets, "FederatedQuotaList")}, nil
		}
		if kind == FederatedQuota || !apimeta.IsNoMatchError(err) {
			return Held{}, Served(err)
		}
	}
	shares := &quotav1alpha1.QuotaShareList{}
	if err := c.List(ctx, shares, in); err != nil {
		return Held{}, Served(err)
	}
	for i := range shares.Items {
		Typed(&shares.Items[i])
	}
	return Held{Shares: listed(shares, "QuotaShareList")}, nil
}

func findPools(ctx context.Context, c client.Client) (Held, error) {
	pools := &quotav1alpha1.QuotaPoolList{}
	if err := c.List(ctx, pools); err != nil {
		return Held{}, Served(err)
	}
	for i := range pools.Items {
		Typed(&pools.Items[i])
	}
	return Held{Pools: listed(pools, "QuotaPoolList")}, nil
}

// listed sets the kind of a list.
func listed[T client.ObjectList](list T, kind string) T {
	list.GetObjectKind().SetGroupVersionKind(quotav1alpha1.GroupVersion.WithKind(kind))
	return list
}

// Objects returns what is held.
func (h Held) Objects() []client.Object {
	var objects []client.Object
	if h.Budgets != nil {
		for i := range h.Budgets.Items {
			objects = append(objects, &h.Budgets.Items[i])
		}
	}
	if h.Shares != nil {
		for i := range h.Shares.Items {
			objects = append(objects, &h.Shares.Items[i])
		}
	}
	if h.Pools != nil {
		for i := range h.Pools.Items {
			objects = append(objects, &h.Pools.Items[i])
		}
	}
	return objects
}
