package demand

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fedquota/fedquota/internal/demand/signature"
	"github.com/fedquota/fedquota/internal/pace"
)

// Owner is who asks: the controller of an object, or the object itself if it has none.
type Owner struct {
	// Kind and Name of the owner.
	Kind, Name string
	// UID of a controller, empty for an object of its own.
	UID types.UID
}

// Key names an owner in few characters, the same in each book.
func (o Owner) Key() string {
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%s/%s/%s", o.Kind, o.Name, o.UID) // a hash takes everything
	return fmt.Sprintf("%016x", hash.Sum64())
}

// Workload is what is known of an object that makes pods, such as a ReplicaSet.
type Workload struct {
	Owner
	// Namespace it is in.
	Namespace string
	// Desired is how many pods it wants to exist now.
	Desired int64
	// OneByOne means that a pod is replaced only when it is gone.
	OneByOne bool
	// Placed means that each of its pods is for a node of its own: one that waits for its node says nothing of the others.
	Placed bool
	// StatedUntil is until when it wants room for its pods, of which it makes none itself; zero if it makes them.
	StatedUntil time.Time
	// Blocked means that it waits for its own pods before it makes another one.
	Blocked bool
	// RefusedBy is the quota that its controller says refused it, empty if none did.
	RefusedBy string
	// Rollout says whose pods it makes.
	Rollout Rollout
	// Claims are the names of its templates of PersistentVolumeClaims: each pod has one of each, made before it.
	Claims []string
	// Template is the spec of its pods, trimmed; nil if it wants none.
	Template *corev1.PodSpec
}

// Pod is what is known of a pod.
type Pod struct {
	// UID of the pod and of its controller.
	UID, Owner types.UID
	// Namespace it is in.
	Namespace string
	// Ended means that it is terminal, Terminating that it is being deleted.
	Ended, Terminating bool
	// Unschedulable is since when no node has room for it, zero while one may have; Signature is its signature then.
	Unschedulable time.Time
	Signature     *signature.Signature
	// Grouped means that its scheduler places it together with others or not at all: it may wait for one of them, and for
	// no node.
	Grouped bool
	// Unplaced is since when no node has room for it or a gate holds it, and Spec what it is charged for then, trimmed.
	Unplaced time.Time
	Spec     *corev1.PodSpec
}

// waits says whether a pod without a node has been so for so long that somebody should know.
func (p *Pod) waits(now time.Time) bool { return now.Sub(p.Unplaced) >= pace.UnschedulableAfter }

// Rollout says whose pods a workload makes, where these may be replaced.
type Rollout struct {
	// Of is who has them replaced: the Deployment of a ReplicaSet, or a StatefulSet itself. Empty if nobody has.
	Of types.UID
	// Revision orders the workloads of one: pods of the highest replace those of the others.
	Revision int64
	// Pods is how many there are to be of all workloads of one, nil if nothing says so.
	Pods *int64
	// Within means that the workload is replacing its own pods.
	Within bool
}
