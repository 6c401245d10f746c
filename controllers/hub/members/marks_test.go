package members

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/ledger"
)

func TestMarks(t *testing.T) {
	cluster := func(uid types.UID, version, marker string) *clusterv1.Cluster {
		c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "west", UID: uid, ResourceVersion: version}}
		if marker != "" {
			c.Annotations = map[string]string{quotav1alpha1.MemberAnnotation: marker}
		}
		return c
	}
	failure := errors.New("no")
	for name, c := range map[string]struct {
		seen     *clusterv1.Cluster
		revision int64
		err      error
		wrote    bool
	}{
		"the cache does not show the marker yet": {seen: cluster("a", "7", ""), revision: 6},
		"the cache shows it":                     {seen: cluster("a", "9", "5"), revision: 6},
		"somebody has taken it away":             {seen: cluster("a", "10", ""), revision: 6, wrote: true},
		"the ledger is far ahead of it":          {seen: cluster("a", "7", ""), revision: 5 + ledger.Gap, wrote: true},
		"another Cluster has the name":           {seen: cluster("b", "7", ""), revision: 6, wrote: true},
		"it cannot be written":                   {seen: cluster("b", "7", ""), revision: 6, wrote: true, err: failure},
	} {
		t.Run(name, func(t *testing.T) {
			var marks Marks
			if err := marks.Leave(cluster("a", "7", ""), 5, func() (*clusterv1.Cluster, error) { return cluster("a", "9", "5"), nil }); err != nil {
				t.Fatal(err)
			}
			wrote := false
			err := marks.Leave(c.seen, c.revision, func() (*clusterv1.Cluster, error) {
				wrote = true
				return cluster(c.seen.UID, "11", ""), c.err
			})
			if wrote != c.wrote || !errors.Is(err, c.err) {
				t.Errorf("wrote: %t, err: %v", wrote, err)
			}
		})
	}
}
