//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// testClaims has a StatefulSet want room for the claims of all its pods while west holds the whole budget, though it
// tries one at a time and less and less often.
func testClaims(t *testing.T, w *world) {
	hard := corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("12Gi"), pods: resource.MustParse("30")}
	s := newScenario(t, w, "claims", hard)
	s.create(hard, following)
	s.settle()
	for i := range 4 {
		claim := s.claim(fmt.Sprintf("all-%d", i), "3Gi")
		s.eventually("a claim in west", func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(s.member(west).Create(ctx, claim.DeepCopy()))
		})
	}
	s.namespaceIn(east)
	set := s.workload("stateful", "store").(*appsv1.StatefulSet)
	set.Spec.Replicas, set.Spec.PodManagementPolicy = new(int32(3)), appsv1.ParallelPodManagement
	set.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*s.claim("data", "2Gi")}
	s.must(s.member(east).Create(s.Context(), set))
	s.eventually("demand of all claims of a StatefulSet", func(ctx context.Context) error {
		share := &quotav1alpha1.QuotaShare{}
		err := s.member(east).Get(ctx, s.key, share)
		if storage := share.Status.Demand[corev1.ResourceRequestsStorage]; err == nil && storage.Cmp(resource.MustParse("6Gi")) != 0 {
			err = fmt.Errorf("it is %s", storage.String())
		}
		return err
	})
	s.eventually("an event that says what a StatefulSet waits for", func(ctx context.Context) error {
		var events eventsv1.EventList
		err := s.member(east).List(ctx, &events, client.InNamespace(s.key.Namespace))
		says := func(e eventsv1.Event) bool {
			return e.Regarding.UID == set.UID && e.Reason == quotav1alpha1.ReasonWaitingForQuota &&
				strings.Contains(e.Note, "requests.storage 12Gi of 12Gi used")
		}
		if err == nil && !slices.ContainsFunc(events.Items, says) {
			err = errors.New("there is none")
		}
		return err
	})
	s.must(s.member(west).DeleteAllOf(s.Context(), &corev1.PersistentVolumeClaim{}, client.InNamespace(s.key.Namespace)))
	took := s.runs(east, "store", 3)
	s.must(s.member(east).Get(s.Context(), client.ObjectKeyFromObject(set), set))
	s.Logf("its pods after %s, woken at %q", took.Round(time.Millisecond), set.Annotations[quotav1alpha1.PokedAnnotation])
	s.must(s.member(east).Delete(s.Context(), set, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	s.runs(east, "store", 0)
	s.must(s.member(east).DeleteAllOf(s.Context(), &corev1.PersistentVolumeClaim{}, client.InNamespace(s.key.Namespace)))
	s.finish()
}

// claim returns a PersistentVolumeClaim of a size.
func (s *scenario) claim(name, size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}
