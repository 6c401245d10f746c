package why

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/charge"
	"github.com/fedquota/fedquota/cmd/kubectl-fedquota/app/cli"
	"github.com/fedquota/fedquota/internal/demand"
)

// subject is what is asked about.
type subject struct {
	object client.Object
	// makers are the object and the ReplicaSets that it has made: those that events and conditions of refusals are about.
	makers []client.Object
	// template is that of its pods, and wanted how many of them there shall be.
	template *corev1.PodTemplateSpec
	wanted   int32
	// pods are those that there are.
	pods []corev1.Pod
}

// kind is what can be asked about.
type kind struct {
	name  string
	words []string
	fresh func() client.Object
}

// kinds are those that can be asked about, in the order in which a bare name is looked for.
var kinds = []kind{
	{"Deployment", []string{"deployment", "deployments", "deploy"}, func() client.Object { return &appsv1.Deployment{} }},
	{"StatefulSet", []string{"statefulset", "statefulsets", "sts"}, func() client.Object { return &appsv1.StatefulSet{} }},
	{"Job", []string{"job", "jobs"}, func() client.Object { return &batchv1.Job{} }},
	{"ReplicaSet", []string{"replicaset", "replicasets", "rs"}, func() client.Object { return &appsv1.ReplicaSet{} }},
	{"Pod", []string{"pod", "pods", "po"}, func() client.Object { return &corev1.Pod{} }},
	{"DaemonSet", []string{"daemonset", "daemonsets", "ds"}, func() client.Object { return &appsv1.DaemonSet{} }},
	{
		"ReplicationController", []string{"replicationcontroller", "replicationcontrollers", "rc"},
		func() client.Object { return &corev1.ReplicationController{} },
	},
	{"Event", []string{"event", "events", "ev"}, func() client.Object { return &corev1.Event{} }},
}

// find reads what an argument names.
func find(ctx context.Context, c client.Client, namespace, arg string) (*subject, error) {
	word, name, slash := strings.Cut(arg, "/")
	if !slash {
		word, name = "", arg
	}
	known := false
	for _, k := range kinds {
		if slash && !k.is(word) || !slash && k.name == "Event" {
			continue
		}
		known = true
		object := k.fresh()
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		switch {
		case err == nil:
			return subjectOf(ctx, c, cli.Typed(object))
		case slash || !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	if !known {
		return nil, fmt.Errorf("kind %q: must be one of deployment, statefulset, job, replicaset, pod, daemonset, replicationcontroller and event", word)
	}
	return nil, notFound(namespace, name)
}

func (k kind) is(word string) bool {
	for _, w := range k.words {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// subjectOf reads what belongs to an object.
func subjectOf(ctx context.Context, c client.Client, object client.Object) (*subject, error) {
	if event, ok := object.(*corev1.Event); ok {
		about := event.InvolvedObject
		return find(ctx, c, event.Namespace, strings.ToLower(about.Kind)+"/"+about.Name)
	}
	s := &subject{object: object, makers: []client.Object{object}}
	s.template, s.wanted, _ = charge.Template(object)
	if pod, ok := object.(*corev1.Pod); ok {
		s.pods = []corev1.Pod{*pod}
		return s, nil
	}
	if set, ok := object.(*appsv1.DaemonSet); ok {
		s.template, s.wanted = &set.Spec.Template, set.Status.DesiredNumberScheduled
	}
	if _, ok := object.(*appsv1.Deployment); ok {
		var sets appsv1.ReplicaSetList
		if err := c.List(ctx, &sets, inNamespace(s)); err != nil {
			return nil, err
		}
		for i := range sets.Items {
			if set := &sets.Items[i]; metav1.IsControlledBy(set, object) && set.Spec.Replicas != nil && *set.Spec.Replicas > 0 {
				s.makers = append(s.makers, set)
			}
		}
	}
	return s, s.readPods(ctx, c)
}

// oneByOne says whether a pod that is being deleted is replaced only once it is gone.
func (s *subject) oneByOne() bool {
	switch o := s.object.(type) {
	case *appsv1.StatefulSet, *appsv1.DaemonSet:
		return true
	case *batchv1.Job:
		return o.Spec.PodReplacementPolicy != nil && *o.Spec.PodReplacementPolicy == batchv1.Failed
	}
	return false
}

// readPods reads the pods that its makers have made, but those that have ended, and those that are replaced already.
func (s *subject) readPods(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, inNamespace(s)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded ||
			pod.DeletionTimestamp != nil && !s.oneByOne() {
			continue
		}
		for _, maker := range s.makers {
			if metav1.IsControlledBy(pod, maker) {
				s.pods = append(s.pods, *pod)
			}
		}
	}
	return nil
}

// missing is how many pods it lacks. A Job that has ended lacks none, and a suspended one those that it would make.
func (s *subject) missing() int {
	wanted := int(s.wanted)
	if job, ok := s.object.(*batchv1.Job); ok {
		wanted = int(demand.JobPods(job, true))
	}
	return max(0, wanted-len(s.pods))
}
