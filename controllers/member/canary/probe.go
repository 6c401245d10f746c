package canary

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
)

const (
	guardName = "fedquota-guard"
	fenceName = "fedquota-fence"
)

// unguarded returns the names of the policies that are not in force, or "". It tries, without effect, what each must
// refuse even the agent: to create a managed ResourceQuota without a revision, and to label one through its status.
func (c *Canary) unguarded(ctx context.Context, canary *corev1.ResourceQuota) (string, error) {
	labels := map[string]string{quotav1alpha1.ManagedLabel: "true"}
	dry := client.NewDryRunClient(c.Client)
	guarded, err := deniedBy(dry.Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Namespace, Name: canaryName + "-probe", Labels: labels,
	}}), guardName)
	if err != nil {
		return "", err
	}
	patch := patches.Merge{"metadata": map[string]any{"labels": labels}}
	fenced, err := deniedBy(dry.Status().Patch(ctx, canary.DeepCopy(), patch), fenceName)
	if err != nil {
		return "", err
	}
	var missing []string
	if !guarded {
		missing = append(missing, guardName)
	}
	if !fenced {
		missing = append(missing, fenceName)
	}
	return strings.Join(missing, ", "), nil
}

// deniedBy says whether err is the refusal of a policy. An answer that says nothing of the policy is an error.
func deniedBy(err error, policy string) (bool, error) {
	switch {
	case err == nil:
		return false, nil
	case strings.Contains(err.Error(), fmt.Sprintf("ValidatingAdmissionPolicy '%s'", policy)):
		return true, nil
	}
	return false, fmt.Errorf("probing %s: %w", policy, err)
}
