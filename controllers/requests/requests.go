// Package requests makes the requests by which events have controllers look at objects.
package requests

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// For returns the request to look at an object.
func For(object client.Object) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}

// Itself has an object looked at when something happens to it.
func Itself(_ context.Context, object client.Object) []ctrl.Request {
	return []ctrl.Request{For(object)}
}

// Always has one object looked at, whatever happens.
func Always(key client.ObjectKey) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: key}}
	})
}

// Those has the objects of a list looked at that are wanted. It copies none: events are many, and objects may be large.
func Those[T client.Object](
	ctx context.Context, reader client.Reader, list client.ObjectList, wanted func(T) bool, options ...client.ListOption,
) (requests []ctrl.Request) {
	err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...)
	if err == nil {
		err = apimeta.EachListItem(list, func(object runtime.Object) error {
			if o := object.(T); wanted(o) {
				requests = append(requests, For(o))
			}
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list what is to be looked at", "list", fmt.Sprintf("%T", list))
	}
	return requests
}
