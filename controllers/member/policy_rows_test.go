package member_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	managedLabel       = "quota.fedquota.io/managed"
	revisionAnnotation = "quota.fedquota.io/revision"
	glassAnnotation    = "quota.fedquota.io/break-glass"
)

// inUse is a managed ResourceQuota at revision 5, of whose 10 pods 8 are used.
func inUse() *quotaBuilder {
	return quota("compute").managed("5").hard("pods", "10", "services", "4").status("pods", "8", "services", "0")
}

func unmanaged() *quotaBuilder { return quota("own").hard("pods", "10").status("pods", "8") }

// released is one that was managed, and says at which revision it was released.
func released(revision string) *quotaBuilder {
	return unmanaged().annotated("quota.fedquota.io/released", revision)
}

// guardRows are what the agent may and may not do.
func guardRows() map[string]row {
	return map[string]row{
		"the agent creates":                                        {by: agent, do: create(quota("compute").managed("1").hard("pods", "10"))},
		"the agent creates without a revision":                     {by: agent, do: create(quota("compute").managed("").hard("pods", "10")), refused: staleRevision},
		"the agent creates with what is no revision":               {by: agent, do: create(quota("compute").managed("abc").hard("pods", "10")), refused: staleRevision},
		"the agent creates with revision 0":                        {by: agent, do: create(quota("compute").managed("0").hard("pods", "10")), refused: staleRevision},
		"the agent creates with a revision below 0":                {by: agent, do: create(quota("compute").managed("-1").hard("pods", "10")), refused: staleRevision},
		"the agent creates with the largest revision":              {by: agent, do: create(quota("compute").managed("9223372036854775807").hard("pods", "10"))},
		"the agent creates with a revision that does not fit":      {by: agent, do: create(quota("compute").managed("9223372036854775808").hard("pods", "10")), refused: staleRevision},
		"the agent creates with a revision of very many digits":    {by: agent, do: create(quota("compute").managed("99999999999999999999999").hard("pods", "10")), refused: staleRevision},
		"the agent enforces more at a higher revision":             {was: inUse(), by: agent, do: enforce("6", "pods", "20", "services", "9")},
		"the agent enforces an enormous limit":                     {was: inUse(), by: agent, do: enforce("6", "pods", "10", "services", "4", "requests.storage", "9000Pi", "limits.memory", "1000000Ei")},
		"the agent enforces less at a higher revision":             {was: inUse(), by: agent, do: enforce("6", "pods", "9", "services", "1")},
		"the agent enforces just what is used":                     {was: inUse(), by: agent, do: enforce("6", "pods", "8", "services", "0")},
		"the agent lowers a limit below what is used":              {was: inUse(), by: agent, do: enforce("6", "pods", "7", "services", "4"), refused: belowUsage},
		"the agent takes a name away at a higher revision":         {was: inUse(), by: agent, do: enforce("6", "pods", "10")},
		"the agent adds a name":                                    {was: inUse(), by: agent, do: enforce("6", "pods", "10", "services", "4", "secrets", "1")},
		"the agent confirms":                                       {was: inUse(), by: agent, do: enforce("6", "pods", "10", "services", "4")},
		"the agent goes back a revision":                           {was: inUse(), by: agent, do: enforce("4", "pods", "10", "services", "4"), refused: staleRevision},
		"the agent takes the revision away":                        {was: inUse(), by: agent, do: unannotate(revisionAnnotation), refused: staleRevision},
		"the agent writes what is no revision":                     {was: inUse(), by: agent, do: enforce("6x", "pods", "10", "services", "4"), refused: staleRevision},
		"the agent raises a limit at the same revision":            {was: inUse(), by: agent, do: enforce("5", "pods", "11", "services", "4"), refused: noRaise},
		"the agent swaps limits at the same revision":              {was: inUse(), by: agent, do: enforce("5", "pods", "9", "services", "5"), refused: noRaise},
		"the agent takes a name away at the same revision":         {was: inUse(), by: agent, do: enforce("5", "pods", "10"), refused: noRaise},
		"the agent lowers at the same revision":                    {was: inUse(), by: agent, do: enforce("5", "pods", "9", "services", "4")},
		"the agent lowers at the same revision below what is used": {was: inUse(), by: agent, do: enforce("5", "pods", "7", "services", "4"), refused: belowUsage},
		"the agent writes back what is there":                      {was: inUse(), by: agent, do: update(nothing)},
		"the agent keeps a limit that is below what is used": {
			was: quota("compute").managed("5").hard("pods", "10").status("pods", "12"), by: agent, do: enforce("6", "pods", "10"),
		},
		"the agent lowers a limit that is below what is used": {
			was: quota("compute").managed("5").hard("pods", "10").status("pods", "12"), by: agent, do: enforce("6", "pods", "9"), refused: belowUsage,
		},
		"the agent raises a limit to less than what is used": {
			was: quota("compute").managed("5").hard("pods", "10").status("pods", "12"), by: agent, do: enforce("6", "pods", "11"),
		},
		"the agent releases with what is used":              {was: inUse(), by: agent, do: release("pods", "8", "services", "0")},
		"the agent releases with the limits that are there": {was: inUse(), by: agent, do: release("pods", "10", "services", "4")},
		"the agent releases below what is used":             {was: inUse(), by: agent, do: release("pods", "7", "services", "4"), refused: belowUsage},
		"the agent raises a limit as it releases":           {was: inUse(), by: agent, do: release("pods", "11", "services", "4"), refused: noRaise},
		"the agent releases with what is used above a limit": {
			was: quota("compute").managed("5").hard("pods", "10").status("pods", "12"), by: agent, do: release("pods", "12"),
		},
		"the agent releases with more than what is used above a limit": {
			was: quota("compute").managed("5").hard("pods", "10").status("pods", "12"), by: agent, do: release("pods", "13"), refused: noRaise,
		},
		"the agent raises a limit to what is used at the same revision": {
			was: quota("compute").managed("5").hard("pods", "10").status("pods", "12"), by: agent, do: enforce("5", "pods", "12"), refused: noRaise,
		},
		"the agent takes a name away as it releases":           {was: inUse(), by: agent, do: release("pods", "10"), refused: noRaise},
		"the agent deletes":                                    {was: inUse(), by: agent, do: remove},
		"the agent takes over":                                 {was: unmanaged(), by: agent, do: enforce("1", "pods", "20"), refused: notItsOwn},
		"the agent takes over without a revision":              {was: released("1"), by: agent, do: label(managedLabel, "true"), refused: staleRevision},
		"the agent takes over and goes below what is used":     {was: released("1"), by: agent, do: enforce("2", "pods", "7"), refused: belowUsage},
		"the agent takes over what was released":               {was: released("4"), by: agent, do: enforce("5", "pods", "20")},
		"the agent takes over what was released later":         {was: released("6"), by: agent, do: enforce("5", "pods", "10"), refused: staleRevision},
		"the agent takes over what was released then":          {was: released("5"), by: agent, do: enforce("5", "pods", "9")},
		"the agent raises what was released then":              {was: released("5"), by: agent, do: enforce("5", "pods", "11"), refused: noRaise},
		"the agent takes over what was released before, once":  {was: released("true"), by: agent, do: enforce("1", "pods", "20")},
		"the agent takes over from somebody's idea of a limit": {was: released("0").annotated(revisionAnnotation, "999"), by: agent, do: enforce("1", "pods", "10")},
		"the agent creates one that it does not manage":        {by: agent, do: create(unmanaged()), refused: notItsOwn},
		"the agent changes one that it does not manage":        {was: unmanaged(), by: agent, do: limit("pods", "99"), refused: notItsOwn},
		"the agent changes one that it released":               {was: released("4"), by: agent, do: limit("pods", "99"), refused: notItsOwn},
		"the agent deletes one that it does not manage":        {was: unmanaged(), by: agent, do: remove, refused: notItsOwn},
		"the agent deletes one that it released":               {was: released("4"), by: agent, do: remove},
		"the agent says what another one uses":                 {was: unmanaged(), by: agent, do: statusPatch(`{"status":{"used":{"pods":"0"}}}`), refused: notItsOwn},
	}
}

// othersRows are what everybody else may and may not do.
func othersRows() map[string]row {
	rows := map[string]row{
		"the namespace controller deletes":                      {was: inUse(), by: namespaceController, do: remove},
		"the namespace controller deletes all":                  {was: inUse(), by: namespaceController, do: removeAll},
		"the controllers' common account deletes":               {was: inUse(), by: "system:kube-controller-manager", do: remove},
		"the namespace controller edits":                        {was: inUse(), by: namespaceController, do: limit("pods", "11"), refused: systemOfRecord},
		"the garbage collector deletes":                         {was: inUse(), by: garbageCollector, do: remove, refused: systemOfRecord},
		"the quota controller edits":                            {was: inUse(), by: quotaController, do: limit("pods", "11"), refused: systemOfRecord},
		"a tenant promotes one with a reason set before":        {was: unmanaged().annotated(glassAnnotation, "why"), by: tenant, do: label(managedLabel, "true"), refused: systemOfRecord},
		"a tenant promotes one with revision and reason":        {was: unmanaged().annotated(glassAnnotation, "why"), by: tenant, do: enforce("9", "pods", "99"), refused: systemOfRecord},
		"a tenant creates one with a reason":                    {by: tenant, do: create(quota("compute").managed("1").annotated(glassAnnotation, "why").hard("pods", "10")), refused: systemOfRecord},
		"a tenant deletes all where nothing is managed":         {was: unmanaged(), by: tenant, do: removeAll},
		"a tenant sets a revision on one that is not managed":   {was: unmanaged(), by: tenant, do: annotate(revisionAnnotation, "abc")},
		"a tenant takes the label off one that is not managed ": {was: unmanaged(), by: tenant, do: unlabel(managedLabel)},
	}
	for who, user := range map[string]string{"an administrator": admin, "a tenant": tenant} {
		for what, r := range map[string]row{
			"creates":                      {do: create(quota("compute").managed("1").hard("pods", "10"))},
			"creates with the label empty": {do: merge(`{"metadata":{"labels":{"quota.fedquota.io/managed":""}}}`), was: unmanaged()},
			"edits a limit":                {was: inUse(), do: limit("pods", "11", "services", "4")},
			"lowers a limit":               {was: inUse(), do: limit("pods", "9", "services", "4")},
			"edits as the agent would":     {was: inUse(), do: enforce("6", "pods", "11", "services", "4")},
			"patches a limit":              {was: inUse(), do: merge(`{"spec":{"hard":{"pods":"11"}}}`)},
			"applies a limit":              {was: inUse(), do: applyLimit},
			"replaces":                     {was: inUse(), do: replace},
			"changes the label":            {was: inUse(), do: label(managedLabel, "false")},
			"takes the label off":          {was: inUse(), do: unlabel(managedLabel)},
			"takes all labels off":         {was: inUse(), do: merge(`{"metadata":{"labels":null}}`)},
			"adds another label of ours":   {was: inUse(), do: label("quota.fedquota.io/team", "a")},
			"takes the revision away":      {was: inUse(), do: unannotate(revisionAnnotation)},
			"writes what is no revision":   {was: inUse(), do: annotate(revisionAnnotation, "abc")},
			"sets the note of a release":   {was: inUse(), do: annotate("quota.fedquota.io/note", "a")},
			"labels it, with a limit":      {was: inUse(), do: merge(`{"metadata":{"labels":{"team":"a"}},"spec":{"hard":{"pods":"11"}}}`)},
			"adds an owner":                {was: inUse(), do: update(own)},
			"adds a finalizer":             {was: inUse(), do: update(finalize)},
			"promotes":                     {was: unmanaged(), do: label(managedLabel, "true")},
			"deletes":                      {was: inUse(), do: remove},
			"deletes all":                  {was: inUse(), do: removeAll},
		} {
			r.by, r.refused = user, systemOfRecord
			rows[who+" "+what] = r
		}
		rows[who+" adds another label"] = row{was: inUse(), by: user, do: label("team", "a")}
		rows[who+" adds another annotation"] = row{was: inUse(), by: user, do: annotate("note", "a")}
		rows[who+" patches nothing"] = row{was: inUse(), by: user, do: update(nothing)}
		rows[who+" writes back what is there"] = row{was: inUse(), by: user, do: put}
		rows[who+" creates one that is not managed"] = row{by: user, do: create(quota("own").hard("pods", "10"))}
		rows[who+" edits one that is not managed"] = row{was: unmanaged(), by: user, do: limit("pods", "1")}
		rows[who+" deletes one that is not managed"] = row{was: unmanaged(), by: user, do: remove}
	}
	return rows
}

// glassRows are the ways to break the glass, and what may be done behind it.
func glassRows() map[string]row {
	const why = "the hub is down and nobody can deploy"
	broken := func() *quotaBuilder { return inUse().brokenGlass(why) }
	both := func(change func(q *corev1.ResourceQuota)) request {
		return update(func(q *corev1.ResourceQuota) {
			metav1.SetMetaDataAnnotation(&q.ObjectMeta, glassAnnotation, why)
			change(q)
		})
	}
	rows := map[string]row{
		"behind broken glass the agent repairs":                        {was: broken(), by: agent, do: enforce("6", "pods", "20", "services", "4")},
		"behind broken glass the agent goes back a revision":           {was: broken(), by: agent, do: enforce("4", "pods", "20", "services", "4"), refused: staleRevision},
		"behind broken glass the agent raises at the same revision":    {was: broken(), by: agent, do: enforce("5", "pods", "20", "services", "4"), refused: noRaise},
		"behind broken glass the agent lowers below what is used":      {was: broken(), by: agent, do: enforce("6", "pods", "7", "services", "4"), refused: belowUsage},
		"behind broken glass the agent deletes, as it was told before": {was: broken(), by: agent, do: remove},
	}
	for who, user := range map[string]string{"an administrator": admin, "a tenant": tenant} {
		for what, r := range map[string]row{
			"states a reason":                           {was: inUse(), do: annotate(glassAnnotation, why)},
			"states a reason by a patch":                {was: inUse(), do: merge(`{"metadata":{"annotations":{"quota.fedquota.io/break-glass":"why"}}}`)},
			"states an empty reason":                    {was: inUse(), do: annotate(glassAnnotation, ""), refused: systemOfRecord},
			"states an empty reason and adds a label":   {was: inUse(), do: merge(`{"metadata":{"labels":{"a":"b"},"annotations":{"quota.fedquota.io/break-glass":""}}}`), refused: systemOfRecord},
			"states a reason of blanks":                 {was: inUse(), do: annotate(glassAnnotation, " \t"), refused: systemOfRecord},
			"states a reason and edits":                 {was: inUse(), do: both(func(q *corev1.ResourceQuota) { q.Spec.Hard = list("pods", "11") }), refused: systemOfRecord},
			"states a reason and takes the label off":   {was: inUse(), do: both(func(q *corev1.ResourceQuota) { q.Labels = nil }), refused: systemOfRecord},
			"states a reason and adds a label":          {was: inUse(), do: both(func(q *corev1.ResourceQuota) { q.Labels["a"] = "b" })},
			"states a reason and drops an annotation":   {was: inUse(), do: both(func(q *corev1.ResourceQuota) { delete(q.Annotations, revisionAnnotation) }), refused: systemOfRecord},
			"states a reason and adds an annotation":    {was: inUse(), do: both(func(q *corev1.ResourceQuota) { q.Annotations["a"] = "b" })},
			"states a reason and changes an annotation": {was: inUse(), do: both(func(q *corev1.ResourceQuota) { q.Annotations[revisionAnnotation] = "6" }), refused: systemOfRecord},
			"states a reason and adds an owner":         {was: inUse(), do: both(own), refused: systemOfRecord},
			"states a reason and adds a finalizer":      {was: inUse(), do: both(finalize), refused: systemOfRecord},
		} {
			r.by = user
			rows[who+" "+what] = r
		}
		for what, r := range map[string]row{
			"edits":                   {do: limit("pods", "1000", "services", "4")},
			"lowers below usage":      {do: limit("pods", "1", "services", "4")},
			"takes the label off":     {do: unlabel(managedLabel), refused: notTheirs},
			"takes all labels off":    {do: merge(`{"metadata":{"labels":null}}`), refused: notTheirs},
			"deletes":                 {do: remove},
			"deletes all":             {do: removeAll},
			"states another reason":   {do: annotate(glassAnnotation, "another")},
			"mends the glass":         {do: unannotate(glassAnnotation)},
			"mends it by an empty":    {do: annotate(glassAnnotation, "")},
			"takes the revision away": {do: unannotate(revisionAnnotation), refused: notTheirs},
			"sets the revision":       {do: annotate(revisionAnnotation, "9223372036854775807"), refused: notTheirs},
			"garbles the revision":    {do: annotate(revisionAnnotation, "abc"), refused: notTheirs},
		} {
			r.was, r.by = broken(), user
			rows["behind broken glass "+who+" "+what] = r
		}
	}
	return rows
}

func own(q *corev1.ResourceQuota) {
	q.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "0"}}
}

func finalize(q *corev1.ResourceQuota) { q.Finalizers = []string{"example.com/never"} }

// applyLimit is kubectl apply --server-side --force-conflicts.
func applyLimit(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
	return c.Apply(ctx, limitConfiguration(q), client.ForceOwnership, client.FieldOwner("kubectl"))
}

// replace is kubectl replace: an object without a resourceVersion, out of a file.
func replace(ctx context.Context, c client.Client, q *corev1.ResourceQuota) error {
	object := quota(q.Name).in(q.Namespace).hard("pods", "11").Obj()
	return c.Update(ctx, object)
}
