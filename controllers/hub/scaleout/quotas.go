package scaleout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/scaleout"
)

// quotaVersions are those in which CapacityQuotas are read, the first one that is served. What is read is the same in
// all.
var quotaVersions = []schema.GroupVersion{
	{Group: "autoscaling.x-k8s.io", Version: "v1beta1"}, {Group: "autoscaling.x-k8s.io", Version: "v1alpha1"},
}

// capacityQuota is what is read of a CapacityQuota.
type capacityQuota struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
		Limits   quotaResources        `json:"limits"`
	} `json:"spec"`
	Status struct {
		Used quotaResources `json:"used"`
	} `json:"status"`
}

type quotaResources struct {
	Resources corev1.ResourceList `json:"resources"`
}

// Bound notes what bounds the nodes of a cluster by what the node autoscaler is told there, or that it cannot be read.
// A member that does not serve CapacityQuotas has none.
func Bound(ctx context.Context, member client.Reader, c *scaleout.Cluster) {
	quotas, err := quotasOf(ctx, member)
	if err != nil {
		unread(c, err)
		return
	}
	c.Quotas = quotas
}

// unread notes that it cannot be read what bounds the nodes of a cluster.
func unread(c *scaleout.Cluster, why error) {
	c.Unread = fmt.Sprintf("the CapacityQuotas of Cluster %s cannot be read: %v", c.Name, why)
}

// quotasOf returns the CapacityQuotas of a member.
func quotasOf(ctx context.Context, member client.Reader) (quotas []scaleout.Quota, err error) {
	list := &unstructured.UnstructuredList{}
	for _, version := range quotaVersions {
		list.SetGroupVersionKind(version.WithKind("CapacityQuotaList"))
		if err = member.List(ctx, list); !members.IsAbsentKind(err) {
			break
		}
	}
	if err != nil {
		if members.IsAbsentKind(err) {
			return nil, nil
		}
		return nil, err
	}
	for i := range list.Items {
		q, err := quotaOf(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.Items[i].GetName(), err)
		}
		quotas = append(quotas, *q)
	}
	return quotas, nil
}

func quotaOf(object *unstructured.Unstructured) (*scaleout.Quota, error) {
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if amount.Costly(text) {
		return nil, errors.New("it has a number that nobody can read")
	}
	read := &capacityQuota{}
	if err := json.Unmarshal(text, read); err != nil {
		return nil, err
	}
	q := &scaleout.Quota{
		Name: read.Name, Limits: amount.Saturate(read.Spec.Limits.Resources, amount.Down),
		Used: amount.Saturate(read.Status.Used.Resources, amount.Up), Formats: read.Spec.Limits.Resources,
	}
	selector := labels.Everything()
	if read.Spec.Selector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(read.Spec.Selector); err != nil {
			return nil, fmt.Errorf("its selector: %w", err)
		}
	}
	q.Selector, _ = selector.Requirements()
	return q, nil
}
