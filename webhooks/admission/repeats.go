package admission

import (
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/fedquota/fedquota/internal/pace"
)

// remembered is how many names of objects are remembered that were let through, the latest ones.
const remembered = 1024

// repeats knows which objects were let through just before. Native quota charges a request before the API server finds
// that there is such an object, and takes the charge back minutes later: one who asks again and again uses up every
// limit, and would have raises for it.
type repeats struct {
	mutex sync.Mutex
	names *lru.Cache // of *times
}

// times are when an object was let through, the latest time last.
type times [pace.RepeatsMost]time.Time

// often says whether the object of a request was let through so often just before that there is one by now.
func (r *repeats) often(request *Request, now time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if request.Name == "" || r.names == nil {
		return false
	}
	known, ok := r.names.Get(request.object())
	return ok && now.Sub(known.(*times)[0]) < pace.RepeatWindow
}

// note takes note of a request that was let through.
func (r *repeats) note(request *Request, now time.Time) {
	if request.Name == "" || request.DryRun {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.names == nil {
		r.names = lru.New(remembered)
	}
	passed := &times{}
	if known, ok := r.names.Get(request.object()); ok {
		passed = known.(*times)
	}
	copy(passed[:], passed[1:])
	passed[len(passed)-1] = now
	r.names.Add(request.object(), passed)
}

// object is what the object of a request is remembered by.
func (r *Request) object() string {
	return r.Charge.Resource.String() + "/" + r.Namespace + "/" + r.Name
}
