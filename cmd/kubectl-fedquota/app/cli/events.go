package cli

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostEvents is how many events are shown.
const mostEvents = 10

// EventsOf returns the latest events of an object, the last one last.
func EventsOf(ctx context.Context, c client.Client, object client.Object) ([]corev1.Event, error) {
	events, err := AllEventsOf(ctx, c, object)
	return events[max(0, len(events)-mostEvents):], err
}

// AllEventsOf returns the events of an object, the last one last.
func AllEventsOf(ctx context.Context, c client.Client, object client.Object) ([]corev1.Event, error) {
	var list corev1.EventList
	about := client.MatchingFields{"involvedObject.uid": string(object.GetUID())}
	err := c.List(ctx, &list, client.InNamespace(object.GetNamespace()), about)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return LastSeen(&a).Compare(LastSeen(&b).Time) })
	return list.Items, nil
}

// LastSeen returns when an event happened last.
func LastSeen(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.NewTime(e.EventTime.Time)
	}
	return e.CreationTimestamp
}
