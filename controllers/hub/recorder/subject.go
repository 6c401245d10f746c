package recorder

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// subject is what is recorded: a FederatedQuota, or a QuotaPool, whose records are in a namespace of all pools.
type subject struct {
	client.ObjectKey

	isPool bool
}

// subjectOf returns whose key that is: that of a QuotaPool has no namespace.
func (r *Recorder) subjectOf(key client.ObjectKey) subject {
	if key.Namespace == "" {
		return subject{client.ObjectKey{Namespace: r.PoolsIn, Name: key.Name}, true}
	}
	return subject{key, false}
}

// quota is the name of the FederatedQuota, if it is one.
func (s subject) quota() string {
	if s.isPool {
		return ""
	}
	return s.Name
}

// record returns the name of the record of the month of an instant.
func (s subject) record(at time.Time) string {
	if s.isPool {
		return NameOfPool(s.Name, at)
	}
	return NameOf(s.Name, at)
}

const (
	// monthForm is how months are written.
	monthForm = "2006-01"
	// ofPool ends the names of the records of pools: those of FederatedQuotas end with a month.
	ofPool = "-pool"
	// mostName is how long the name of an object may be.
	mostName = 253
)

// NameOf returns the name of the record of a FederatedQuota in the month of an instant.
func NameOf(quota string, at time.Time) string { return named(quota, "-"+at.UTC().Format(monthForm)) }

// NameOfPool returns that of a QuotaPool.
func NameOfPool(pool string, at time.Time) string {
	return named(pool, "-"+at.UTC().Format(monthForm)+ofPool)
}

func named(name, suffix string) string {
	if len(name)+len(suffix) > mostName {
		sum := sha256.Sum256([]byte(name))
		suffix = "-" + hex.EncodeToString(sum[:8]) + suffix
		name = name[:mostName-len(suffix)]
	}
	return name + suffix
}

// monthOf returns the month that the name of a record ends with.
func monthOf(name string) (string, bool) {
	name = strings.TrimSuffix(name, ofPool)
	if len(name) <= len(monthForm) {
		return "", false
	}
	month := name[len(name)-len(monthForm):]
	_, err := time.Parse(monthForm, month)
	return month, err == nil
}
