package nodegroup

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fedquota/fedquota/internal/amount"
)

// Group is a number of like machines of one cluster, each of which becomes a node.
type Group struct {
	// Kind and Name of the object.
	Kind, Name string
	// Replicas is how many machines are wanted, and Ready how many are ready nodes, as Cluster API has said last.
	Replicas, Ready int32
	// Bounds are those within which Replicas may be scaled, nil if there are none.
	Bounds *Bounds
	// Machine is what one machine has for pods, by resource name as nodes have it; nil if that is not known. What its
	// kubelet keeps for the system is not subtracted.
	Machine corev1.ResourceList
	// Stopped says why it may not be scaled out, in words that follow its name; "" if it may.
	Stopped string
	// Halted says that no machine comes to it for now, not even one that was asked for: it is paused, or being deleted.
	Halted bool

	// most is how many machines it can have while its owner changes nothing else, nil if nobody knows.
	most *int32
}

// Bounds are how many machines a group has at least and at most.
type Bounds struct{ Min, Max int32 }

// source is what a group is read from.
type source struct {
	cluster       *clusterv1.Cluster
	object        metav1.Object
	template      corev1.ResourceList
	fixed         *int32 // replicas as the topology of the Cluster sets them
	managed       bool   // something that is not Cluster API sets replicas
	rolloutPaused bool
}

// OfDeployment reads a MachineDeployment of a Cluster. The status.capacity of its infrastructure template, nil if that
// was not read, says what a machine has of names that the annotations leave out. The errors name the annotations that
// are not understood; what these say of the Group is not known then.
func OfDeployment(
	cluster *clusterv1.Cluster, d *clusterv1.MachineDeployment, template corev1.ResourceList,
) (*Group, field.ErrorList) {
	g := &Group{
		Kind: "MachineDeployment", Name: d.Name,
		Replicas: max(0, ptr.Deref(d.Spec.Replicas, 1)), Ready: max(0, ptr.Deref(d.Status.ReadyReplicas, 0)),
	}
	return g, g.read(&source{
		cluster: cluster, object: d, template: template,
		fixed: topologyReplicas(cluster, d.Labels), rolloutPaused: ptr.Deref(d.Spec.Paused, false),
	})
}

// OfPool reads a MachinePool of a Cluster, as OfDeployment does a MachineDeployment. No topology is looked at: what
// fixes replicas there is not seen.
func OfPool(
	cluster *clusterv1.Cluster, p *clusterv1.MachinePool, template corev1.ResourceList,
) (*Group, field.ErrorList) {
	g := &Group{
		Kind: "MachinePool", Name: p.Name,
		Replicas: max(0, ptr.Deref(p.Spec.Replicas, 1)), Ready: max(0, ptr.Deref(p.Status.ReadyReplicas, 0)),
	}
	by, named := p.Annotations[clusterv1.ReplicasManagedByAnnotation]
	return g, g.read(&source{cluster: cluster, object: p, template: template, managed: named && by != "false"})
}

// topologyReplicas returns how many replicas the topology of a Cluster sets for the MachineDeployment with these
// labels, nil if it leaves that to others.
func topologyReplicas(cluster *clusterv1.Cluster, labels map[string]string) *int32 {
	of := labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel]
	for i := range cluster.Spec.Topology.Workers.MachineDeployments {
		if t := &cluster.Spec.Topology.Workers.MachineDeployments[i]; t.Name == of {
			return t.Replicas
		}
	}
	return nil
}

func (g *Group) read(s *source) (errs field.ErrorList) {
	annotations := s.object.GetAnnotations()
	g.Bounds, errs = bounds(annotations)
	machine, wrong := machine(annotations, s.template)
	g.Machine, errs = machine, append(errs, wrong...)
	g.judge(s)
	return errs
}

// judge says whether the group may be scaled out, and how many machines it can have.
func (g *Group) judge(s *source) {
	_, held := s.object.GetAnnotations()[clusterv1.PausedAnnotation]
	switch {
	case !s.object.GetDeletionTimestamp().IsZero() || !s.cluster.DeletionTimestamp.IsZero():
		g.halt("is being deleted")
	case ptr.Deref(s.cluster.Spec.Paused, false):
		g.halt("does not change while Cluster " + s.cluster.Name + " is paused")
	case held:
		g.halt("is paused by the annotation " + clusterv1.PausedAnnotation)
	case s.fixed != nil:
		g.Stopped = fmt.Sprintf("has its replicas set to %d by the topology of Cluster %s", *s.fixed, s.cluster.Name)
		g.most = new(max(*s.fixed, g.Replicas))
	case s.managed:
		g.Stopped = "has its replicas set by others, says the annotation " + clusterv1.ReplicasManagedByAnnotation
	case g.Bounds == nil:
		g.Stopped = fmt.Sprintf("has no bounds: set the annotations %s and %s",
			clusterv1.AutoscalerMinSizeAnnotation, clusterv1.AutoscalerMaxSizeAnnotation)
	case s.rolloutPaused: // Cluster API scales it for an autoscaler, but a person wants it left alone
		g.Stopped, g.most = "is paused by spec.paused", new(max(g.Bounds.Max, g.Replicas))
	case g.Replicas >= g.Bounds.Max:
		g.Stopped, g.most = fmt.Sprintf("has %d replicas of at most %d", g.Replicas, g.Bounds.Max), &g.Replicas
	default:
		g.most = &g.Bounds.Max
	}
}

// halt notes that no machine comes to the group.
func (g *Group) halt(why string) { g.Stopped, g.Halted, g.most = why, true, &g.Ready }

// Addable returns how many machines may still be asked for: 0 if it may not be scaled out.
func (g *Group) Addable() int32 {
	if g.Stopped != "" {
		return 0
	}
	return g.Bounds.Max - g.Replicas
}

// Growth returns how many machines may still come and what they have, those that were asked for and are no ready nodes
// yet among them; false if that is not known.
func (g *Group) Growth() (machines int32, more amount.List, known bool) {
	if g.most == nil {
		return 0, nil, false
	}
	machines = max(0, *g.most-g.Ready)
	if machines == 0 {
		return 0, amount.List{}, true
	}
	return machines, g.Adds(machines), g.Machine != nil
}

// Adds returns what so many machines have for pods, nil if that is not known of one.
func (g *Group) Adds(machines int32) amount.List {
	if g.Machine == nil {
		return nil
	}
	return amount.Saturate(g.Machine, amount.Down).Times(int64(machines))
}
