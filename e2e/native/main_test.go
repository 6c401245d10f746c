//go:build e2e

package native_test

import (
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"
)

// atOnce is how many rows are played at the same time: for the most part a row waits for requests that are held in
// vain.
const atOnce = 3

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestNative plays all rows, and writes what it saw if that is all as it shall be.
func TestNative(t *testing.T) {
	w := startWorld(t)
	w.complete()
	all := slices.Concat(names(), counts(), scopes(), features(), whole())
	seen := play(w, all)
	if !t.Failed() && len(seen) == len(all) { // a part of the rows may have been asked for
		w.must(writePage(w.version(), all, seen))
	}
}

// play plays rows, and returns what each showed that was played and is as it shall be, by its name.
func play(w *world, rows []row) map[string]sight {
	var mutex sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	seen := map[string]sight{}
	for i := range rows {
		group.Go(func() error {
			w.Run(rows[i].title(), func(t *testing.T) {
				s := w.scene(t, &rows[i], i)
				if l := w.lacking(&rows[i]); l != nil {
					s.leaveOut(l)
				}
				rows[i].play(s)
				mutex.Lock()
				defer mutex.Unlock()
				seen[rows[i].title()] = s.sight
			})
			return nil
		})
	}
	w.must(group.Wait())
	return seen
}
