package web

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// reader reads what a source holds, as the hub would answer: what the page says is computed by the code of other commands.
type reader struct{ *source }

var _ client.Reader = reader{}

var (
	quotas = schema.GroupResource{Group: quotav1alpha1.GroupVersion.Group, Resource: "federatedquotas"}
	pools  = schema.GroupResource{Group: quotav1alpha1.GroupVersion.Group, Resource: "quotapools"}
)

// Get reads a QuotaPool, the only kind that is read by name.
func (r reader) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	pool, ok := object.(*quotav1alpha1.QuotaPool)
	if !ok {
		return fmt.Errorf("%T is not held", object)
	}
	for _, held := range objectsOf[*quotav1alpha1.QuotaPool](r.pools) {
		if held.Name == key.Name {
			*pool = *held
			return nil
		}
	}
	return apierrors.NewNotFound(pools, key.Name)
}

// List reads the objects of a kind, of a namespace if one is asked for.
func (r reader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	namespace := (&client.ListOptions{}).ApplyOptions(options).Namespace
	switch l := list.(type) {
	case *quotav1alpha1.FederatedQuotaList:
		if namespace == "" && r.budgets[0].namespace != "" {
			return apierrors.NewForbidden(quotas, "", errors.New("those of one namespace alone are held"))
		}
		return fill(&l.Items, r.budgets, namespace, func(o *quotav1alpha1.FederatedQuota) quotav1alpha1.FederatedQuota { return *o })
	case *quotav1alpha1.QuotaPoolList:
		return fill(&l.Items, r.pools, namespace, func(o *quotav1alpha1.QuotaPool) quotav1alpha1.QuotaPool { return *o })
	case *quotav1alpha1.ClusterCapacityList:
		return fill(&l.Items, r.capacities, namespace, func(o *quotav1alpha1.ClusterCapacity) quotav1alpha1.ClusterCapacity { return *o })
	case *clusterv1.ClusterList:
		return fill(&l.Items, r.clusters, namespace, func(o *clusterv1.Cluster) clusterv1.Cluster { return *o })
	}
	return fmt.Errorf("%T is not held", list)
}

// fill fills a list with what feeds hold, or says why that is not known.
func fill[T client.Object, V any](items *[]V, feeds []*feed, namespace string, value func(T) V) error {
	for _, f := range feeds {
		if f.err != nil {
			return f.err
		}
	}
	for _, object := range objectsOf[T](feeds) {
		if namespace == "" || object.GetNamespace() == namespace {
			*items = append(*items, value(object))
		}
	}
	return nil
}
