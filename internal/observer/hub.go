package observer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fedquota/fedquota/internal/observer/judge"
	"github.com/fedquota/fedquota/internal/observer/ledgers"
)

// kindsOfLedgers are those that hold ledgers, and as which resources.
var kindsOfLedgers = map[string]schema.GroupVersionResource{
	"QuotaPool":      {Group: "quota.fedquota.io", Version: "v1alpha1", Resource: "quotapools"},
	"FederatedQuota": {Group: "quota.fedquota.io", Version: "v1alpha1", Resource: "federatedquotas"},
}

// audit begins to watch the ledgers on the hub.
func (o *Observer) audit(ctx context.Context) error {
	config := rest.CopyConfig(o.options.Hub)
	config.QPS, config.UserAgent = -1, "fedquota-observer"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	o.ledgers = ledgers.New(o.options.Ledgers)
	for _, kind := range slices.Sorted(maps.Keys(kindsOfLedgers)) {
		w := &hubWatcher{client: client.Resource(kindsOfLedgers[kind]), kind: kind, observe: o.observeLedger}
		from, err := w.list(ctx, judge.First)
		if err != nil {
			return err
		}
		f := &follower{list: w.list, watch: w.client.Watch, deliver: w.deliver, resumed: func() {}}
		o.running.Go(func() { f.run(ctx, from) })
	}
	return nil
}

// observeLedger has a version of a ledger be judged.
func (o *Observer) observeLedger(key string, v *ledgers.Version, how judge.Step) {
	o.whole(func(j *judge.Judge, now time.Time) bool {
		for _, f := range o.ledgers.Observe(key, v, how, now) {
			j.Find(f)
		}
		return false
	})
}

// hubWatcher delivers every version of the objects of one kind on the hub.
type hubWatcher struct {
	client  dynamic.ResourceInterface
	kind    string
	observe func(key string, v *ledgers.Version, how judge.Step)
}

// list delivers what is there now, by a consistent list, and returns the resourceVersion from which to watch.
func (w *hubWatcher) list(ctx context.Context, how judge.Step) (string, error) {
	all, err := w.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing %ss: %w", w.kind, err)
	}
	for i := range all.Items {
		if err := w.take(&all.Items[i], how); err != nil {
			return "", err
		}
	}
	return all.GetResourceVersion(), nil
}

func (w *hubWatcher) deliver(kind watch.EventType, object runtime.Object) error {
	item, ok := object.(*unstructured.Unstructured)
	switch {
	case !ok:
		return fmt.Errorf("watching %ss: got %T", w.kind, object)
	case kind == watch.Bookmark:
	case kind == watch.Deleted:
		w.observe(w.keyOf(item), nil, judge.Next)
	default:
		return w.take(item, judge.Next)
	}
	return nil
}

func (w *hubWatcher) take(item *unstructured.Unstructured, how judge.Step) error {
	content, err := item.MarshalJSON()
	if err != nil {
		return err
	}
	v := &ledgers.Version{}
	if err := json.Unmarshal(content, v); err != nil {
		return fmt.Errorf("%s %s: %w", w.kind, item.GetName(), err)
	}
	w.observe(w.keyOf(item), v, how)
	return nil
}

func (w *hubWatcher) keyOf(item *unstructured.Unstructured) string {
	return Ledger{Kind: w.kind, Namespace: item.GetNamespace(), Name: item.GetName()}.Key()
}
