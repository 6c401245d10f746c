package tenant

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// finding is what was found of a namespace.
type finding struct {
	// pool is the one that has it, or empty.
	pool string
	// kept says that it has a FederatedQuota for the pool, why says why it has none, or one that is not as it is to be,
	// and refused that this was refused.
	kept, refused bool
	why           string
}

// findings are those of all namespaces that were looked at, by name. The zero value is ready to use.
type findings struct {
	mutex sync.Mutex
	of    map[string]finding
	// whole says that each namespace was looked at once.
	whole bool
}

// note remembers a finding, nil if the namespace is gone, and returns the pools that it changes something for.
func (f *findings) note(namespace string, found *finding) sets.Set[string] {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.of == nil {
		f.of = map[string]finding{}
	}
	before := f.of[namespace]
	if found == nil {
		delete(f.of, namespace)
		return sets.New(before.pool).Delete("")
	}
	f.of[namespace] = *found
	if before == *found {
		return nil
	}
	return sets.New(before.pool, found.pool).Delete("")
}

// Report is what was found of the namespaces that a pool has.
type Report struct {
	// Selected is how many there are, and Kept how many have a FederatedQuota for the pool.
	Selected, Kept int
	// LeftOut says why some have none, in the order of their names.
	LeftOut []string
}

// Report returns what was found of the namespaces that a pool has, nil before all were looked at.
func (r *Reconciler) Report(ctx context.Context, pool string) (*Report, error) {
	f := &r.findings
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.whole {
		all := &metav1.PartialObjectMetadataList{}
		all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		if err := r.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing namespaces: %w", err)
		}
		for i := range all.Items {
			_, seen := f.of[all.Items[i].Name]
			if !seen && all.Items[i].DeletionTimestamp.IsZero() {
				return nil, nil //nolint:nilnil // as documented
			}
		}
		f.whole = true
	}
	report := &Report{}
	for _, found := range f.of {
		if found.pool != pool {
			continue
		}
		report.Selected++
		if found.kept {
			report.Kept++
		}
		if found.why != "" {
			report.LeftOut = append(report.LeftOut, found.why)
		}
	}
	slices.Sort(report.LeftOut)
	return report, nil
}
