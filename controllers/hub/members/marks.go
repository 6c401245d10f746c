package members

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/internal/shares"
)

// Marks are the markers that this hub manager has left on Clusters, which a cache may not show yet. Many budgets need
// one at once, and one of them writes it.
type Marks struct{ of Memory[mark] }

// mark is the last one on a Cluster.
type mark struct {
	mutex   sync.Mutex
	cluster types.UID
	// revision is what it notes, and version the resourceVersion of the Cluster with it.
	revision int64
	version  string
}

// Leave marks a Cluster with a revision by write, unless a marker is there that will do. It waits for others that mark
// the Cluster.
func (m *Marks) Leave(cluster *clusterv1.Cluster, revision int64, write func() (*clusterv1.Cluster, error)) error {
	if shares.MarkerSuffices(MarkerOf(cluster), revision) {
		return nil
	}
	last := m.of.Of(client.ObjectKeyFromObject(cluster).String())
	last.mutex.Lock()
	defer last.mutex.Unlock()
	if last.cluster == cluster.UID && shares.MarkerSuffices(last.revision, revision) && last.unseenIn(cluster) {
		return nil
	}
	marked, err := write()
	if err != nil {
		return err
	}
	last.cluster, last.revision, last.version = marked.UID, revision, marked.ResourceVersion
	return nil
}

// unseenIn says whether a Cluster was read before the marker was written. One that was read since, and shows none, has
// lost it.
func (m *mark) unseenIn(cluster *clusterv1.Cluster) bool {
	order, err := resourceversion.CompareResourceVersion(cluster.ResourceVersion, m.version)
	return err == nil && order < 0
}
