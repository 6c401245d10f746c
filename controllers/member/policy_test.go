package member_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	systemOfRecord = "is managed by FederatedQuota"
	staleRevision  = "stale write: revision"
	noRaise        = "stale write: at the same revision no limit goes up"
	belowUsage     = "a limit may not be lowered below what is used"
	notTheirs      = "are the agent's: leave them as they are"
	charged        = "exceeded quota: the limit is being lowered"
	reopened       = "stale write: the limit in force may not be raised above spec.hard"
	outOfForce     = "a limit of spec.hard that is in force may not be taken out of force"
	notItsOwn      = "the agent writes ResourceQuotas that it manages, and no other"
	throughStatus  = "labels and annotations of quota.fedquota.io do not change through the status of a ResourceQuota"
)

// row is one request and what the policies say of it.
type row struct {
	// was is the object of the request as it was before, or nil for a request that creates one.
	was *quotaBuilder
	by  string
	do  request
	// refused is the start of the reason, empty if the request is to be allowed.
	refused string
}

// request is a write of an object, tried without effect.
type request func(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error

// check tries the request of a row.
func (r row) check(t *testing.T, namespace string) {
	t.Helper()
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "compute"}}
	if r.was != nil {
		q = r.was.create(t, namespace)
	}
	if message := r.verdict(t, q); message != "" {
		t.Error(message)
	}
}

// verdict returns in what the API server judges the request otherwise than the row.
func (r row) verdict(t *testing.T, q *corev1.ResourceQuota) string {
	t.Helper()
	got := refusal(t, r.do(t.Context(), client.NewDryRunClient(as(t, r.by)), q.DeepCopy()))
	switch {
	case r.refused == "" && got != "":
		return "refused: " + got
	case r.refused != "" && got == "":
		return "allowed; want: " + r.refused
	case !strings.Contains(got, r.refused):
		return fmt.Sprintf("refused for %q; want: %s", got, r.refused)
	}
	return ""
}

// update is the request that patches the object with a change.
func update(change func(q *corev1.ResourceQuota)) request {
	return func(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
		before := q.DeepCopy()
		change(q)
		return c.Patch(ctx, q, client.MergeFrom(before))
	}
}

// put is the request that writes the whole object back.
func put(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
	return c.Update(ctx, q)
}

// updateStatus is the request that writes the object back through its status after a change.
func updateStatus(change func(q *corev1.ResourceQuota)) request {
	return func(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
		change(q)
		return c.Status().Update(ctx, q)
	}
}

// create is the request that creates an object.
func create(b *quotaBuilder) request {
	return func(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
		object := b.Obj()
		object.Namespace = q.Namespace
		return c.Create(ctx, object)
	}
}

func merge(patch string) request {
	return func(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
		return c.Patch(ctx, q, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

func annotate(key, value string) request {
	return update(func(q *corev1.ResourceQuota) { metav1.SetMetaDataAnnotation(&q.ObjectMeta, key, value) })
}

func unannotate(key string) request {
	return update(func(q *corev1.ResourceQuota) { delete(q.Annotations, key) })
}

func label(key, value string) request {
	return update(func(q *corev1.ResourceQuota) { metav1.SetMetaDataLabel(&q.ObjectMeta, key, value) })
}

func unlabel(key string) request {
	return update(func(q *corev1.ResourceQuota) { delete(q.Labels, key) })
}

func limit(pairs ...string) request {
	return update(func(q *corev1.ResourceQuota) { q.Spec.Hard = list(pairs...) })
}

// enforce is what the agent does: limit and revision at once.
func enforce(revision string, pairs ...string) request {
	return update(func(q *corev1.ResourceQuota) {
		metav1.SetMetaDataAnnotation(&q.ObjectMeta, "quota.fedquota.io/revision", revision)
		metav1.SetMetaDataLabel(&q.ObjectMeta, "quota.fedquota.io/managed", "true")
		q.Spec.Hard = list(pairs...)
	})
}

// release is what the agent does last: label and revision go, and the limits change.
func release(pairs ...string) request {
	return update(func(q *corev1.ResourceQuota) {
		delete(q.Labels, "quota.fedquota.io/managed")
		delete(q.Annotations, "quota.fedquota.io/revision")
		q.Spec.Hard = list(pairs...)
	})
}

func remove(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
	return c.Delete(ctx, q)
}

func removeAll(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
	return c.DeleteAllOf(ctx, &corev1.ResourceQuota{}, client.InNamespace(q.Namespace))
}

func nothing(*corev1.ResourceQuota) {}

func TestPolicies(t *testing.T) {
	for name, r := range allRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.check(t, newNamespace(t))
		})
	}
}

func allRows() map[string]row {
	rows := guardRows()
	for _, more := range []map[string]row{othersRows(), glassRows(), fenceRows()} {
		maps.Copy(rows, more)
	}
	return rows
}

// TestRefusalSaysWhatToDo shows the whole message, as somebody sees it who asks with kubectl.
func TestRefusalSaysWhatToDo(t *testing.T) {
	namespace := newNamespace(t)
	q := quota("compute").managed("1").hard("pods", "10").create(t, namespace)
	instead := fmt.Sprintf("ResourceQuota %[1]s/compute is managed by FederatedQuota %[1]s/compute on the hub: change that instead. ", namespace)
	restored := "The agent creates the ResourceQuota itself, so it needs no restore from a backup."
	glass := "In mode Auto the limit rises by itself for what does not fit, so no controller needs to raise it. " +
		fmt.Sprintf(`To break glass, first run: kubectl annotate resourcequota -n %s compute quota.fedquota.io/break-glass="<reason>"`, namespace)
	for name, tc := range map[string]struct {
		do   request
		want string
	}{
		"create":           {create(quota("compute").managed("1").hard("pods", "10")), restored},
		"update":           {limit("pods", "11"), glass},
		"delete":           {remove, glass},
		"deletecollection": {removeAll, glass},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refusal(t, tc.do(t.Context(), client.NewDryRunClient(as(t, admin)), q.DeepCopy())); got != instead+tc.want {
				t.Errorf("got:  %s\nwant: %s", got, instead+tc.want)
			}
		})
	}
}

// TestEveryRuleCounts takes each rule out in turn: the row that is named for it is then judged otherwise.
func TestEveryRuleCounts(t *testing.T) {
	rows := allRows()
	c, namespace := as(t, admin), ""
	for policy, named := range map[string][]string{
		"fedquota-guard": {
			"an administrator edits a limit",
			"behind broken glass a tenant sets the revision",
			"the agent goes back a revision",
			"the agent raises a limit at the same revision",
			"the agent lowers a limit below what is used",
		},
		"fedquota-fence": {
			"a charge above a limit that was lowered",
			"anyone brings the limit in force above the limit",
			"a tenant takes a limit out of force",
			"a tenant takes the label off through the status",
		},
	} {
		var whole admissionregistrationv1.ValidatingAdmissionPolicy
		must(t, c.Get(t.Context(), client.ObjectKey{Name: policy}, &whole))
		if rules := len(whole.Spec.Validations); rules != len(named) {
			t.Fatalf("%s has %d rules, and %d rows are named for them", policy, rules, len(named))
		}
		for i, name := range named {
			t.Run(policy+" without the rule of: "+name, func(t *testing.T) {
				namespace = newNamespace(t)
				r := rows[name]
				if r.refused == "" {
					t.Fatal("there is no such row, or it is one that is allowed")
				}
				q := r.was.create(t, namespace)
				setRules(t, policy, slices.Delete(slices.Clone(whole.Spec.Validations), i, i+1))
				allowed := row{by: r.by, do: r.do}
				eventually(t, func(context.Context) string { return allowed.verdict(t, q) })
				setRules(t, policy, whole.Spec.Validations)
				eventually(t, func(context.Context) string { return r.verdict(t, q) })
			})
		}
	}
}

func setRules(t *testing.T, policy string, rules []admissionregistrationv1.Validation) {
	t.Helper()
	c, object := as(t, admin), &admissionregistrationv1.ValidatingAdmissionPolicy{}
	must(t, c.Get(t.Context(), client.ObjectKey{Name: policy}, object))
	object.Spec.Validations = rules
	must(t, c.Update(t.Context(), object))
}

// TestReinstall takes guard and fence out of a member and puts them back: they are in force again, and nothing was
// lost.
func TestReinstall(t *testing.T) {
	c, namespace := as(t, admin), newNamespace(t)
	q := quota("compute").managed("1").hard("pods", "10").status("pods", "8").create(t, namespace)
	for name, r := range map[string]row{
		"fedquota-guard": {do: limit("pods", "11"), refused: systemOfRecord},
		"fedquota-fence": {by: apiServer, do: updateStatus(func(q *corev1.ResourceQuota) { q.Status.Used = list("pods", "11") }), refused: charged},
	} {
		t.Run(name, func(t *testing.T) {
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			must(t, c.Get(t.Context(), client.ObjectKey{Name: name}, policy))
			restore := unbind(t, name)
			must(t, c.Delete(t.Context(), policy))
			eventually(t, func(context.Context) string { return row{by: r.by, do: r.do}.verdict(t, q) })
			policy.ResourceVersion, policy.UID = "", ""
			must(t, c.Create(t.Context(), policy))
			restore()
			eventually(t, func(context.Context) string { return r.verdict(t, q) })
			if message := (row{by: agent, do: enforce("2", "pods", "11")}).verdict(t, q); message != "" {
				t.Errorf("the agent: %s", message)
			}
		})
	}
}

// TestRelic shows that what is no revision does not lock out the agent for ever.
func TestRelic(t *testing.T) {
	q := relic()
	must(t, as(t, admin).Get(t.Context(), client.ObjectKeyFromObject(q), q))
	for name, r := range map[string]row{
		"the agent writes over it":          {by: agent, do: enforce("1", "pods", "11")},
		"the agent leaves it":               {by: agent, do: limit("pods", "9"), refused: staleRevision},
		"an administrator edits it":         {do: limit("pods", "11"), refused: systemOfRecord},
		"an administrator breaks the glass": {do: annotate("quota.fedquota.io/break-glass", "why")},
		"the namespace controller deletes":  {by: namespaceController, do: remove},
	} {
		if message := r.verdict(t, q); message != "" {
			t.Errorf("%s: %s", name, message)
		}
	}
}

func statusPatch(patch string) request {
	return func(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
		return c.Status().Patch(ctx, q, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}
