package demand

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/demand/shape"
	"github.com/fedquota/fedquota/internal/demand/signature"
)

// TestNotesOfPods has the note of a pod say what the book holds, and stay what it is.
func TestNotesOfPods(t *testing.T) {
	since := metav1.NewTime(time.Unix(1000, 0))
	condition := func(status corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason, LastTransitionTime: since, Message: "0/2 nodes"}
	}
	for name, tc := range map[string]struct {
		conditions []corev1.PodCondition
		waits      bool
		gated      bool
		group      func(*corev1.Pod) // puts it into one
	}{
		"new":              {},
		"scheduled":        {conditions: []corev1.PodCondition{condition(corev1.ConditionTrue, "")}},
		"no node has room": {conditions: []corev1.PodCondition{{Type: corev1.PodReady}, condition(corev1.ConditionFalse, corev1.PodReasonUnschedulable)}, waits: true},
		"waits in a group": {
			conditions: []corev1.PodCondition{condition(corev1.ConditionFalse, corev1.PodReasonUnschedulable)}, waits: true,
			group: func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("train")} },
		},
		"waits in a group of scheduler-plugins": {
			conditions: []corev1.PodCondition{condition(corev1.ConditionFalse, corev1.PodReasonUnschedulable)}, waits: true,
			group: func(p *corev1.Pod) { p.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "train"} },
		},
		"waits in a group of Volcano": {
			conditions: []corev1.PodCondition{condition(corev1.ConditionFalse, corev1.PodReasonUnschedulable)}, waits: true,
			group: func(p *corev1.Pod) { p.Annotations = map[string]string{"scheduling.k8s.io/group-name": "train"} },
		},
		"waits for its gate": {conditions: []corev1.PodCondition{condition(corev1.ConditionFalse, corev1.PodReasonSchedulingGated)}, gated: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1", UID: "1", OwnerReferences: []metav1.OwnerReference{{UID: "web", Controller: new(true)}}},
				Spec: corev1.PodSpec{NodeSelector: map[string]string{"disk": "fast"}, Containers: []corev1.Container{{
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
				}}},
				Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: tc.conditions},
			}
			want := demand.Pod{UID: "1", Owner: "web", Namespace: "team", Grouped: tc.group != nil}
			if tc.group != nil {
				tc.group(pod)
			}
			if tc.gated || tc.waits {
				want.Unplaced, want.Spec = since.Time, new(signature.TrimPodSpec(&pod.Spec))
			}
			if tc.waits {
				want.Unschedulable, want.Signature = since.Time, signature.Of(&pod.Spec)
			}
			once := noteOrFail(t, pod)
			if diff := cmp.Diff(want, once.of, cmp.AllowUnexported(signature.Signature{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if twice := noteOrFail(t, once); twice != once {
				t.Errorf("a note of a note is %v", twice)
			}
		})
	}
}

func noteOrFail(t *testing.T, object any) *note {
	t.Helper()
	made, err := noteOf(object)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*note)
}

// TestTemplatesWithLimits has a workload whose template sets limits alone lack what its pods will be charged.
func TestTemplatesWithLimits(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "db", UID: "db"},
		Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Resources: limited}},
		}}},
	}
	share := &quotav1alpha1.QuotaShare{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "compute"}}
	share.Spec.Hard = corev1.ResourceList{"requests.cpu": resource.MustParse("10"), "limits.cpu": resource.MustParse("10")}
	whole := set.DeepCopy()

	book := demand.NewBook()
	book.SetWorkload(noteOrFail(t, set).of.(demand.Workload), time.Unix(1000, 0))
	needs, _ := book.Demand(share, time.Unix(1010, 0))
	got := shape.Total(needs)
	if diff := cmp.Diff(amount.List{"requests.cpu": 6000, "limits.cpu": 6000}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(whole, set); diff != "" {
		t.Errorf("the object itself was changed:\n%s", diff)
	}
}

func TestJobPods(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) []batchv1.JobCondition {
		return []batchv1.JobCondition{{Type: kind, Status: status}}
	}
	for name, tc := range map[string]struct {
		completions *int32
		suspended   bool
		managedBy   string
		status      batchv1.JobStatus
		want        int64
	}{
		"new":                              {completions: new(int32(5)), want: 3},
		"almost complete":                  {completions: new(int32(5)), status: batchv1.JobStatus{Succeeded: 4}, want: 1},
		"suspended":                        {completions: new(int32(5)), suspended: true},
		"without completions":              {want: 3},
		"without completions, one success": {status: batchv1.JobStatus{Succeeded: 1}},
		"complete":                         {status: batchv1.JobStatus{Conditions: condition(batchv1.JobComplete, corev1.ConditionTrue)}},
		"failed":                           {status: batchv1.JobStatus{Conditions: condition(batchv1.JobFailed, corev1.ConditionTrue)}},
		"about to fail":                    {status: batchv1.JobStatus{Conditions: condition(batchv1.JobFailureTarget, corev1.ConditionTrue)}},
		"about to be complete":             {status: batchv1.JobStatus{Conditions: condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue)}},
		"indexes that failed":              {completions: new(int32(9)), status: batchv1.JobStatus{Succeeded: 3, FailedIndexes: new("1,3-5")}, want: 2},
		"no index that failed":             {completions: new(int32(9)), status: batchv1.JobStatus{Succeeded: 3, FailedIndexes: new("")}, want: 3},
		"all indexes failed":               {completions: new(int32(9)), status: batchv1.JobStatus{FailedIndexes: new("0-8")}},
		"of the Job controller":            {completions: new(int32(5)), managedBy: batchv1.JobControllerName, want: 3},
		"of another controller":            {completions: new(int32(5)), managedBy: "kueue.x-k8s.io/multikueue"},
		"not about to fail":                {status: batchv1.JobStatus{Conditions: condition(batchv1.JobFailureTarget, corev1.ConditionFalse)}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(3)), Completions: tc.completions, Suspend: &tc.suspended}, Status: tc.status}
			if tc.managedBy != "" {
				job.Spec.ManagedBy = &tc.managedBy
			}
			if got := noteOrFail(t, job).of.(demand.Workload).Desired; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestDaemonSets has a DaemonSet want a pod for each node that its controller says it belongs on.
func TestDaemonSets(t *testing.T) {
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "log", UID: "log"}}
	daemons.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 5, CurrentNumberScheduled: 2, NumberMisscheduled: 1}
	want := demand.Workload{
		Owner: demand.Owner{Kind: "DaemonSet", Name: "log", UID: "log"}, Namespace: "team",
		Desired: 5, OneByOne: true, Placed: true, Rollout: demand.Rollout{Of: "log", Pods: new(int64(5))},
	}
	got := noteOrFail(t, daemons).of.(demand.Workload)
	got.Template = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReplicationControllers has one count as a ReplicaSet does.
func TestReplicationControllers(t *testing.T) {
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "old", UID: "old"}}
	rc.Spec.Replicas = new(int32(3))
	if w := noteOrFail(t, rc).of.(demand.Workload); w.Desired != 0 {
		t.Errorf("without a template it wants %d pods", w.Desired)
	}
	rc.Spec.Template = &corev1.PodTemplateSpec{}
	if w := noteOrFail(t, rc).of.(demand.Workload); w.Desired != 3 || !w.Blocked {
		t.Errorf("it wants %d pods; blocked: %t", w.Desired, w.Blocked)
	}
	rc.Status.Conditions = []corev1.ReplicationControllerCondition{{
		Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue,
		Message: `pods "old-1" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3`,
	}}
	if w := noteOrFail(t, rc).of.(demand.Workload); w.Blocked || w.RefusedBy != "compute" {
		t.Errorf("refused by %q; blocked: %t", w.RefusedBy, w.Blocked)
	}
}

// TestStatingJobs has a suspended Job want its pods for as long as it says, and another one, or what it says otherwise,
// count for nothing.
func TestStatingJobs(t *testing.T) {
	created := metav1.NewTime(time.Unix(1000, 0))
	const wrong = `metadata.annotations[quota.fedquota.io/demand-for]: Invalid value: "%s": must be a duration of more than 0 and at most 60m, such as 30m`
	for value, tc := range map[string]struct {
		suspended bool
		lasts     time.Duration
		problem   string
	}{
		"30m":   {suspended: true, lasts: 30 * time.Minute},
		"1h":    {suspended: true, lasts: time.Hour},
		"90s":   {},
		"61m":   {suspended: true, problem: fmt.Sprintf(wrong, "61m")},
		"0s":    {suspended: true, problem: fmt.Sprintf(wrong, "0s")},
		"-5m":   {suspended: true, problem: fmt.Sprintf(wrong, "-5m")},
		"later": {suspended: true, problem: fmt.Sprintf(wrong, "later")},
		"":      {suspended: true, problem: fmt.Sprintf(wrong, "")},
	} {
		t.Run(value, func(t *testing.T) {
			job := &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created, Annotations: map[string]string{quotav1alpha1.DemandForAnnotation: value}},
				Spec:       batchv1.JobSpec{Parallelism: new(int32(3)), Suspend: &tc.suspended},
			}
			n := noteOrFail(t, job)
			w, problem := n.of.(demand.Workload), ""
			if n.problem != nil {
				problem = n.problem.Error()
			}
			if problem != tc.problem {
				t.Errorf("problem %q, want %q", problem, tc.problem)
			}
			if tc.lasts == 0 {
				if !w.StatedUntil.IsZero() || tc.suspended && w.Desired != 0 {
					t.Errorf("it wants %d pods until %s", w.Desired, w.StatedUntil)
				}
			} else if w.Desired != 3 || !w.StatedUntil.Equal(created.Add(tc.lasts)) {
				t.Errorf("it wants %d pods until %s", w.Desired, w.StatedUntil)
			}
		})
	}
}

// TestRefusedReplicaSets has a ReplicaSet count as refused by the quota that its controller says did it, and as blocked
// until its controller says that it failed: what it says is why it failed first.
func TestRefusedReplicaSets(t *testing.T) {
	for name, tc := range map[string]struct {
		message string
		status  corev1.ConditionStatus
		want    string
		blocked bool
	}{
		"by a quota": {
			message: `pods "web-1" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=3, limited: pods=3`,
			status:  corev1.ConditionTrue, want: "compute",
		},
		"by the webhook": {
			message: `admission webhook "pods.fedquota.io" denied the request: exceeded quota: team.compute, requested: pods=1, used: pods=3, limited: pods=3; fleet: used pods=24 of 24`,
			status:  corev1.ConditionTrue, want: "team.compute",
		},
		"by the fence": {
			message: `resourcequotas "compute" is forbidden: ValidatingAdmissionPolicy 'fedquota-fence' with binding 'fedquota-fence' denied request: exceeded quota: the limit is being lowered`,
			status:  corev1.ConditionTrue,
		},
		"by a quota, before":          {message: `pods "web-1" is forbidden: exceeded quota: compute, requested: pods=1`, status: corev1.ConditionFalse, blocked: true},
		"by something else":           {message: `pods "web-1" is forbidden: violates PodSecurity`, status: corev1.ConditionTrue},
		"before its quota is counted": {message: `pods "web-1" is forbidden: status unknown for quota: compute, resources: pods`, status: corev1.ConditionTrue},
		"without its service account": {
			message: `pods "web-" is forbidden: error looking up service account team/web: serviceaccount "web" not found`, status: corev1.ConditionTrue,
		},
		"without a request": {message: `pods "web-1" is forbidden: failed quota: compute: must specify requests.cpu for: web`, status: corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{
				{Type: appsv1.ReplicaSetReplicaFailure, Status: tc.status, Message: tc.message},
			}}}
			if w, _ := workloadOf(set); w.RefusedBy != tc.want || w.Blocked != tc.blocked {
				t.Errorf("refused by %q, blocked: %t", w.RefusedBy, w.Blocked)
			}
		})
	}
	if w, _ := workloadOf(&appsv1.ReplicaSet{}); !w.Blocked {
		t.Error("a new ReplicaSet is not about to make its pods")
	}
}

// TestRollouts has workloads say whose pods they make, and whether they replace them.
func TestRollouts(t *testing.T) {
	meta := func(change ...func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "web", Generation: 2}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	owned := func(m *metav1.ObjectMeta) {
		m.OwnerReferences = []metav1.OwnerReference{{UID: "deployment", Controller: new(true)}}
	}
	deleted := func(m *metav1.ObjectMeta) { m.DeletionTimestamp = new(metav1.Unix(1000, 0)) }
	annotated := func(annotations map[string]string) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) { m.Annotations = annotations }
	}
	stateful := func(strategy appsv1.StatefulSetUpdateStrategyType, partition int32, status appsv1.StatefulSetStatus, change ...func(*metav1.ObjectMeta)) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: meta(change...), Status: status, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: strategy, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(partition)},
			},
		}}
	}
	daemons := func(strategy appsv1.DaemonSetUpdateStrategyType, observed int64, updated int32) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			ObjectMeta: meta(), Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: strategy}},
			Status: appsv1.DaemonSetStatus{ObservedGeneration: observed, DesiredNumberScheduled: 3, UpdatedNumberScheduled: updated},
		}
	}
	const rolling = appsv1.RollingUpdateStatefulSetStrategyType
	changed := appsv1.StatefulSetStatus{ObservedGeneration: 2, CurrentRevision: "1", UpdateRevision: "2", UpdatedReplicas: 1}
	three := new(int64(3))
	for name, tc := range map[string]struct {
		object any
		want   demand.Rollout
	}{
		"a ReplicaSet of its own": {object: &appsv1.ReplicaSet{ObjectMeta: meta()}},
		"of a Deployment": {
			object: &appsv1.ReplicaSet{ObjectMeta: meta(owned, annotated(map[string]string{"deployment.kubernetes.io/revision": "7", "deployment.kubernetes.io/desired-replicas": "3"}))},
			want:   demand.Rollout{Of: "deployment", Revision: 7, Pods: three},
		},
		"of an Argo Rollout": {
			object: &appsv1.ReplicaSet{ObjectMeta: meta(owned, annotated(map[string]string{"rollout.argoproj.io/revision": "7", "rollout.argoproj.io/desired-replicas": "3"}))},
			want:   demand.Rollout{Of: "deployment", Revision: 7, Pods: three},
		},
		"of somebody else": {
			object: &appsv1.ReplicaSet{ObjectMeta: meta(owned, annotated(map[string]string{"deployment.kubernetes.io/revision": "no number"}))},
			want:   demand.Rollout{Of: "deployment"},
		},
		"a ReplicaSet that is deleted":           {object: &appsv1.ReplicaSet{ObjectMeta: meta(owned, deleted)}},
		"a StatefulSet at rest":                  {object: stateful(rolling, 0, appsv1.StatefulSetStatus{ObservedGeneration: 2}), want: demand.Rollout{Of: "web", Pods: three}},
		"a StatefulSet that rolls":               {object: stateful(rolling, 0, changed), want: demand.Rollout{Of: "web", Pods: three, Within: true}},
		"a StatefulSet that was changed":         {object: stateful(rolling, 0, appsv1.StatefulSetStatus{ObservedGeneration: 1}), want: demand.Rollout{Of: "web", Pods: three, Within: true}},
		"a StatefulSet that rolled up to a part": {object: stateful(rolling, 2, changed), want: demand.Rollout{Of: "web", Pods: three}},
		"a StatefulSet that waits for somebody":  {object: stateful(appsv1.OnDeleteStatefulSetStrategyType, 0, changed), want: demand.Rollout{Of: "web", Pods: three}},
		"a StatefulSet that is deleted":          {object: stateful(rolling, 0, changed, deleted)},
		"a DaemonSet at rest":                    {object: daemons(appsv1.RollingUpdateDaemonSetStrategyType, 2, 3), want: demand.Rollout{Of: "web", Pods: three}},
		"a DaemonSet that rolls":                 {object: daemons(appsv1.RollingUpdateDaemonSetStrategyType, 2, 2), want: demand.Rollout{Of: "web", Pods: three, Within: true}},
		"a DaemonSet that was changed":           {object: daemons(appsv1.RollingUpdateDaemonSetStrategyType, 1, 3), want: demand.Rollout{Of: "web", Pods: three, Within: true}},
		"a DaemonSet that waits for somebody":    {object: daemons(appsv1.OnDeleteDaemonSetStrategyType, 2, 2), want: demand.Rollout{Of: "web", Pods: three}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, noteOrFail(t, tc.object).of.(demand.Workload).Rollout); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
