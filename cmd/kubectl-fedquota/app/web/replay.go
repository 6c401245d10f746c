package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/history"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/records"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/replay"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/view"
)

const (
	// fresh is for how long records are held that were read: somebody who replays asks for many instants.
	fresh = time.Minute
	// restful is for how long a limit is at rest of which nobody tells any more that it moved.
	restful = time.Minute
)

// archive holds the records of the budget that was replayed last: records are large.
type archive struct {
	mutex  sync.Mutex
	of     client.ObjectKey
	read   time.Time
	months []records.Record
	// denied is which right the caller lacks to read them.
	denied string
}

// recorded returns the records of a budget, and which right the caller lacks to read them.
func (s *source) recorded(ctx context.Context, key client.ObjectKey) ([]records.Record, string, error) {
	a := &s.archive
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := s.clock.Now()
	if a.of == key && now.Sub(a.read) < fresh {
		return a.months, a.denied, nil
	}
	months, err := records.Of(ctx, s.hub, key, now)
	denied := ""
	if apierrors.IsForbidden(err) {
		denied, err = cli.MissingRight(err), nil
	}
	if err != nil {
		return nil, "", err
	}
	a.of, a.read, a.months, a.denied = key, now, months, denied
	return months, denied, nil
}

// reel returns what is known of the past of a budget, and which right the caller lacks to know more; nil if there is no such
// budget.
func (s *source) reel(ctx context.Context, key client.ObjectKey) (*replay.Reel, string, error) {
	fq := find(objectsOf[*quotav1alpha1.FederatedQuota](s.budgets), key)
	if fq == nil {
		return nil, "", nil
	}
	months, denied, err := s.recorded(ctx, key)
	if err != nil {
		return nil, "", err
	}
	seen, now := s.memory.recall(key), s.clock.Now()
	known := replay.Known{
		Months: months, Samples: seen.samples, Now: now, Rest: restOf(fq, now), Formats: view.Hard(fq), ToldSince: s.started.Add(-history.Kept),
	}
	for _, m := range seen.moves {
		known.Told = append(known.Told, m.Move)
	}
	switch {
	case s.told[0].err != nil:
		known.ToldSince = now
	case len(seen.moves) == mostMoves: // those before are forgotten
		known.ToldSince = seen.moves[0].Time.Time
	}
	return replay.New(known), denied, nil
}

// restOf returns the limits that do not move.
func restOf(fq *quotav1alpha1.FederatedQuota, now time.Time) map[replay.Claim]string {
	rest := map[replay.Claim]string{}
	for _, c := range view.BudgetOf(fq, view.Only{}).Clusters {
		if c.State != quotav1alpha1.ClusterSettled || c.Since == nil || now.Sub(c.Since.Time) < restful {
			continue
		}
		for _, a := range c.Resources {
			rest[replay.Claim{Cluster: c.Name, Resource: a.Resource}] = a.Target
		}
	}
	return rest
}

// film is what somebody has to know who picks an instant of the past of a budget.
type film struct {
	From metav1.Time `json:"from"`
	// Until is now.
	Until   metav1.Time                     `json:"until"`
	Samples []view.Sample                   `json:"samples"`
	Marks   map[corev1.ResourceName][]int64 `json:"marks"`
	// Denied is which right the caller lacks to see all that is known.
	Denied string `json:"denied,omitempty"`
}

// answerReplay answers what is known of the past of a budget: of all of it, or of an instant.
func (s *source) answerReplay(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	reel, denied, err := s.reel(r.Context(), client.ObjectKey{Namespace: query.Get("namespace"), Name: query.Get("name")})
	switch {
	case err != nil:
		http.Error(w, "The records cannot be read: "+err.Error(), http.StatusBadGateway)
		return
	case reel == nil:
		http.Error(w, "There is no such budget, or you may not see it.", http.StatusNotFound)
		return
	}
	var told any = &film{metav1.NewTime(reel.From()), metav1.NewTime(reel.Now), reel.Line(), reel.Marks(), denied}
	if query.Has("at") {
		seconds, err := strconv.ParseInt(query.Get("at"), 10, 64)
		if err != nil {
			http.Error(w, "at: must be seconds since 1970.", http.StatusBadRequest)
			return
		}
		told = reel.At(time.Unix(seconds, 0), corev1.ResourceName(query.Get("resource")))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(told)
}
