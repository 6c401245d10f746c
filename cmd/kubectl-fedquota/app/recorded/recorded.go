// Package recorded holds what API servers held at one time, as tests of commands read it. The objects come from a real
// fleet: the end-to-end test of the plugin records them.
package recorded

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/nativequota"
)

// Server is what one API server held.
type Server struct {
	// At is when.
	At time.Time `json:"at"`
	// Lacks are the kinds, as Kind.group, that it does not serve.
	Lacks []string `json:"lacks,omitempty"`
	// Objects are those that it held.
	Objects []runtime.RawExtension `json:"objects"`
}

// Add adds objects, without what no command reads.
func (s *Server) Add(scheme *runtime.Scheme, objects ...client.Object) error {
	for _, object := range objects {
		if e, ok := object.(*corev1.Event); ok && !isRead(e) {
			continue
		}
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return err
		}
		object = object.DeepCopyObject().(client.Object)
		object.GetObjectKind().SetGroupVersionKind(gvk)
		object.SetManagedFields(nil)
		trim(object)
		s.Objects = append(s.Objects, runtime.RawExtension{Object: object})
	}
	return nil
}

// isRead says whether a command reads an event: those about budgets, and of pods that were refused or find no node.
func isRead(e *corev1.Event) bool {
	about := e.InvolvedObject.GroupVersionKind().Group == quotav1alpha1.GroupVersion.Group
	return about || e.Reason == "FailedCreate" || e.Reason == "FailedScheduling"
}

// trim takes out of an object what no command reads.
func trim(object client.Object) {
	switch o := object.(type) {
	case *corev1.Secret:
		o.Data = nil
	case *corev1.Event:
		o.Source, o.ReportingController, o.ReportingInstance = corev1.EventSource{}, "", ""
	case *corev1.Pod:
		node := o.Spec.NodeName
		o.Spec = nativequota.TrimPodSpec(&o.Spec)
		o.Spec.NodeName = node
	case *appsv1.Deployment:
		o.Spec.Template.Spec = nativequota.TrimPodSpec(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		o.Spec.Template.Spec = nativequota.TrimPodSpec(&o.Spec.Template.Spec)
	}
}

// Decoded returns the objects as their types.
func (s *Server) Decoded(scheme *runtime.Scheme) ([]client.Object, error) {
	var objects []client.Object
	for _, raw := range s.Objects {
		var kind runtime.TypeMeta
		if err := yaml.Unmarshal(raw.Raw, &kind); err != nil {
			return nil, err
		}
		object, err := scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(raw.Raw, object); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Kind, err)
		}
		objects = append(objects, object.(client.Object))
	}
	return objects, nil
}

// Write writes what servers held into a folder, a file for each.
func Write(folder string, servers map[string]*Server) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		content, err := yaml.Marshal(servers[name])
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Read reads what servers held, by their names.
func Read(folder string) (map[string]*Server, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("nothing is recorded in %s", folder)
	}
	servers := map[string]*Server{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		server := &Server{}
		if err := yaml.Unmarshal(bytes.TrimSpace(content), server); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		servers[strings.TrimSuffix(filepath.Base(file), ".yaml")] = server
	}
	return servers, nil
}
