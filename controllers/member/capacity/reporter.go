// Package capacity reports what the nodes of the cluster can run.
package capacity

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/controllers/patches"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/capacity"
	"github.com/fedquota/fedquota/internal/pace"
)

// +kubebuilder:rbac:groups=quota.fedquota.io,namespace=fedquota-system,resources=clustercapacities,verbs=create
// +kubebuilder:rbac:groups=quota.fedquota.io,namespace=fedquota-system,resources=clustercapacities,resourceNames=member,verbs=get;patch

// fieldOwner is as whom the report is written.
const fieldOwner = "fedquota-agent"

// Reporter keeps the ClusterCapacity of the cluster, on the leading replica.
type Reporter struct {
	client.Client
	// Live reads the report of a replica that led before.
	Live client.Reader
	// Clock says when.
	Clock clock.PassiveClock
	// Nodes are those of the cluster.
	Nodes *capacity.Nodes
	// Namespace is where the report is.
	Namespace string

	told       *capacity.Report // as it is stored
	at, looked time.Time
}

const (
	// lookInterval is how often it looks whether there is something to tell.
	lookInterval = time.Second
	// mostNames is how many resource names a ClusterCapacity has room for: some plug-ins have one for each device.
	mostNames = 256
)

// NeedLeaderElection says that one replica reports.
func (*Reporter) NeedLeaderElection() bool { return true }

// Start reports until the context ends.
func (r *Reporter) Start(ctx context.Context) error {
	var last string
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := r.Report(ctx)
		if err != nil && err.Error() != last {
			last = err.Error()
			ctrl.LoggerFrom(ctx).Error(err, "Failed to report what nodes can run")
		}
	}, lookInterval)
	return nil
}

// Report writes what the nodes can run, if that is something else than is stored, and the last time is a while ago.
func (r *Reporter) Report(ctx context.Context) error {
	now := r.Clock.Now()
	if now.Sub(r.at) < pace.CapacityInterval || !r.Nodes.Known() {
		return nil
	}
	tried := r.at
	r.at = now
	if now.Sub(r.looked) >= pace.CapacityLookInterval {
		if err := r.recall(ctx); err != nil {
			return err
		}
		r.looked = now
	}
	report := r.Nodes.Report(now, pace.NodeGrace)
	report.Bound(mostNames)
	if r.told != nil && !report.Differs(r.told) {
		r.at = tried
		return nil
	}
	if err := r.write(ctx, &report, now); err != nil {
		return err
	}
	r.told = &report
	return nil
}

// recall reads what is stored: a replica that led before has written it, and somebody else may have changed or deleted
// it.
func (r *Reporter) recall(ctx context.Context) error {
	stored := &quotav1alpha1.ClusterCapacity{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: quotav1alpha1.CapacityName}, stored)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if r.told = nil; stored.Nodes == nil {
		return nil
	}
	r.told = &capacity.Report{
		Nodes: *stored.Nodes, Allocatable: amount.Saturate(stored.Allocatable, amount.Down),
		Unused: amount.Saturate(stored.Unused, amount.Down),
	}
	return nil
}

func (r *Reporter) write(ctx context.Context, report *capacity.Report, now time.Time) error {
	binary := resource.Quantity{Format: resource.BinarySI}
	formats := corev1.ResourceList{corev1.ResourceMemory: binary, corev1.ResourceEphemeralStorage: binary}
	object := &quotav1alpha1.ClusterCapacity{
		TypeMeta: metav1.TypeMeta{
			APIVersion: quotav1alpha1.GroupVersion.String(), Kind: "ClusterCapacity",
		},
		ObjectMeta:  metav1.ObjectMeta{Namespace: r.Namespace, Name: quotav1alpha1.CapacityName},
		Nodes:       &report.Nodes,
		Allocatable: report.Allocatable.ToList(formats), Unused: report.Unused.ToList(formats),
		ReportTime: &metav1.Time{Time: now},
	}
	return r.Patch(ctx, object, patches.Applied{}, client.ForceOwnership, client.FieldOwner(fieldOwner))
}
