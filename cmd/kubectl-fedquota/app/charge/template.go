package charge

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"
)

// Template returns the pod that an object is, or makes, and how many of them it wants.
func Template(object runtime.Object) (template *corev1.PodTemplateSpec, replicas int32, ok bool) {
	switch o := object.(type) {
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}, 1, true
	case *appsv1.Deployment:
		return &o.Spec.Template, ptr.Deref(o.Spec.Replicas, 1), true
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, ptr.Deref(o.Spec.Replicas, 1), true
	case *appsv1.StatefulSet:
		return &o.Spec.Template, ptr.Deref(o.Spec.Replicas, 1), true
	case *corev1.ReplicationController:
		if o.Spec.Template == nil {
			return nil, 0, false
		}
		return o.Spec.Template, ptr.Deref(o.Spec.Replicas, 1), true
	case *batchv1.Job:
		return &o.Spec.Template, together(&o.Spec), true
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, together(&o.Spec.JobTemplate.Spec), true
	}
	return nil, 0, false
}

// together returns how many pods of a Job run at once.
func together(job *batchv1.JobSpec) int32 {
	parallelism := ptr.Deref(job.Parallelism, 1)
	return min(parallelism, ptr.Deref(job.Completions, parallelism))
}

// Read returns the first object of YAML documents that is a pod or makes pods.
func Read(scheme *runtime.Scheme, documents [][]byte) (runtime.Object, error) {
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, document := range documents {
		object, _, err := decoder.Decode(document, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		if _, _, ok := Template(object); ok {
			return object, nil
		}
	}
	return nil, errors.New("there is no object in it that is a pod or makes pods: valid are Pod, Deployment, ReplicaSet, StatefulSet, " +
		"ReplicationController, Job and CronJob")
}
