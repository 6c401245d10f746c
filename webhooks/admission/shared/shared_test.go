package shared

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestShared puts one question for all who come while another is under way, after that one.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Answer[int32]
		var asked atomic.Int32
		goOn, answers := make(chan struct{}), make(chan int32, 4)
		ask := func() {
			answers <- s.Get(func() int32 {
				n := asked.Add(1)
				<-goOn
				return n
			})
		}
		for range cap(answers) {
			go ask()
			synctest.Wait()
		}
		close(goOn)
		synctest.Wait()
		var got []int32
		for range cap(answers) {
			got = append(got, <-answers)
		}
		slices.Sort(got)
		if diff := cmp.Diff([]int32{1, 2, 2, 2}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}
