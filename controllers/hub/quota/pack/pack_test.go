package pack

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// usualShare is a share as most are.
func usualShare(i int) *quotav1alpha1.QuotaShare {
	text := fmt.Sprintf(`{"metadata": {"namespace": "team-%04d", "name": "compute", "uid": "8d0c4b1e-3f3a-4b5e-9c53-%012d", "resourceVersion": "%d", "generation": 3,
		"creationTimestamp": "2026-01-02T03:04:05Z", "finalizers": ["quota.fedquota.io/removal"],
		"annotations": {"quota.fedquota.io/cluster": "0b0d4b1e-3f3a-4b5e-9c53-%012d"}},
		"spec": {"revision": 7, "hard": {"requests.cpu": "10", "limits.cpu": "20500m", "requests.memory": "40Gi", "pods": "50"}, "admission": {"mode": "Off"},
			"fleet": {"budget": {"requests.cpu": "30", "limits.cpu": "60", "requests.memory": "120Gi", "pods": "150"},
				"used": {"requests.cpu": "3", "limits.cpu": "6", "requests.memory": "12Gi", "pods": "15"}}},
		"status": {"observedGeneration": 3, "revision": 7, "hard": {"requests.cpu": "10", "limits.cpu": "20500m", "requests.memory": "40Gi", "pods": "50"},
			"used": {"requests.cpu": "%d", "limits.cpu": "2", "requests.memory": "4Gi", "pods": "5"},
			"conditions": [{"type": "Enforced", "status": "True", "reason": "Enforced", "message": "The share is in force", "observedGeneration": 3,
				"lastTransitionTime": "2026-01-02T03:04:06Z"}]}}`, i, i, 1000+i, i, i%10)
	share := &quotav1alpha1.QuotaShare{}
	if err := json.Unmarshal([]byte(text), share); err != nil {
		panic(err)
	}
	return share
}

// fullShare has something in each field of spec and status.
func fullShare() *quotav1alpha1.QuotaShare {
	share, some := usualShare(1), corev1.ResourceList{"pods": resource.MustParse("3"), "requests.nvidia.com/gpu": resource.MustParse("0")}
	share.DeletionTimestamp, share.Finalizers = new(metav1.Unix(7, 0)), []string{"other", quotav1alpha1.Finalizer}
	share.GenerateName = "comp"
	share.Labels, share.Annotations[quotav1alpha1.RemovalAnnotation] = map[string]string{"a": "b"}, "Retain"
	share.OwnerReferences = []metav1.OwnerReference{{Kind: "ConfigMap", Name: "owner", UID: types.UID("1")}}
	share.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	share.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
		ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"},
	}}}
	share.Spec.Admission = quotav1alpha1.Admission{Mode: quotav1alpha1.AdmissionHold, WaitMilliseconds: new(int32(0)), Poke: quotav1alpha1.PokeDisabled}
	share.Spec.ExistingQuotas.Accepted = []quotav1alpha1.QuotaName{"theirs"}
	share.Spec.ExistingQuotas.WhenToTakeOver = quotav1alpha1.TakeOverAlways
	share.Spec.TakeOver = &quotav1alpha1.TakeOver{UID: "u", Hard: some}
	share.Status.ExistingQuota = &quotav1alpha1.ExistingQuota{UID: "u", Hard: some, Used: some}
	share.Spec.Pong, share.Status.Ping = 1<<53-1, 5
	share.Spec.MostAllocatable = some
	share.Spec.Fleet.Waiting = []quotav1alpha1.ClusterName{"east"}
	share.Status.Demand, share.Status.Expected, share.Status.Replacing, share.Status.Unscheduled = some, some, some, some
	share.Status.DemandByShape = []quotav1alpha1.DemandShape{{Amounts: some, Unit: some}}
	share.Status.UnscheduledByShape = share.Status.DemandByShape
	share.Status.DemandByReplica = map[string]quotav1alpha1.ReplicaDemand{"one": {RenewTime: metav1.NewMicroTime(time.Unix(7, 1000)),
		Owners: []quotav1alpha1.OwnerDemand{{Owner: "x", Amounts: some}}}}
	return share
}

func TestPack(t *testing.T) {
	full := fullShare()
	for _, part := range []any{full.Spec, full.Spec.Admission, full.Spec.Fleet, full.Status} {
		for i, v := 0, reflect.ValueOf(part); i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("the test leaves out %s of %T", v.Type().Field(i).Name, part)
			}
		}
	}
	bare := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	bare.Spec.Hard = corev1.ResourceList{}
	for name, share := range map[string]*quotav1alpha1.QuotaShare{"usual": usualShare(1), "full": full, "bare": bare} {
		t.Run(name, func(t *testing.T) {
			want := share.DeepCopy()
			packed, err := Share(share)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := Share(packed); err != nil || again != packed {
				t.Error("what is packed is packed again")
			}
			for range 2 { // the first one must not have changed what is packed
				got, err := Unpack(packed.(*quotav1alpha1.QuotaShare))
				if err != nil {
					t.Fatal(err)
				}
				if !equality.Semantic.DeepEqual(want, got) {
					t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
				}
				got.Status.Used, got.Annotations = nil, nil
			}
		})
	}
	if other, err := Share(new(corev1.Namespace)); err != nil || !reflect.DeepEqual(other, new(corev1.Namespace)) {
		t.Errorf("a Namespace: %v, %v", other, err)
	}
}

// TestUnpackCut takes ends off a packed share: none of them may be taken for a share, or end the process.
func TestUnpackCut(t *testing.T) {
	packed, err := Share(fullShare())
	if err != nil {
		t.Fatal(err)
	}
	share := packed.(*quotav1alpha1.QuotaShare)
	whole := share.GenerateName
	for length := len(packedMark); length < len(whole); length++ {
		share.GenerateName = whole[:length]
		if got, err := Unpack(share); err == nil && got.Spec.ScopeSelector != nil {
			t.Fatalf("%d of %d bytes are taken for a share: %v", length, len(whole), got)
		}
	}
}

// TestPackedSize is what 200 budgets over 1,000 members rest on.
func TestPackedSize(t *testing.T) {
	const number, most = 10000, 1024
	shares := make([]any, number)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range shares {
		packed, err := Share(usualShare(i))
		if err != nil {
			t.Fatal(err)
		}
		shares[i] = packed
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / number
	t.Logf("%d bytes each", each)
	if each > most {
		t.Errorf("a share takes %d bytes, want %d at most", each, most)
	}
	runtime.KeepAlive(shares)
}

func BenchmarkUnpack(b *testing.B) {
	packed, err := Share(usualShare(1))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(packed.(*quotav1alpha1.QuotaShare)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCopyShare(b *testing.B) {
	share := usualShare(1)
	b.ReportAllocs()
	for b.Loop() {
		share.DeepCopy()
	}
}
