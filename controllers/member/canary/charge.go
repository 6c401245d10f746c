package canary

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/controllers/patches"
)

// chargedResource is a name that the canary's own request is charged under, and far away from its limit.
const (
	chargedResource corev1.ResourceName = "resourcequotas"
	chargedLimit                        = 1 << 30
)

// uncharged says what keeps charges from being stored in this cluster, or "".
func (c *Canary) uncharged(ctx context.Context, quota *corev1.ResourceQuota) (string, error) {
	words, err := c.refused(ctx)
	if words != "" || err != nil {
		return words, err
	}
	return c.altered(ctx, quota)
}

// refused returns the words by which the API server says that it cannot store a charge, or "". It is asked for a
// ResourceQuota that is there already: it charges that, as itself, before it finds that it has one. A dry run is not
// charged: what is refused then as well is refused for another reason. The next move of the limit has usage recounted.
func (c *Canary) refused(ctx context.Context) (string, error) {
	err := c.Create(ctx, c.quota(c.limit))
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return "", nil
	}
	words, err := answer(err)
	if words != "" && apierrors.IsAlreadyExists(client.NewDryRunClient(c.Client).Create(ctx, c.quota(c.limit))) {
		return words, nil
	}
	return "", err
}

// altered says so if what is written as usage is not stored as it is.
func (c *Canary) altered(ctx context.Context, quota *corev1.ResourceQuota) (string, error) {
	stored, hard := quota.DeepCopy(), quota.Status.Hard
	more := resource.MustParse("1") // of each: what was altered when it was counted is not altered once more
	used := quotav1.Add(quota.Status.Used, corev1.ResourceList{canaryResource: more, chargedResource: more})
	patch := patches.Merge{"status": map[string]any{"used": used}}
	if err := client.NewDryRunClient(c.Client).Status().Patch(ctx, stored, patch); err != nil {
		return answer(client.IgnoreNotFound(err))
	}
	if quotav1.Equals(stored.Status.Used, used) && quotav1.Equals(stored.Status.Hard, hard) {
		return "", nil
	}
	return "it took the write, but a mutating policy or webhook of the cluster had changed the usage that was written", nil
}

// answer returns what an API server said. That it did not answer is an error.
func answer(err error) (string, error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message, nil
	}
	return "", err
}
