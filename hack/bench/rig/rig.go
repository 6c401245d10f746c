// Package rig puts fedquota on a fleet of real control planes for the benchmarks that need one.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/observer"
)

const (
	// QuotaName is the name of every FederatedQuota, and of its ResourceQuotas.
	QuotaName = "compute"
	// CPU is what the benchmarks ask for.
	CPU = corev1.ResourceRequestsCPU

	// TierLabel is the label of the Clusters that a FederatedQuota selects.
	TierLabel = "tier"
	// SharesTier is the value of TierLabel.
	SharesTier = "prod"

	waitTimeout = 2 * time.Minute
	// recountPeriod is short since native quota may go on counting a pod that was deleted as soon as it was created.
	recountPeriod = 5 * time.Second
)

// Rig is fedquota on a running fleet.
type Rig struct {
	*system.System
	// HubClient leads to the hub, Clients to the members and to the control planes beside them, by name. They are not
	// held back.
	HubClient client.WithWatch
	Clients   map[string]client.WithWatch
}

// Start starts a fleet whose files stay in bin/bench. Pooled ones are control planes that no FederatedQuota selects.
// Arguments are added to those of the hub manager. The caller ends it with Stop.
func Start(ctx context.Context, name string, members, pooled []string, arguments ...string) (*Rig, error) {
	began := time.Now()
	options, err := Options("bench", name, func(step string) {
		fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), step)
	})
	if err != nil {
		return nil, err
	}
	options.HubArgs = arguments
	for _, m := range members {
		options.Fleet.Members = append(options.Fleet.Members, fleet.ControlPlaneOptions{
			Name: m, Labels: map[string]string{TierLabel: SharesTier}, ResourceQuotaSyncPeriod: recountPeriod,
		})
	}
	for _, m := range pooled {
		options.Fleet.Members = append(
			options.Fleet.Members, fleet.ControlPlaneOptions{Name: m, ResourceQuotaSyncPeriod: recountPeriod},
		)
	}
	s, err := system.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	r, err := On(s)
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return r, nil
}

// Options are those of a system whose files stay in a folder of bin/bench; target is what make builds it for.
func Options(target, folder string, progress func(step string)) (system.Options, error) {
	log.SetLogger(logr.Discard()) // what the libraries of the fleet have to say of themselves
	root, err := os.Getwd()
	if err != nil {
		return system.Options{}, err
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "manager")); err != nil {
		return system.Options{}, fmt.Errorf(
			"bin/manager is not built, or this is not the project's folder: run make %s: %w", target, err,
		)
	}
	dir := filepath.Join(root, "bin", "bench", folder)
	return system.Options{Root: root, Fleet: fleet.Options{Dir: dir, Progress: progress}}, nil
}

// On returns the rig on a system that runs, or on a fleet alone.
func On(s *system.System) (*Rig, error) {
	r := &Rig{System: s, Clients: map[string]client.WithWatch{}}
	return r, r.connect()
}

// connect makes the clients.
func (r *Rig) connect() (err error) {
	if r.HubClient, err = system.Client(r.Hub); err != nil {
		return err
	}
	for _, m := range r.Members {
		if r.Clients[m.Name], err = system.Client(m); err != nil {
			return err
		}
	}
	return nil
}

// Namespace makes a namespace that pods can be created in.
func (r *Rig) Namespace(ctx context.Context, member, name string) error {
	c := r.Clients[member]
	if err := c.Create(
		ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
	); client.IgnoreAlreadyExists(
		err,
	) != nil {
		return err
	}
	return Until(ctx, "the service account in "+member, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// In puts a FederatedQuota into a pool, over these members alone.
func In(pool string, members ...string) func(*quotav1alpha1.FederatedQuota) {
	return func(fq *quotav1alpha1.FederatedQuota) {
		fq.Spec.Pool = &quotav1alpha1.PoolReference{Name: quotav1alpha1.PoolName(pool)}
		fq.Spec.Placement = quotav1alpha1.Placement{}
		for _, m := range members {
			fq.Spec.Placement.Clusters = append(fq.Spec.Placement.Clusters, quotav1alpha1.ClusterName(m))
		}
	}
}

// Share makes a FederatedQuota over all members, unless it is changed, with a budget of CPUs, and waits until it is in
// force in these members and, unless admission is off, requests that do not fit come to the webhooks.
func (r *Rig) Share(
	ctx context.Context, namespace, cpu string, members []string, admission quotav1alpha1.Admission,
	changes ...func(*quotav1alpha1.FederatedQuota),
) error {
	for _, m := range members {
		if err := r.Namespace(ctx, m, namespace); err != nil {
			return err
		}
	}
	err := r.HubClient.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	fq := &quotav1alpha1.FederatedQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: QuotaName},
		Spec: quotav1alpha1.FederatedQuotaSpec{
			Hard: corev1.ResourceList{CPU: resource.MustParse(cpu)},
			Placement: quotav1alpha1.Placement{
				ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{TierLabel: SharesTier}},
			},
			Admission: admission,
		},
	}
	for _, change := range changes {
		change(fq)
	}
	if err := r.HubClient.Create(ctx, fq); err != nil {
		return err
	}
	if err := r.settled(ctx, fq); err != nil || admission.Mode == quotav1alpha1.AdmissionOff {
		return err
	}
	for _, m := range members {
		if err := r.Called(ctx, m, namespace); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until all members enforce a part of the budget.
func (r *Rig) settled(ctx context.Context, fq *quotav1alpha1.FederatedQuota) error {
	return Until(ctx, "FederatedQuota "+fq.Namespace+" to settle", func(ctx context.Context) (bool, error) {
		err := r.HubClient.Get(ctx, client.ObjectKeyFromObject(fq), fq)
		for _, c := range fq.Status.Clusters {
			granted := c.Granted[CPU]
			if c.State != quotav1alpha1.ClusterSettled || granted.IsZero() {
				return false, err
			}
		}
		return len(fq.Status.Clusters) > 0, err
	})
}

// Called waits until the API server of a member calls the webhook for a namespace.
func (r *Rig) Called(ctx context.Context, member, namespace string) error {
	return Until(ctx, "the webhook in "+member, func(ctx context.Context) (bool, error) {
		err := r.Clients[member].Create(ctx, Pod(namespace, "probe", "1000000"), client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "admission webhook"), nil
	})
}

// Native makes a ResourceQuota that nobody manages.
func (r *Rig) Native(ctx context.Context, member, namespace, cpu string) error {
	if err := r.Namespace(ctx, member, namespace); err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: QuotaName},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{CPU: resource.MustParse(cpu)}},
	}
	if err := r.Clients[member].Create(ctx, quota); err != nil {
		return err
	}
	return Until(ctx, "the ResourceQuota in "+member, func(ctx context.Context) (bool, error) {
		err := r.Clients[member].Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return len(quota.Status.Used) > 0, err
	})
}

// Observe starts an observer over members.
func (r *Rig) Observe(ctx context.Context, members []string, options observer.Options) (*observer.Observer, error) {
	options.Name, options.Members = QuotaName, map[string]*rest.Config{}
	for _, m := range members {
		options.Members[m] = r.Member(m).Config
	}
	return observer.Watch(ctx, options)
}

// Until waits for a condition.
func Until(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, waitTimeout, true, condition); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// Pod returns one that asks for so many CPUs. Nothing runs it, and it is gone as soon as it is deleted.
func Pod(namespace, name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}},
		},
	}
}
