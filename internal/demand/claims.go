package demand

import (
	"strconv"
	"strings"
)

// Claimant returns the StatefulSet that a PersistentVolumeClaim is made for, or who asks if there is none. By default
// only the name of a claim tells: claims outlive their StatefulSet, so it does not own them.
func (b *Book) Claimant(namespace string, asks Owner) Owner {
	if asks.UID != "" {
		return asks
	}
	b.mutex.RLock()
	defer b.mutex.RUnlock()
	ns, known := b.namespaces[namespace]
	if !known {
		return asks
	}
	for _, w := range ns.workloads {
		for _, template := range w.Claims {
			ordinal, ok := strings.CutPrefix(asks.Name, template+"-"+w.Name+"-")
			if _, err := strconv.ParseUint(ordinal, 10, 31); ok && err == nil {
				return w.Owner
			}
		}
	}
	return asks
}
