//go:build e2e

package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// TestPoke sees a ReplicaSet that sleeps in back-off get its pods soon after a raise, and left alone where that is
// asked for.
func TestPoke(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	t.Run("disabled", func(t *testing.T) {
		if _, poked := m.raiseAsleep(t, quotav1alpha1.PokeDisabled, "disabled"); poked {
			t.Error("it was poked")
		}
	})
	t.Run("enabled", func(t *testing.T) {
		for attempt := range 3 { // on a slow machine a request may just be open when the limit is raised: then nobody is poked
			took, poked := m.raiseAsleep(t, quotav1alpha1.PokeEnabled, fmt.Sprintf("enabled-%d", attempt))
			// Each sleep takes 10 s, of which little is over.
			if poked && took < 5*time.Second {
				return
			}
		}
		t.Error("it was not poked, or had its pods late")
	})
}

// raiseAsleep raises a share for a ReplicaSet that sleeps in back-off, and says after what time it had its pods, and
// whether it was poked.
func (m *member) raiseAsleep(t *testing.T, mode quotav1alpha1.PokeMode, name string) (took time.Duration, poked bool) {
	t.Helper()
	s := share("compute", "1", "1")
	s.Spec.Admission = quotav1alpha1.Admission{WaitMilliseconds: ptr.To[int32](100), Poke: mode}
	m.tell(t, s)
	m.enforced(t, s)
	m.create(t, replicaSet(name, 4))
	m.pods(t, name, 1)
	asleep := m.asleep(t, 12*time.Second)

	if err := m.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	if got := s.Status.Demand["requests.cpu"]; got.String() != "3" {
		t.Errorf("the demand is %s, want 3", got.String())
	}
	began := time.Now()
	if err := m.raise(t.Context(), s, "4", "4"); err != nil {
		t.Fatal(err)
	}
	m.pods(t, name, 4)
	took = time.Since(began)
	set := replicaSet(name, 0)
	if err := m.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatal(err)
	}
	_, poked = set.Annotations[quotav1alpha1.PokedAnnotation]
	t.Logf("refused for %s; pods %s after the raise; poked: %t", asleep.Round(time.Second), took, poked)
	m.remove(t, s, name)
	return took, poked
}

// asleep waits for as long as a workload shall have been refused.
func (m *member) asleep(t *testing.T, duration time.Duration) time.Duration {
	t.Helper()
	select {
	case <-time.After(duration):
	case <-t.Context().Done():
	}
	return duration
}

// remove takes away a ReplicaSet and the share with its ResourceQuota.
func (m *member) remove(t *testing.T, s *quotav1alpha1.QuotaShare, name string) {
	t.Helper()
	if err := m.Delete(t.Context(), replicaSet(name, 0), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	m.pods(t, name, 0)
	stored := s.DeepCopy()
	s.Annotations = map[string]string{quotav1alpha1.RemovalAnnotation: string(quotav1alpha1.RemovalDelete)}
	s.Finalizers = []string{quotav1alpha1.Finalizer}
	if err := m.hub.Patch(t.Context(), s, client.MergeFrom(stored)); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	until(t, "the share to be gone", func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(m.Get(ctx, client.ObjectKeyFromObject(s), &quotav1alpha1.QuotaShare{})), nil
	})
}

// TestKinds holds each kind of object that native quota counts until its limit is raised.
func TestKinds(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	s := share("all", "1", "2")
	s.Spec.Hard = corev1.ResourceList{}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: team, Name: name} }
	kinds := map[corev1.ResourceName]client.Object{
		"pods":                   pod("pod", "1"),
		"services.nodeports":     &corev1.Service{ObjectMeta: meta("service"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}},
		"count/secrets":          &corev1.Secret{ObjectMeta: meta("secret")},
		"count/replicasets.apps": replicaSet("none", 0),
		"requests.storage": &corev1.PersistentVolumeClaim{ObjectMeta: meta("claim"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1")}},
		}},
		"gpu.deviceclass.resource.k8s.io/devices": &resourcev1.ResourceClaim{ObjectMeta: meta("devices"), Spec: resourcev1.ResourceClaimSpec{
			Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}},
		}},
	}
	for name := range kinds {
		s.Spec.Hard[name] = resource.MustParse("0")
	}
	m.tell(t, s)
	m.inForce(t, s)
	for name, object := range kinds {
		t.Run(string(name), func(t *testing.T) {
			until(t, "the webhook to be called", func(ctx context.Context) (bool, error) {
				err := m.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
				return err != nil && strings.Contains(err.Error(), "fedquota.io"), nil
			})
			raised := make(chan error, 1)
			go func() { raised <- m.raiseName(t.Context(), s, name) }()
			began := time.Now()
			m.create(t, object)
			t.Logf("admitted after %s", time.Since(began))
			if err := <-raised; err != nil {
				t.Error(err)
			}
		})
	}
}

// raiseName raises the limit of a share by what it states as demand under one name.
func (m *member) raiseName(ctx context.Context, share *quotav1alpha1.QuotaShare, name corev1.ResourceName) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	reports, err := m.Watch(ctx, &quotav1alpha1.QuotaShareList{}, client.InNamespace(share.Namespace))
	if err != nil {
		return err
	}
	defer reports.Stop()
	for event := range reports.ResultChan() {
		seen, ok := event.Object.(*quotav1alpha1.QuotaShare)
		if !ok {
			continue
		}
		if stated, ok := seen.Status.Demand[name]; ok {
			raised := seen.DeepCopy()
			raised.Spec.Revision++
			hard := raised.Spec.Hard[name]
			hard.Add(stated)
			raised.Spec.Hard[name] = hard
			return m.hub.Patch(ctx, raised, client.MergeFrom(seen))
		}
	}
	return fmt.Errorf("no demand for %s was stated", name)
}
