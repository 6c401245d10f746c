package web

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
)

// feed holds the objects of one kind, of one namespace or of all, and follows them.
type feed struct {
	hub       client.WithWatch
	what      string
	namespace string
	fields    client.MatchingFields
	object    client.Object
	list      client.ObjectList
	informer  toolscache.SharedInformer
	// err is why the kind could not be read at the start, nil if it could.
	err error
	// limited is why only one namespace is followed, if that is so.
	limited string
	// seen is called with each version of an object, and tell after it.
	seen func(client.Object)
	tell func()

	mutex sync.Mutex
	// trouble is why what is held may be old, or why nothing is.
	trouble string
}

// feed returns one of a kind.
func (s *source) feed(what string, object client.Object, list client.ObjectList, namespace string) *feed {
	return &feed{hub: s.hub, what: what, namespace: namespace, object: object, list: list, tell: s.tell, seen: func(client.Object) {}}
}

// check finds out whether the caller may list the kind.
func (f *feed) check(ctx context.Context) {
	f.err = f.ask(ctx)
	f.note(f.err)
}

// ask asks for one object of the kind.
func (f *feed) ask(ctx context.Context) error {
	return f.hub.List(ctx, f.list.DeepCopyObject().(client.ObjectList), f.options(&metav1.ListOptions{Limit: 1})...)
}

// isRefused says whether the caller lacks the right to list the kind by now, or is nobody whom the hub knows any more.
func (f *feed) isRefused(ctx context.Context) bool {
	err := f.ask(ctx)
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// isHidden says whether the caller lacks the right to list the kind.
func (f *feed) isHidden() bool { return f.err != nil && cli.MissingRight(f.err) != "" }

// note notes how a request has ended. What API servers answer to who lacks a right is told in words that help.
func (f *feed) note(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.trouble = ""
	switch {
	case err == nil:
	case cli.MissingRight(err) != "":
		f.trouble = "you lack the right to " + cli.MissingRight(err)
	default:
		f.trouble = err.Error()
	}
}

// said returns why what is held may be old, or why nothing is, "" if all is well.
func (f *feed) said() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.trouble
}

// options are those of a request.
func (f *feed) options(raw *metav1.ListOptions) []client.ListOption {
	options := []client.ListOption{&client.ListOptions{Raw: raw, Limit: raw.Limit, Continue: raw.Continue}, client.InNamespace(f.namespace)}
	if f.fields != nil {
		options = append(options, f.fields)
	}
	return options
}

// follow reads all objects, and follows them until the context ends.
func (f *feed) follow(ctx context.Context) {
	f.informer = toolscache.NewSharedInformer(toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			list := f.list.DeepCopyObject().(client.ObjectList)
			err := f.hub.List(ctx, list, f.options(&raw)...)
			f.after(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			w, err := f.hub.Watch(ctx, f.list.DeepCopyObject().(client.ObjectList), f.options(&raw)...)
			f.after(err)
			return w, err
		},
	}, listed{}), f.object, 0)
	// The page says what is wrong, so the terminal need not.
	_ = f.informer.SetWatchErrorHandlerWithContext(func(context.Context, *toolscache.Reflector, error) {})
	_ = f.informer.SetTransform(cache.TransformStripManagedFields())
	_, _ = f.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    f.saw,
		UpdateFunc: func(_, object any) { f.saw(object) },
		DeleteFunc: func(any) { f.tell() },
	})
	go f.informer.RunWithContext(ctx)
}

// listed has objects listed before they are watched, as every API server can.
type listed struct{}

// IsWatchListSemanticsUnSupported is what client-go asks.
func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// after notes how a request has ended, and tells if that is news.
func (f *feed) after(err error) {
	before := f.said()
	if f.note(err); f.said() != before {
		f.tell()
	}
}

func (f *feed) saw(object any) {
	f.seen(object.(client.Object))
	f.tell()
}

// objects returns what is held, which nobody may change.
func (f *feed) objects() []any {
	if f.informer == nil {
		return nil
	}
	return f.informer.GetStore().List()
}

// objectsOf returns what feeds of a kind hold, which nobody may change.
func objectsOf[T client.Object](feeds []*feed) []T {
	var objects []T
	for _, f := range feeds {
		for _, object := range f.objects() {
			objects = append(objects, object.(T))
		}
	}
	return objects
}
