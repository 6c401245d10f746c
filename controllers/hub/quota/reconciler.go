// Package quota holds the controller that splits the budget of a FederatedQuota over member clusters. It gathers what a
// round is decided on, stores the ledger and delivers shares; internal/shares decides.
package quota

import (
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/fedquota/fedquota/controllers/hub/members"
	"github.com/fedquota/fedquota/controllers/hub/namespaces"
	pools "github.com/fedquota/fedquota/controllers/hub/pool"
	"github.com/fedquota/fedquota/controllers/hub/pool/trees"
	"github.com/fedquota/fedquota/controllers/hub/recorder"
	"github.com/fedquota/fedquota/controllers/hub/stores"
)

// Reconciler is the only writer of the ledger: it reads what members report, decides their targets, stores the ledger
// with one compare-and-swap, and only then writes shares.
type Reconciler struct {
	client.Client
	// Live reads from the API server: what a raise is decided on does not come from a cache.
	Live client.Reader
	// Members connects to members.
	Members clustercache.ClusterCache
	// Clusters says where the Clusters are.
	Clusters members.Namespaces
	// AgentNamespace is where the agents run in members.
	AgentNamespace string
	// Stores looks at the stores of members.
	Stores *stores.Watcher
	// Namespaces knows which namespaces members have.
	Namespaces *namespaces.Watcher
	// Trouble says what keeps the agent of a Cluster from running, as far as it is known; nil where the hub installs no
	// agents.
	Trouble func(cluster string) string
	// Needs takes what FederatedQuotas need, for the rounds over their pools.
	Needs *pools.Needs
	// Trees is what is known of restores. It is shared with the rounds of pools.
	Trees *trees.Trees
	// Clock says since when.
	Clock clock.PassiveClock
	// Timeout is how long a member may take to be read, and to be written.
	Timeout time.Duration
	// Recorder writes events on FederatedQuotas.
	Recorder events.EventRecorder
	// Records keep what becomes of budgets; nil where nobody keeps that.
	Records *recorder.Recorder
	// Limits are told which limits members enforce; nil where nobody asks.
	Limits *Limits

	controller controller.Controller
	// heard says that a round was made. Before that each FederatedQuota waits for its first one, which nothing has to
	// start.
	heard atomic.Bool
	// nodes says that the hub serves what nodes can run.
	nodes    atomic.Bool
	births   births
	silences members.Silences
	marks    members.Marks
	turns    members.Turns
	memories memories
}
