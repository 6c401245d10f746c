//go:build e2e

package system_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// update is how an object asks for more under a name, and for less.
type update struct {
	object client.Object
	part   string // the subresource
	more   func(client.Object)
	less   func(client.Object)
}

// updates are by the names that they ask for. The limit is what the objects ask for at first.
func updates() map[corev1.ResourceName]update {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: team, Name: name} }
	return map[corev1.ResourceName]update{
		"requests.cpu": {object: pod("resized", "2"), part: "resize", more: resize("3"), less: resize("1")},
		"services.nodeports": {
			object: &corev1.Service{ObjectMeta: meta("exposed"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
			more:   expose(corev1.ServiceTypeNodePort), less: expose(corev1.ServiceTypeClusterIP),
		},
		"gold.storageclass.storage.k8s.io/requests.storage": {
			object: &corev1.PersistentVolumeClaim{ObjectMeta: meta("expanded"), Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: new("gold"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("2")}},
			}},
			more: expand("4"), less: expand("3"),
		},
	}
}

func resize(cpu string) func(client.Object) {
	return func(o client.Object) {
		o.(*corev1.Pod).Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpu)
	}
}

func expose(as corev1.ServiceType) func(client.Object) {
	return func(o client.Object) { o.(*corev1.Service).Spec.Type = as }
}

func expand(size string) func(client.Object) {
	return func(o client.Object) {
		o.(*corev1.PersistentVolumeClaim).Spec.Resources.Requests["storage"] = resource.MustParse(size)
	}
}

func relabel(o client.Object) { o.SetLabels(map[string]string{"team": "a"}) }

// do changes the object by a client, which may be one that has no effect.
func (u update) do(ctx context.Context, by client.Client, change func(client.Object)) error {
	stored := u.object.DeepCopyObject().(client.Object)
	if err := by.Get(ctx, client.ObjectKeyFromObject(stored), stored); err != nil {
		return err
	}
	changed := stored.DeepCopyObject().(client.Object)
	change(changed)
	if u.part != "" {
		return by.SubResource(u.part).Patch(ctx, changed, client.MergeFrom(stored))
	}
	return by.Patch(ctx, changed, client.MergeFrom(stored))
}

// TestUpdates has objects that are there ask for more than there is room for, which is refused or held, and for less
// although the cluster is to have nothing, which is not.
func TestUpdates(t *testing.T) {
	t.Parallel()
	m := startMember(t)
	m.create(t, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true)})
	s := share("all", "2", "2")
	s.Spec.Hard = corev1.ResourceList{
		"requests.cpu": resource.MustParse("2"), "services.nodeports": resource.MustParse("0"),
		"gold.storageclass.storage.k8s.io/requests.storage": resource.MustParse("2"),
	}
	m.tell(t, s)
	m.inForce(t, s)
	objects := updates()
	for _, u := range objects {
		m.create(t, u.object)
		m.bind(t, u.object)
	}
	dry := client.NewDryRunClient(m)
	for name, u := range objects {
		t.Run(string(name)+" up", func(t *testing.T) {
			until(t, "the webhook to refuse", func(ctx context.Context) (bool, error) { return byWebhook(u.do(ctx, dry, u.more)), nil })
			raised := make(chan error, 1)
			go func() { raised <- m.raiseName(t.Context(), s, name) }()
			if err := u.do(t.Context(), m, u.more); err != nil {
				t.Error(err)
			}
			if err := <-raised; err != nil {
				t.Error(err)
			}
		})
	}
	m.lowerAll(t, s)
	for name, u := range objects {
		t.Run(string(name)+" down", func(t *testing.T) {
			if u.part == "" {
				if err := u.do(t.Context(), m, relabel); err != nil {
					t.Errorf("another label: %v", err)
				}
			}
			if err := u.do(t.Context(), m, u.less); err != nil {
				t.Errorf("less: %v", err)
			}
		})
	}
}

// lowerAll gives a share nothing of anything: the limit in force is what is used then.
func (m *member) lowerAll(t *testing.T, s *quotav1alpha1.QuotaShare) {
	t.Helper()
	if err := m.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	stored := s.DeepCopy()
	s.Spec.Revision++
	for name := range s.Spec.Hard {
		s.Spec.Hard[name] = resource.MustParse("0")
	}
	if err := m.hub.Patch(t.Context(), s, client.MergeFrom(stored)); err != nil {
		t.Fatal(err)
	}
	m.inForce(t, s)
}

// byWebhook says whether an update was refused for its size, by the agent.
func byWebhook(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "fedquota.io") && strings.Contains(err.Error(), "exceeded quota: all, ")
}

// bind gives a claim a volume of 1 byte: only such a one may grow.
func (m *member) bind(t *testing.T, object client.Object) {
	t.Helper()
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{"storage": resource.MustParse("1")}
	if err := m.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}
