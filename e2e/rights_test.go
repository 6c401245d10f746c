//go:build e2e

package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/e2e/system"
	"github.com/fedquota/fedquota/internal/bundle"
)

// accountPrefix begins the names of the users that the managers are.
const accountPrefix = "system:serviceaccount:fedquota-system:"

// seldom is what the recorder of events does when it has the same to tell again of an object that has not changed
// since. Without the right that event would be lost.
const seldom = "patch events.events.k8s.io"

// keyUser is the user of the members' kubeconfig Secrets, and hubAgent what the hub manager calls itself.
const (
	keyUser  = "kubernetes-admin"
	hubAgent = "fedquota-hub"
)

// auditPolicy writes down the requests of the managers' accounts, and of the user that members' kubeconfig Secrets are
// for.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: ["` + accountPrefix + `fedquota-hub", "` + accountPrefix + `fedquota-agent", ` + keyUser + `]}
- {level: None}
`

// TestLeastPrivilege has the managers do all that they do, by the tokens of their accounts, and reads in the audit logs
// of all API servers whether they were refused a request, and which of the rights that config/rbac gives them nothing
// has used.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	policy := filepath.Join(logs, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	audited := func(name string) []string {
		return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + filepath.Join(logs, name+".log")}
	}
	options := fleet.Options{Hub: fleet.ControlPlaneOptions{APIServerArgs: audited(fleet.HubName)}, Members: threeMembers()}
	for i := range options.Members {
		options.Members[i].APIServerArgs = audited(options.Members[i].Name)
	}
	// API servers before Kubernetes 1.34 do not stream lists by default: clients list there, and then watch.
	for _, c := range []*fleet.ControlPlaneOptions{&options.Hub, &options.Members[0]} {
		c.APIServerArgs = append(c.APIServerArgs, "--feature-gates=WatchList=false")
	}
	options.CRDPaths = []string{filepath.Join("system", "clusterprofiles.yaml")}
	w := startWorld(t, "rights", system.Options{Fleet: options, ScaleOut: true, HubArgs: []string{"--install-agents=true", "--agent-image=fedquota/manager:e2e", "--record-interval=1s"}})
	s := newScenario(t, w, "team-a", budget("30", "60"))
	s.exercise()

	atHub, atMembers, refused := map[string][]auditv1.Event{}, map[string][]auditv1.Event{}, map[string]int{}
	for _, name := range append([]string{fleet.HubName}, s.names()...) {
		events, err := readAudit(filepath.Join(logs, name+".log"))
		s.must(err)
		requests := atMembers
		if name == fleet.HubName {
			requests = atHub
		}
		for _, e := range events {
			if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
				refused[e.User.Username]++
				s.Errorf("%s: %s was refused: %s %s", name, e.User.Username, e.Verb, e.RequestURI)
			}
			requests[e.User.Username] = append(requests[e.User.Username], e)
		}
	}
	table := &system.Table{}
	table.Row("account", "where", "requests", "refused", "rules of its roles", "rights that nothing used")
	for _, part := range []struct {
		roles          []string
		account, where string
		requests       map[string][]auditv1.Event
	}{
		{[]string{"hub", "hub-scaleout"}, "fedquota-hub", "on the hub", atHub},
		{[]string{"hub-in-member", "hub-scaleout-in-member"}, "fedquota-hub", "in members", atMembers},
		{[]string{"agent"}, "fedquota-agent", "in members", atMembers},
	} {
		user := accountPrefix + part.account
		rules, unused := s.uses(part.roles, part.requests[user])
		table.Row(part.account, part.where, len(part.requests[user]), refused[user], rules, cmp.Or(strings.Join(unused, ", "), "none"))
	}
	s.must(table.Write("..", "rights"))
	s.bootstraps(atMembers[keyUser])
}

// uses demands that each right of a manager's roles was used, and returns how many rules these have, and the rights that
// need not be used.
func (s *scenario) uses(roles []string, events []auditv1.Event) (count int, seldomUsed []string) {
	s.Helper()
	var rules []rbacv1.PolicyRule
	for _, role := range roles {
		more, err := readRules(filepath.Join("..", "config", "rbac", role))
		s.must(err)
		rules = append(rules, more...)
	}
	s.Logf("%v: %d requests, %d rules", roles, len(events), len(rules))
	for _, unused := range unusedRights(rules, events) {
		if unused != seldom {
			s.Errorf("nobody used the right of %v to %s", roles, unused)
		}
		seldomUsed = append(seldomUsed, unused)
	}
	return len(rules), seldomUsed
}

// bootstraps demands that the hub manager does with members' kubeconfig Secrets nothing but to get tokens, and to
// install.
func (s *scenario) bootstraps(events []auditv1.Event) {
	s.Helper()
	done := map[string]int{}
	for _, e := range events {
		if e.UserAgent != hubAgent {
			continue // the test itself
		}
		ref := ptr.Deref(e.ObjectRef, auditv1.ObjectReference{})
		switch {
		case ref.Subresource == "token" && ref.Name == "fedquota-hub":
			done["token"]++
		case e.Verb == "patch" && strings.Contains(e.RequestURI, "fieldManager=fedquota-install"):
			done["install"]++
		case ref.Resource == "" && e.Verb == "get": // which kinds there are, to install
			done["discovery"]++
		default:
			s.Errorf("the hub used a kubeconfig Secret to %s %s", e.Verb, e.RequestURI)
		}
	}
	s.Logf("with kubeconfig Secrets: %v", done)
	if done["token"] == 0 || done["install"] == 0 {
		s.Error("the hub never used a kubeconfig Secret for a token, or to install")
	}
}

// exercise has the managers do all that they do.
func (s *scenario) exercise() {
	s.Helper()
	s.create(budget("30", "60"), following, func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Removal.Policy = quotav1alpha1.RemovalDelete })
	s.rest("no demand yet")
	s.scraped()
	s.joins()
	s.requires()
	s.pools()
	s.growsNoMore(east)
	s.addsANode(east)
	s.claims(east)
	s.repeats(east)
	old := &quotav1alpha1.QuotaRecord{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name + "-2020-01"}}
	s.must(s.hub.Create(s.Context(), old))
	s.electedHub(1)
	s.gone(old)
	s.pairIn(north)
	s.pokes(east)
	s.losesCertificate(s.member(west), "fedquota-webhook-cert", s.Agents[west])
	s.losesCertificate(s.hub, "fedquota-hub-webhook-cert", s.HubManager)
	fq := newQuota(s.key, nil)
	s.must(s.hub.Delete(s.Context(), fq))
	s.gone(fq)
}

// gone waits until an object of the hub is removed.
func (s *scenario) gone(object client.Object) {
	s.Helper()
	s.eventually(object.GetName()+" to be removed", func(ctx context.Context) error {
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// joins has the hub manager make a Cluster of a Secret, and takes both away again.
func (s *scenario) joins() {
	s.Helper()
	way, about := &corev1.Secret{}, metav1.ObjectMeta{Namespace: "default", Name: "joined-kubeconfig"}
	s.must(s.hub.Get(s.Context(), client.ObjectKey{Namespace: about.Namespace, Name: east + "-kubeconfig"}, way))
	about.Labels = map[string]string{clusterv1.ClusterNameLabel: "joined", quotav1alpha1.JoinLabel: "true"}
	secret := &corev1.Secret{ObjectMeta: about, Type: way.Type, Data: map[string][]byte{
		"value": []byte(strings.ReplaceAll(string(way.Data["value"]), "server: https://", "server: https://127.0.0.1:1/")), // or east would be there twice
	}}
	s.must(s.hub.Create(s.Context(), secret))
	cluster := &clusterv1.Cluster{}
	s.eventually("the Cluster of a Secret", func(ctx context.Context) error {
		err := s.hub.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: "joined"}, cluster)
		if err == nil && !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
			err = errors.New("the hub does not connect to it")
		}
		return err
	})
	s.must(s.hub.Delete(s.Context(), secret))
	s.must(s.hub.Delete(s.Context(), cluster))
}

// pools has the budget enter a pool, and leave it again.
func (s *scenario) pools() {
	s.Helper()
	pool := newPool("research", budget("30", "60"))
	removes := s.withPool(s.T, pool)
	s.enters(pool.Name)
	s.leaves()
	removes()
	s.tenant()
}

// growsNoMore says of a member that it gets no more nodes, and waits until the hub has noted that, and that it may again.
func (s *scenario) growsNoMore(member string) {
	s.Helper()
	cluster := &clusterv1.Cluster{}
	key := client.ObjectKey{Namespace: "default", Name: member}
	for _, annotation := range []string{"none", ""} {
		s.must(s.hub.Get(s.Context(), key, cluster))
		stored := cluster.DeepCopy()
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, quotav1alpha1.GrowthAnnotation, annotation)
		s.must(s.hub.Patch(s.Context(), cluster, client.MergeFrom(stored)))
		s.eventually("the hub to note that no node comes", func(ctx context.Context) error {
			report := &quotav1alpha1.ClusterCapacity{}
			err := s.hub.Get(ctx, key, report)
			if err == nil && (report.Growth != nil) != (annotation != "") {
				err = fmt.Errorf("it says %+v", report.Growth)
			}
			return err
		})
	}
}

// addsANode has a pod ask for what no node of a member has, until a MachineDeployment is scaled for it. The member
// serves what bounds nodes there.
func (s *scenario) addsANode(member string) {
	s.Helper()
	crd, err := os.ReadFile(filepath.Join("..", "controllers", "hub", "scaleout", "testdata", "capacityquotas.yaml"))
	s.must(err)
	objects, err := bundle.Decode(crd)
	s.must(err)
	for _, object := range objects {
		s.must(s.member(member).Create(s.Context(), object))
	}
	machines := s.brings(member)
	stored := machines.DeepCopy()
	machines.Annotations[quotav1alpha1.ScaleOutAnnotation] = "true"
	s.must(s.hub.Patch(s.Context(), machines, client.MergeFrom(stored)))
	grows := newQuota(client.ObjectKey{Namespace: "grows", Name: quotaName}, corev1.ResourceList{cpu: resource.MustParse("8")})
	grows.Spec.Placement = quotav1alpha1.Placement{Clusters: []quotav1alpha1.ClusterName{quotav1alpha1.ClusterName(member)}, CreateNamespace: new(true)}
	grows.Spec.Distribution, grows.Spec.Rebalance.Mode = quotav1alpha1.Distribution{}, quotav1alpha1.RebalanceAuto
	grows.Spec.Capacity = &quotav1alpha1.Capacity{ScaleOut: &quotav1alpha1.ScaleOut{MachineDeploymentSelector: &metav1.LabelSelector{}}}
	s.must(s.hub.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: grows.Namespace}}))
	s.must(s.hub.Create(s.Context(), grows))
	s.eventually("a MachineDeployment to be scaled", func(ctx context.Context) error {
		refusal := s.member(member).Create(ctx, newPod(grows.Namespace, "more", "1"))
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(machines), machines); err != nil {
			return err
		}
		if replicas := *machines.Spec.Replicas; replicas == 1 {
			err := s.hub.Get(ctx, client.ObjectKeyFromObject(grows), grows)
			return errors.Join(fmt.Errorf("it has %d replicas, told is %+v, and a pod gets %w", replicas, grows.Status.ScaleOut, refusal), err)
		}
		return nil
	})
	for _, object := range []client.Object{grows, machines} {
		s.must(s.hub.Delete(s.Context(), object))
		s.gone(object)
	}
}

// tenant has a pool keep the FederatedQuota of a namespace, and let it go.
func (s *scenario) tenant() {
	s.Helper()
	pool := newTenant("tenant", "tenant", budget("3", "6"))
	pool.Spec.Namespaces.Template.Placement.CreateNamespace = nil
	removes := s.withPool(s.T, pool)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-b", Labels: map[string]string{teamLabel: "tenant"}}}
	s.must(s.hub.Create(s.Context(), namespace))
	kept := client.ObjectKey{Namespace: namespace.Name, Name: quotaName}
	s.eventually("the FederatedQuota of a tenant", func(ctx context.Context) error {
		fq := &quotav1alpha1.FederatedQuota{}
		err := s.hub.Get(ctx, kept, fq)
		if err == nil && !apimeta.IsStatusConditionTrue(fq.Status.Conditions, quotav1alpha1.ConditionReady) {
			err = errors.New("it is not ready, where no member has its namespace")
		}
		return err
	})
	s.must(s.member(north).Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name}}))
	s.eventually("the limit of a namespace that is new in a member", func(ctx context.Context) error {
		return s.member(north).Get(ctx, kept, &corev1.ResourceQuota{})
	})
	removes()
}

// requires has a QuotaRequirement enforced, healed, and removed, and a namespace be covered.
func (s *scenario) requires() {
	s.Helper()
	required := &quotav1alpha1.QuotaRequirement{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: quotav1alpha1.QuotaRequirementSpec{
		ClusterSelector: &metav1.LabelSelector{}, Resources: []quotav1alpha1.RequiredResource{"requests.example.com/gpu"},
	}}
	s.must(s.hub.Create(s.Context(), required))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "fedquota-requirement"}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta}
	s.eventually("the requirement to be enforced", func(ctx context.Context) error {
		err := s.hub.Get(ctx, client.ObjectKeyFromObject(required), required)
		if err == nil && !apimeta.IsStatusConditionTrue(required.Status.Conditions, quotav1alpha1.ConditionReady) {
			err = fmt.Errorf("status %+v", required.Status)
		}
		return err
	})
	for _, object := range []client.Object{policy, binding} {
		s.must(s.member(east).Get(s.Context(), client.ObjectKeyFromObject(policy), object))
	}
	policy.Spec.Validations[0].Expression, binding.Spec.ValidationActions = "true", []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
	s.must(errors.Join(s.member(east).Update(s.Context(), policy), s.member(east).Update(s.Context(), binding)))
	s.eventually("the policy to be healed", func(ctx context.Context) error {
		err := errors.Join(s.member(east).Get(ctx, client.ObjectKeyFromObject(policy), policy), s.member(east).Get(ctx, client.ObjectKeyFromObject(binding), binding))
		if err == nil && (policy.Spec.Validations[0].Expression == "true" || binding.Spec.ValidationActions[0] != admissionregistrationv1.Deny) {
			err = errors.New("it is as somebody has changed it")
		}
		return err
	})
	s.covers(east)
	s.must(s.hub.Delete(s.Context(), required))
	s.eventually("the requirement to be removed", func(ctx context.Context) error {
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(required), required); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// claims has devices claimed in a member, of which the agent has to know what extended resource they stand for.
func (s *scenario) claims(member string) {
	s.Helper()
	const name = "requests.example.com/mapped"
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard[name] = resource.MustParse("5") })
	s.must(s.member(member).Create(s.Context(), &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "mapped"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/mapped")},
	}))
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "many"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "many", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "mapped", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 9},
		}}}},
	}
	s.eventually("the agent to refuse a claim", func(ctx context.Context) error {
		err := s.member(member).Create(ctx, claim.DeepCopy(), client.DryRunAll)
		if !apierrors.IsForbidden(err) || !containsAll(err.Error(), []string{"requested: " + name + "=9", "; fleet: used"}) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	s.change(func(fq *quotav1alpha1.FederatedQuota) { delete(fq.Spec.Hard, name) })
}

// repeats has somebody create an object again and again in a member: native quota charges it once.
func (s *scenario) repeats(member string) {
	s.Helper()
	const name = "persistentvolumeclaims"
	s.change(func(fq *quotav1alpha1.FederatedQuota) { fq.Spec.Hard[name] = resource.MustParse("9") })
	claim := s.claim("again", "1Gi")
	s.eventually("the agent to say that a claim is there", func(ctx context.Context) error {
		err := s.member(member).Create(ctx, claim.DeepCopy())
		if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "denied the request") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	before, err := s.quota(s.Context(), member)
	s.must(err)
	for range 5 {
		if err := s.member(member).Create(s.Context(), claim.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			s.Errorf("got %v", err)
		}
	}
	after, err := s.quota(s.Context(), member)
	s.must(err)
	if used, more := before.Status.Used[name], after.Status.Used[name]; more.Cmp(used) > 0 {
		s.Errorf("%s %s are used, and then %s", used.String(), name, more.String())
	}
	s.must(s.member(member).Delete(s.Context(), claim))
	s.change(func(fq *quotav1alpha1.FederatedQuota) { delete(fq.Spec.Hard, name) })
}

// covers has a budget of a priority class cover the namespace in a member for a while.
func (s *scenario) covers(member string) {
	s.Helper()
	classes := newQuota(client.ObjectKey{Namespace: s.key.Namespace, Name: "classes"}, corev1.ResourceList{pods: resource.MustParse("3")})
	classes.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
		ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"cluster-services"},
	}}}
	classes.Spec.Removal.Policy = quotav1alpha1.RemovalDelete
	s.must(s.hub.Create(s.Context(), classes))
	says := func(want string) {
		s.eventually("the note of what is covered", func(ctx context.Context) error {
			namespace := &corev1.Namespace{}
			err := s.member(member).Get(ctx, client.ObjectKey{Name: s.key.Namespace}, namespace)
			if got := namespace.Annotations[quotav1alpha1.CoveredAnnotation]; err == nil && got != want {
				err = fmt.Errorf("it is %q, want %q", got, want)
			}
			return err
		})
	}
	says("PriorityClass:In:cluster-services")
	s.must(s.hub.Delete(s.Context(), classes))
	says("")
}

// pokes has workloads of all kinds refused, until each kind was woken once there was room. One that tries again by
// itself just then needs nobody to wake it. Each has a name of its own: the controller of DaemonSets may wait for minutes
// for what one of that name had expected.
func (s *scenario) pokes(member string) {
	s.Helper()
	s.namespaceIn(member)
	s.must(s.member(member).Create(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}})) // for the DaemonSet
	kinds := []string{"set", "stateful", "job", "replication", "daemon"}
	for try := 0; len(kinds) > 0; try++ {
		s.fill(west, "all", 29, "1")
		workloads := map[string]client.Object{}
		for _, kind := range kinds {
			workloads[kind] = s.workload(kind, fmt.Sprintf("%s-%d", kind, try))
		}
		kinds = s.neverWoken(member, workloads)
	}
}

// workload returns one of a kind, of a pod that asks for 4 cpus.
func (s *scenario) workload(kind, name string) client.Object {
	template := func(policy corev1.RestartPolicy) corev1.PodTemplateSpec {
		pod := newPod("", "", "4")
		pod.Spec.RestartPolicy = policy
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{loadLabel: "true", "app": name}}, Spec: pod.Spec}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	about := metav1.ObjectMeta{Namespace: s.key.Namespace, Name: name}
	always := template(corev1.RestartPolicyAlways)
	switch kind {
	case "set":
		return &appsv1.ReplicaSet{ObjectMeta: about, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: selector, Template: always}}
	case "stateful":
		return &appsv1.StatefulSet{ObjectMeta: about, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)), Selector: selector, Template: always}}
	case "daemon":
		// A node without a kubelet is given taints after a minute.
		always.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		return &appsv1.DaemonSet{ObjectMeta: about, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: always}}
	case "replication":
		return &corev1.ReplicationController{ObjectMeta: about, Spec: corev1.ReplicationControllerSpec{
			Replicas: new(int32(1)), Selector: selector.MatchLabels, Template: &always,
		}}
	default:
		return &batchv1.Job{ObjectMeta: about, Spec: batchv1.JobSpec{Template: template(corev1.RestartPolicyNever)}}
	}
}

// neverWoken has workloads refused while west holds the whole budget, lets them have it, and takes them away. It returns
// the kinds of those that got their pod without being woken.
func (s *scenario) neverWoken(member string, workloads map[string]client.Object) (kinds []string) {
	s.Helper()
	for _, workload := range workloads {
		before := s.refusals(member, workload.GetName())
		s.must(s.member(member).Create(s.Context(), workload))
		s.eventually("a refusal of "+workload.GetName(), func(context.Context) error {
			if s.refusals(member, workload.GetName()) == before {
				return errors.New("nothing was refused")
			}
			return nil
		})
	}
	s.drain(west, "all")
	for kind, workload := range workloads {
		s.eventually("a pod of "+workload.GetName(), func(ctx context.Context) error {
			var list corev1.PodList
			err := s.member(member).List(ctx, &list, client.InNamespace(s.key.Namespace))
			owned := func(pod corev1.Pod) bool { return metav1.IsControlledBy(&pod, workload) }
			if err == nil && !slices.ContainsFunc(list.Items, owned) {
				err = errors.New("there is none")
			}
			return err
		})
		s.must(s.member(member).Get(s.Context(), client.ObjectKeyFromObject(workload), workload))
		if workload.GetAnnotations()[quotav1alpha1.PokedAnnotation] == "" {
			kinds = append(kinds, kind)
		}
		s.must(s.member(member).Delete(s.Context(), workload, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	}
	for _, workload := range workloads {
		s.eventually(workload.GetName()+" to be gone", func(ctx context.Context) error {
			if err := s.member(member).Get(ctx, client.ObjectKeyFromObject(workload), workload); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
	}
	return kinds
}

// losesCertificate spoils the certificate of the webhook of a manager, which then makes another one.
func (s *scenario) losesCertificate(c client.Client, name string, manager *fleet.Process) {
	s.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "fedquota-system", Name: name}
	s.must(c.Get(s.Context(), key, secret))
	for name := range secret.Data {
		secret.Data[name] = []byte("spoilt")
	}
	s.must(c.Update(s.Context(), secret))
	s.must(manager.Kill())
	s.must(manager.Restart(s.Context()))
	s.eventually("another certificate", func(ctx context.Context) error {
		err := c.Get(ctx, key, secret)
		if err == nil && string(secret.Data[corev1.TLSCertKey]) == "spoilt" {
			err = errors.New("it is the spoilt one")
		}
		return err
	})
}

// readAudit returns the events of an audit log.
func readAudit(path string) ([]auditv1.Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var events []auditv1.Event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, lines.Err()
}

// readRules returns the rules of a manager's roles in a folder: those that are bound to nobody are for people.
func readRules(folder string) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for _, name := range []string{"role.yaml", "leader_election_role.yaml"} {
		file, err := os.Open(filepath.Join(folder, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was only read
		decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
		for {
			var role rbacv1.Role
			if err := decoder.Decode(&role); err != nil {
				break
			}
			rules = append(rules, role.Rules...)
		}
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("%s has no rules", folder)
	}
	return rules, nil
}

// unusedRights returns the rights that no request has used.
func unusedRights(rules []rbacv1.PolicyRule, requests []auditv1.Event) []string {
	used := sets.New[string]()
	for _, r := range requests {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		used.Insert(r.Verb + " " + path)
		if ref := r.ObjectRef; ref != nil {
			resource := ref.Resource
			if ref.Subresource != "" {
				resource += "/" + ref.Subresource
			}
			verbs := []string{r.Verb}
			if r.Verb == "patch" && ptr.Deref(r.ResponseStatus, metav1.Status{}).Code == http.StatusCreated {
				verbs = append(verbs, "create") // an apply that makes an object takes both
			}
			for _, verb := range verbs {
				for _, name := range []string{"", ref.Name} {
					used.Insert(right(verb, ref.APIGroup, resource, name))
				}
			}
		}
	}
	var unused []string
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				if want := verb + " " + path; !used.Has(want) {
					unused = append(unused, want)
				}
			}
			for _, resource := range rule.Resources {
				// A list or a watch of one object names it in a field selector, and not in the request's path.
				names := rule.ResourceNames
				if len(names) == 0 || verb == "list" || verb == "watch" || verb == "create" {
					names = []string{""}
				}
				for _, name := range names {
					if want := right(verb, rule.APIGroups[0], resource, name); !used.Has(want) {
						unused = append(unused, want)
					}
				}
			}
		}
	}
	return unused
}

func right(verb, group, resource, name string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", verb, resource, group, name))
}
