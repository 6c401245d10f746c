package share

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	memberdemand "github.com/fedquota/fedquota/controllers/member/demand"
	"github.com/fedquota/fedquota/controllers/schemes"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
)

// TestShareThatIsGone has nothing be kept of a share that is gone.
func TestShareThatIsGone(t *testing.T) {
	key, clock := types.NamespacedName{Namespace: "team", Name: "compute"}, testingclock.NewFakeClock(time.Unix(1000, 0))
	needs := &memberdemand.Demand{Clock: clock, Book: demand.NewBook()}
	needs.Book.Hold(key, demand.Owner{Kind: "Pod", Name: "p"}, nil, amount.List{"pods": 2}, clock.Now())
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(schemes.All()).Build(), Clock: clock, Demand: needs}
	r.reports.Store(key, clock.Now())
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if _, kept := r.reports.Load(key); kept || len(needs.Book.Shares()) > 0 {
		t.Errorf("it keeps a report: %t, and demand of %v", kept, needs.Book.Shares())
	}
}
