package requirement_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/apiserver"
	"github.com/fedquota/fedquota/internal/requirement"
)

const (
	gold  = "gold.storageclass.storage.k8s.io/requests.storage"
	golds = "gold.storageclass.storage.k8s.io/persistentvolumeclaims"
	gpu   = "requests.example.com/gpu"
)

// requirements are those of the rows. Each is about what no other one is about, and what is exempt differs.
const requirements = `
- metadata: {name: services}
  spec:
    exemptNamespaces: {names: [exempt-by-name]}
    matchScopes: [{scopeName: PriorityClass, operator: In, values: [cluster-services, more-services]}]
- metadata: {name: storage}
  spec:
    exemptNamespaces: {selector: {matchLabels: {quota: free}, matchExpressions: [{key: team, operator: NotIn, values: [b]}, {key: odd, operator: DoesNotExist}]}}
    resources: [` + gold + `, ` + golds + `, ` + gpu + `]
- metadata: {name: scopes}
  spec:
    exemptNamespaces: {selector: {matchExpressions: [{key: scopes, operator: DoesNotExist}]}}
    matchScopes:
    - {scopeName: Terminating, operator: Exists}
    - {scopeName: BestEffort, operator: Exists}
    - {scopeName: CrossNamespacePodAffinity, operator: Exists}
    - {scopeName: VolumeAttributesClass, operator: In, values: [fast]}
- metadata: {name: classes}
  spec:
    exemptNamespaces: {selector: {matchExpressions: [{key: classes, operator: NotIn, values: ["yes"]}]}}
    matchScopes: [{scopeName: PriorityClass, operator: NotIn, values: [cluster-services, more-services, plain]}]
- metadata: {name: system}
  spec: {matchScopes: [{scopeName: PriorityClass, operator: In, values: [system-node-critical]}]}
`

const (
	noServices = "insufficient quota to match these scopes: [{PriorityClass In [cluster-services more-services]}]; QuotaRequirement services demands"
	noGold     = "insufficient quota to consume: " + gold + "; QuotaRequirement storage demands"
	noGolds    = "insufficient quota to consume: " + golds
	noGPU      = "insufficient quota to consume: " + gpu
	noDeadline = "insufficient quota to match these scopes: [{Terminating Exists []}]"
	noEffort   = "insufficient quota to match these scopes: [{BestEffort Exists []}]"
	noAffinity = "insufficient quota to match these scopes: [{CrossNamespacePodAffinity Exists []}]"
	noFast     = "insufficient quota to match these scopes: [{VolumeAttributesClass In [fast]}]"
	noClass    = "insufficient quota to match these scopes: [{PriorityClass NotIn [cluster-services more-services plain]}]"
)

// row is a request in a namespace of its own.
type row struct {
	name    string // of the namespace, if it matters
	labels  map[string]string
	covered string
	object  client.Object
	// update, if not nil, is the request; the object is there before.
	update  func(client.Object)
	refused string
}

var rows = map[string]row{
	"a pod of the class, without a quota":                   {object: pod(class("cluster-services")), refused: noServices},
	"another class that is required":                        {object: pod(class("more-services")), refused: noServices},
	"one of another class":                                  {object: pod(class("plain"))},
	"one without a class":                                   {object: pod()},
	"the default class, filled in by the API server":        {labels: map[string]string{"classes": "yes"}, object: pod()},
	"a quota of the class":                                  {covered: "PriorityClass:In:cluster-services", object: pod(class("cluster-services"))},
	"one of several classes":                                {covered: "PriorityClass:In:a,cluster-services,z", object: pod(class("cluster-services"))},
	"the second quota":                                      {covered: "BestEffort; PriorityClass:In:cluster-services", object: pod(class("cluster-services"))},
	"a quota of other classes":                              {covered: "PriorityClass:In:cluster,services,cluster-services-2", object: pod(class("cluster-services")), refused: noServices},
	"a quota of any class":                                  {covered: "PriorityClass", object: pod(class("cluster-services"))},
	"a quota of all but the class":                          {covered: "PriorityClass:NotIn:cluster-services", object: pod(class("cluster-services")), refused: noServices},
	"a quota of all but another class":                      {covered: "PriorityClass:NotIn:plain", object: pod(class("cluster-services"))},
	"a quota of pods without a class":                       {covered: "PriorityClass:DoesNotExist", object: pod(class("cluster-services")), refused: noServices},
	"a quota of another scope":                              {covered: "NotTerminating", object: pod(class("cluster-services")), refused: noServices},
	"a quota of the class, and of pods that it is not":      {covered: "PriorityClass:In:cluster-services Terminating", object: pod(class("cluster-services"))},
	"a text that is none":                                   {covered: "PriorityClass:In", object: pod(class("cluster-services")), refused: noServices},
	"an exempt name":                                        {name: "exempt-by-name", object: pod(class("cluster-services"))},
	"a namespace of Kubernetes":                             {name: "kube-system", object: pod(class("system-node-critical"))},
	"the namespace of the agent":                            {name: "fedquota-system", object: pod(class("cluster-services"))},
	"all but some classes":                                  {labels: map[string]string{"classes": "yes"}, object: pod(class("other")), refused: noClass},
	"all but some classes, and a quota of any":              {labels: map[string]string{"classes": "yes"}, covered: "PriorityClass", object: pod(class("other"))},
	"a claim of the class, without a quota":                 {object: claim("gold"), refused: noGold},
	"a claim of another class":                              {object: claim("silver")},
	"a claim of the class by annotation":                    {object: claimOfNone(annotated("gold")), refused: noGold},
	"a claim of another class by annotation":                {object: claim("gold", annotated("silver"))},
	"a claim of the class by annotation, and its quota":     {covered: golds + " " + gold, object: claimOfNone(annotated("gold"))},
	"a claim without a class":                               {object: claim("")},
	"a quota of the storage, not of the claims":             {covered: gold, object: claim("gold"), refused: noGolds},
	"a quota of both":                                       {covered: golds + " " + gold, object: claim("gold")},
	"quotas of either":                                      {covered: golds + "; " + gold, object: claim("gold")},
	"a quota of both, for some claims":                      {covered: "VolumeAttributesClass:In:fast " + golds + " " + gold, object: claim("gold"), refused: noGold},
	"a quota of both, for claims such as this":              {covered: "VolumeAttributesClass:In:slow " + golds + " " + gold, object: claim("gold", attributes("slow"))},
	"an exempt label":                                       {labels: map[string]string{"quota": "free"}, object: claim("gold")},
	"the exempt label, and one that is not":                 {labels: map[string]string{"quota": "free", "team": "b"}, object: claim("gold"), refused: noGold},
	"the exempt label, and one that must not be there":      {labels: map[string]string{"quota": "free", "odd": ""}, object: claim("gold"), refused: noGold},
	"the label with another value":                          {labels: map[string]string{"quota": "no"}, object: claim("gold"), refused: noGold},
	"a claim that is there":                                 {object: claim("gold"), update: func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }},
	"a claim that grows":                                    {object: claim("gold"), update: func(o client.Object) { storage(o, "2Gi") }, refused: noGold},
	"a claim that grows, with a quota":                      {covered: gold, object: claim("gold"), update: func(o client.Object) { storage(o, "2Gi") }},
	"a claim that is given the default class":               {object: claimOfNone(), update: func(o client.Object) { o.(*corev1.PersistentVolumeClaim).Spec.StorageClassName = new("gold") }, refused: noGold},
	"an extended resource":                                  {object: pod(requests("example.com/gpu", "1")), refused: noGPU},
	"none of an extended resource":                          {object: pod(requests("example.com/gpu", "0"))},
	"an extended resource of an init container":             {object: pod(initRequests("example.com/gpu", "1")), refused: noGPU},
	"another extended resource":                             {object: pod(requests("example.com/fpga", "1"))},
	"a quota of the extended resource":                      {covered: gpu, object: pod(requests("example.com/gpu", "1"))},
	"a quota of it for pods with an end":                    {covered: "Terminating " + gpu, object: pod(requests("example.com/gpu", "1")), refused: noGPU},
	"a quota of it for pods without an end":                 {covered: "NotTerminating " + gpu, object: pod(requests("example.com/gpu", "1"))},
	"a quota of it for pods without an end, as this is not": {covered: "NotTerminating " + gpu, object: pod(requests("example.com/gpu", "1"), ends), refused: noGPU},
	"a quota of it for a class":                             {covered: "PriorityClass:In:plain " + gpu, object: pod(requests("example.com/gpu", "1"), class("plain"))},
	"a quota of it for another class":                       {covered: "PriorityClass:In:plain " + gpu, object: pod(requests("example.com/gpu", "1"), class("other")), refused: noGPU},
	"a pod with an end":                                     {labels: scoped, object: pod(cpu, ends), refused: noDeadline},
	"a pod with an end, and its quota":                      {labels: scoped, covered: "Terminating", object: pod(cpu, ends)},
	"a pod that is given an end":                            {labels: scoped, object: pod(cpu), update: func(o client.Object) { ends(o.(*corev1.Pod)) }, refused: noDeadline},
	"a pod with an end that comes sooner":                   {labels: scoped, object: pod(cpu, ends), update: func(o client.Object) { o.(*corev1.Pod).Spec.ActiveDeadlineSeconds = new(int64(5)) }},
	"a pod that asks for nothing":                           {labels: scoped, object: pod(), refused: noEffort},
	"a pod that asks for nothing, and its quota":            {labels: scoped, covered: "BestEffort", object: pod()},
	"a pod that asks for something":                         {labels: scoped, object: pod(cpu)},
	"a pod near pods of other namespaces":                   {labels: scoped, object: pod(cpu, near(&corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{abroad()}})), refused: noAffinity},
	"a pod rather near pods of other namespaces":            {labels: scoped, object: pod(cpu, near(&corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: abroad()}}})), refused: noAffinity},
	"a pod near pods of its own":                            {labels: scoped, object: pod(cpu, near(&corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}))},
	"a pod apart from pods of other namespaces":             {labels: scoped, object: pod(cpu, apart(abroad())), refused: noAffinity},
	"a pod near pods of other namespaces, and a quota":      {labels: scoped, covered: "CrossNamespacePodAffinity", object: pod(cpu, apart(abroad()))},
	"a claim with attributes":                               {labels: scoped, object: claim("silver", attributes("fast")), refused: noFast},
	"a claim with attributes, and a quota":                  {labels: scoped, covered: "VolumeAttributesClass:In:fast", object: claim("silver", attributes("fast"))},
	"a claim that is given attributes":                      {labels: scoped, object: claim("silver"), update: func(o client.Object) { attributes("fast")(o.(*corev1.PersistentVolumeClaim)) }, refused: noFast},
	"a claim that has them":                                 {labels: scoped, object: claim("silver", attributes("fast")), update: func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }},
}

var scoped = map[string]string{"scopes": "yes"}

func pod(options ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}, {Name: "d", Image: "i"}}},
	}
	for _, option := range options {
		option(p)
	}
	return p
}

func class(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
}

func ends(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(10)) }

func cpu(p *corev1.Pod) { requests("cpu", "1")(p) }

func amounts(name, amount string) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(amount)}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

func requests(name, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[1].Resources = amounts(name, amount) }
}

func initRequests(name, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", Resources: amounts(name, amount)}}
	}
}

func abroad() corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: "zone", Namespaces: []string{"other"}}
}

func near(affinity *corev1.PodAffinity) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{PodAffinity: affinity} }
}

func apart(term corev1.PodAffinityTerm) func(*corev1.Pod) {
	term.Namespaces, term.NamespaceSelector = nil, &metav1.LabelSelector{}
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
}

func claim(class string, options ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := claimOfNone(options...)
	c.Spec.StorageClassName = &class
	return c
}

// claimOfNone returns a claim that is not bound, and has no class yet.
func claimOfNone(options ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
	}
	storage(c, "1Gi")
	for _, option := range options {
		option(c)
	}
	return c
}

// annotated gives a claim its class as it was given before there was the field.
func annotated(class string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: class}
	}
}

func storage(o client.Object, amount string) {
	o.(*corev1.PersistentVolumeClaim).Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(amount)}
}

func attributes(class string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = &class }
}

// start starts an API server, whose plugins refuse nothing of the rows: accounts and resizing are none of their
// business.
func start(t *testing.T) client.Client {
	t.Helper()
	env := apiserver.Start(t, apiserver.Options{Disabled: []string{"ServiceAccount", "PersistentVolumeClaimResize", "DefaultStorageClass"}})
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cluster-services", "more-services", "other"} {
		must(t, c.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1}))
	}
	must(t, c.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, GlobalDefault: true}))
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}))
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-system"}}))
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// enforce applies the policy of the requirements, and waits until the API server follows it.
func enforce(t *testing.T, c client.Client) {
	t.Helper()
	var list []quotav1alpha1.QuotaRequirement
	must(t, yaml.UnmarshalStrict([]byte(requirements), &list))
	must(t, c.Create(t.Context(), requirement.Policy(list, "fedquota-system")))
	must(t, c.Create(t.Context(), requirement.Binding()))
	probe := pod(class("cluster-services"))
	probe.Namespace = "probe"
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return apierrors.IsForbidden(err), nil
	})
	must(t, err)
}

// TestPolicy has a real API server judge requests by the policy of some requirements.
func TestPolicy(t *testing.T) {
	c := start(t)
	// Objects that are there before the requirement.
	created := map[string]client.Object{}
	number := 0
	for name, tc := range rows {
		number++
		created[name] = tc.prepare(t, c, fmt.Sprintf("ns-%d", number))
	}
	enforce(t, c)
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) { tc.check(t, c, created[name]) })
	}
	t.Run("why it has no parameters", func(t *testing.T) { refusesWithoutParameters(t, c) })
}

// refusesWithoutParameters has a policy look for ResourceQuotas of the namespace, and refuse pods of a class where it
// finds none: it refuses all pods there, since no condition is looked at before.
func refusesWithoutParameters(t *testing.T, c client.Client) {
	t.Helper()
	policy, binding := requirement.Policy(nil, "fedquota-system"), requirement.Binding()
	policy.Name, binding.Name, binding.Spec.PolicyName = "parameters", "parameters", "parameters"
	policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ResourceQuota"},
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			},
		}}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "class", Expression: "object.spec.?priorityClassName.orValue('') == 'cluster-services'"}},
		Validations:     []admissionregistrationv1.Validation{{Expression: "true"}},
	}
	binding.Spec.ParamRef = &admissionregistrationv1.ParamRef{
		Selector:                &metav1.LabelSelector{MatchLabels: map[string]string{quotav1alpha1.ManagedLabel: "true"}},
		ParameterNotFoundAction: new(admissionregistrationv1.DenyAction),
	}
	must(t, c.Create(t.Context(), policy))
	must(t, c.Create(t.Context(), binding))
	plain := pod(class("plain"))
	plain.Namespace = "probe"
	var err error
	_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err = c.Create(ctx, plain.DeepCopy(), client.DryRunAll)
		return err != nil, nil
	})
	if err == nil || !strings.Contains(err.Error(), "no params found for policy binding") {
		t.Errorf("a pod of another class: got %v, want a refusal", err)
	}
}

// prepare makes the namespace of a row, and returns the object of its request, which is there for an update.
func (r *row) prepare(t *testing.T, c client.Client, namespace string) client.Object {
	t.Helper()
	object := r.object.DeepCopyObject().(client.Object)
	if r.name != "" {
		namespace = r.name
	}
	object.SetNamespace(namespace)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: r.labels}}
	if r.covered != "" {
		ns.Annotations = map[string]string{quotav1alpha1.CoveredAnnotation: r.covered}
	}
	if err := c.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if r.update != nil {
		must(t, c.Create(t.Context(), object))
		bind(t, c, object)
	}
	return object
}

// bind has a claim be bound, which it has to be to grow.
func bind(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if claim, ok := object.(*corev1.PersistentVolumeClaim); ok && claim.Spec.StorageClassName != nil {
		claim.Status.Phase = corev1.ClaimBound
		must(t, c.Status().Update(t.Context(), claim))
	}
}

func (r *row) check(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	var err error
	if r.update == nil {
		err = c.Create(t.Context(), object, client.DryRunAll)
	} else {
		before := object.DeepCopyObject().(client.Object)
		r.update(object)
		err = c.Patch(t.Context(), object, client.MergeFrom(before), client.DryRunAll)
	}
	switch {
	case r.refused == "" && err != nil:
		t.Errorf("refused: %v", err)
	case r.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), r.refused)):
		t.Errorf("got %v; want a 403 with %q", err, r.refused)
	}
}
