package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QuotaPool is a budget above budgets: that of a team or an organization. Its children are the FederatedQuotas and the
// QuotaPools that name it. Each of them gets a part of it, as clusters get parts of a FederatedQuota, and the parts
// never add up to more than the budget.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=qp,categories=fedquota
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every child has a part of the present budget"
// +kubebuilder:printcolumn:name="Parent",type=string,JSONPath=`.spec.parent`,description="The QuotaPool above"
// +kubebuilder:printcolumn:name="Settled",type=string,JSONPath=`.status.settled`,description="Children that keep to their target / children"
// +kubebuilder:printcolumn:name="Tightest",type=string,JSONPath=`.status.tightest`,description="The resources with the least room: used/budget"
// +kubebuilder:printcolumn:name="Capacity",type=string,priority=1,JSONPath=`.status.capacity.summary`,description="The nodes that the budget was made from"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Namespaces",type=string,priority=1,JSONPath=`.status.namespaces`,description="Namespaces that have a FederatedQuota for the pool / namespaces that spec.namespaces gives it"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since creation"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.status!="True")].message`,description="Why it is not ready"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.parent) || self.spec.parent != self.metadata.name",fieldPath=".spec.parent",message="a pool cannot be above itself: name another QuotaPool, or leave parent out for a root"
type QuotaPool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the budget and how it is split.
	// +required
	Spec QuotaPoolSpec `json:"spec,omitzero"`

	// status says how the budget is split now, and what was used of it a moment ago.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status QuotaPoolStatus `json:"status,omitzero"`
}

// PoolName is the name of a QuotaPool.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type PoolName string

// QuotaPoolSpec is the budget of a pool and how it is split. A list or a map of amounts that is optional and empty
// means what it means to leave it out, and so does an object without fields; but an empty selector selects everything.
//
// +kubebuilder:validation:XValidation:rule="!has(self.reserve) || has(self.capacity) || has(self.hard) && self.reserve.all(name, name in self.hard)",fieldPath=".reserve",message="may only name resources that hard names"
// +kubebuilder:validation:XValidation:rule="!has(self.distribution) || !has(self.distribution.granularity) || has(self.capacity) || has(self.hard) && self.distribution.granularity.all(name, name in self.hard)",fieldPath=".distribution.granularity",message="may only name resources that hard names"
// +kubebuilder:validation:XValidation:rule="self.?hard.orValue({}).size() + self.?capacity.?resources.orValue([]).size() > 0",fieldPath=".hard",message="names no resource: set hard, or the names that follow the nodes in capacity.resources"
type QuotaPoolSpec struct {
	// parent is the QuotaPool that this one gets its budget from. A pool without a parent is a root.
	// +optional
	Parent PoolName `json:"parent,omitempty"`

	// hard is the budget per resource name, as in a ResourceQuota: the most that all FederatedQuotas below the pool may
	// use together. A resource that it does not name is not limited by the pool. It may be left out where
	// capacity.resources names what is limited.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] >= 0 : !self[name].startsWith('-'))",messageExpression="self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0] + ': ' + string(self[self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0]]) + ' is negative: must be 0 or more'"
	// +kubebuilder:validation:XValidation:rule="['pods', 'services', 'services.nodeports', 'services.loadbalancers', 'replicationcontrollers', 'resourcequotas', 'secrets', 'configmaps', 'persistentvolumeclaims'].all(name, !(name in self) || type(self[name]) == int || !self[name].matches('[.]0*[1-9]+$'))",message="counts of objects, such as pods and services, must be whole numbers"
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// reserve is the part of hard that is never handed out.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] >= 0 : !self[name].startsWith('-'))",messageExpression="self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0] + ': ' + string(self[self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0]]) + ' is negative: must be 0 or more'"
	Reserve map[corev1.ResourceName]resource.Quantity `json:"reserve,omitempty"`

	// capacity has the budget follow what the nodes of clusters can run. With hard as well, the smaller counts. Nodes that
	// go lower the budget: what is in use goes on, and nobody is raised until that is paid.
	// +optional
	Capacity *PoolCapacity `json:"capacity,omitempty"`

	// distribution says how the budget is split. Defaults to equal weights without bounds.
	// +optional
	Distribution PoolDistribution `json:"distribution,omitempty,omitzero"`

	// rebalance says how the parts of children move.
	// +optional
	Rebalance Rebalance `json:"rebalance,omitempty,omitzero"`

	// allowedNamespaces says whose FederatedQuotas may name this pool, besides those of the namespaces that namespaces
	// selects. Defaults to those of no namespace.
	// +optional
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces,omitempty,omitzero"`

	// namespaces makes the pool the budget of a tenant of many namespaces: the hub manager keeps a FederatedQuota for the
	// pool in each of them.
	// +optional
	Namespaces TenantNamespaces `json:"namespaces,omitempty,omitzero"`
}

// AllowedNamespaces are namespaces on the hub.
type AllowedNamespaces struct {
	// selector matches namespaces on the hub by their labels. An empty selector matches every namespace; without a
	// selector there is none.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// TenantNamespaces are namespaces on the hub that have their budgets from a pool.
type TenantNamespaces struct {
	// selector matches namespaces on the hub by their labels. An empty selector matches every namespace; without a
	// selector there is none. Kubernetes' own namespaces and that of the agents are never matched. Of several pools that
	// match a namespace, the one has it whose selector demands the most labels (matchLabels, In, Exists), and of those
	// that demand as many, the one whose name comes first. A namespace that has a FederatedQuota without scopes of its own
	// is left as it is.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// template is what the FederatedQuota of each namespace says. What somebody sets there beside it stays.
	// +optional
	Template QuotaTemplate `json:"template,omitempty,omitzero"`
}

// QuotaTemplate is the spec of the FederatedQuotas that are kept for a pool, each field as in FederatedQuotaSpec.
type QuotaTemplate struct {
	// name of each FederatedQuota, and of its ResourceQuotas in members. Defaults to budget. A FederatedQuota that is
	// there keeps its name, also where its namespace comes to another pool.
	// +optional
	Name QuotaName `json:"name,omitempty"`

	// hard is the most that each of the namespaces may use, per resource name. Defaults to hard of the pool: each of them
	// may use all that the others do not.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] >= 0 : !self[name].startsWith('-'))",messageExpression="self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0] + ': ' + string(self[self.filter(name, type(self[name]) == int ? self[name] < 0 : self[name].startsWith('-'))[0]]) + ' is negative: must be 0 or more'"
	// +kubebuilder:validation:XValidation:rule="['pods', 'services', 'services.nodeports', 'services.loadbalancers', 'replicationcontrollers', 'resourcequotas', 'secrets', 'configmaps', 'persistentvolumeclaims'].all(name, !(name in self) || type(self[name]) == int || !self[name].matches('[.]0*[1-9]+$'))",message="counts of objects, such as pods and services, must be whole numbers"
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`

	// placement says which clusters share the budget of each namespace. Defaults to every Cluster. Its
	// whereNamespaceExists defaults to true, unless createNamespace is.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// distribution says how the budget of each namespace is split over clusters.
	// +optional
	Distribution Distribution `json:"distribution,omitempty,omitzero"`

	// rebalance says how limits move.
	// +optional
	Rebalance Rebalance `json:"rebalance,omitempty,omitzero"`

	// admission says what agents do for requests that do not fit.
	// +optional
	Admission Admission `json:"admission,omitempty,omitzero"`

	// existingQuotas says what becomes of ResourceQuotas that a namespace has in a member already.
	// +optional
	ExistingQuotas ExistingQuotas `json:"existingQuotas,omitempty,omitzero"`

	// removal says what becomes of ResourceQuotas in members once a namespace has left the pool and uses nothing any
	// more, or the pool is deleted.
	// +optional
	Removal Removal `json:"removal,omitempty,omitzero"`
}

// PoolDistribution says how the budget of a pool is split.
type PoolDistribution struct {
	// rules set weight, min, max and headroom for the children that they match. Each of them comes from the last rule that
	// matches the child and sets it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Rules []PoolRule `json:"rules,omitempty"`

	// granularity is the step in which the parts of a resource come, such as 4Gi of requests.memory where pods ask for
	// that. Nobody goes without what it needs for that: what is left of the budget beside whole steps serves whoever asks
	// for it. Defaults to a thousandth of cpu, and to 1 of everything else. Each min, max and headroom must be a multiple
	// of it.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] > 0 : !self[name].startsWith('-') && self[name] != '0')",message="must be more than 0"
	Granularity map[corev1.ResourceName]resource.Quantity `json:"granularity,omitempty"`
}

// ChildName names a child of a pool: NAMESPACE/NAME is a FederatedQuota, NAME a QuotaPool.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type ChildName string

// PoolRule sets weight, min, max and headroom for the children that it names; for all of them if it names none.
//
// +kubebuilder:validation:XValidation:rule="!has(self.children) || self.children.size() > 0",fieldPath=".children",message="an empty list would have the rule match every child: name children, or leave the field out"
type PoolRule struct {
	// children are those that the rule matches: NAMESPACE/NAME is a FederatedQuota, NAME a QuotaPool.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	Children []ChildName `json:"children,omitempty"`

	RuleTerms `json:",inline"`
}

// QuotaPoolStatus says how the budget of a pool is split now, and what was used of it a moment ago.
type QuotaPoolStatus struct {
	BudgetStatus `json:",inline"`

	// namespaces is how many of the namespaces that the pool has by spec.namespaces have a FederatedQuota for it, as
	// "kept/selected".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Namespaces string `json:"namespaces,omitempty"`

	// children are those that name the pool, and those that may still hold a part of it.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=2000
	Children []ChildStatus `json:"children,omitempty"`
}

// PoolReference names a QuotaPool.
type PoolReference struct {
	// name of the QuotaPool.
	// +required
	Name PoolName `json:"name,omitempty"`
}

// PoolMembership is what an object is to the pool above it. It is stored together with what the object has granted.
//
// It has one writer, as ClusterStatus has.
//
// +structType=atomic
type PoolMembership struct {
	// name of the QuotaPool that the object is in, or enters. It is left out once the object has left its pool.
	// +optional
	Name PoolName `json:"name,omitempty"`

	// uid is that of the QuotaPool object. Another object of the same name is another pool.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// tenure numbers the joining and leaving of pools: it is higher each time that the object has joined or left one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Tenure int64 `json:"tenure,omitempty"`

	// revision is that of the pool's decision which cap comes from. While it is 0, the object has announced itself, and
	// gets no more than it has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// cap is what the pool gives to the object: the most that it may grant of the resources that the pool limits.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	Cap map[corev1.ResourceName]resource.Quantity `json:"cap,omitempty"`
}

// ChildKey is the kind of a child and its name: FederatedQuota/NAMESPACE/NAME or QuotaPool/NAME.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=332
// +kubebuilder:validation:Pattern=`^(FederatedQuota/[a-z0-9]([-a-z0-9]*[a-z0-9])?|QuotaPool)/[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type ChildKey string

// ChildState sums up how a child stands to its pool.
//
// +kubebuilder:validation:Enum=Unread;Settled;Settling;Draining;Leaving;NotReady
type ChildState string

const (
	// ChildUnread means that what the child holds is not known yet: the ledger of the pool or of the child was lost.
	ChildUnread ChildState = "Unread"
	// ChildSettled means that the child keeps to its target.
	ChildSettled ChildState = "Settled"
	// ChildSettling means that the target is on its way.
	ChildSettling ChildState = "Settling"
	// ChildDraining means that the child uses more than its target; what it holds follows its usage down.
	ChildDraining ChildState = "Draining"
	// ChildLeaving means that the child no longer names the pool, or is being deleted, and gives back what it holds.
	ChildLeaving ChildState = "Leaving"
	// ChildNotReady means that the child cannot take its part: see reason and message.
	ChildNotReady ChildState = "NotReady"
)

// ChildStatus is what a child was granted, and what it says of itself.
//
// It has one writer, as ClusterStatus has.
//
// +structType=atomic
type ChildStatus struct {
	// key of the child: FederatedQuota/NAMESPACE/NAME or QuotaPool/NAME.
	// +required
	Key ChildKey `json:"key,omitempty"`

	// uid is that of the object that this was granted to. Another object of the same name is another child.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// tenure is the status.pool.tenure of the child that this was granted to. With a later one, the child has left.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Tenure int64 `json:"tenure,omitempty"`

	// revision numbers what was decided for the child. 0 while what the child holds is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// granted is the most that the child may have granted in turn, as far as the pool can know. Names that left the budget
	// are in it until the child has dropped them.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	Granted map[corev1.ResourceName]resource.Quantity `json:"granted,omitempty"`

	// target is what the child may have. It is left out while it equals granted.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Target map[corev1.ResourceName]resource.Quantity `json:"target,omitempty"`

	// used is what the child uses.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Used map[corev1.ResourceName]resource.Quantity `json:"used,omitempty"`

	// demand is what the child could use beyond what it uses.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	Demand map[corev1.ResourceName]resource.Quantity `json:"demand,omitempty"`

	// state sums up how the child stands to the pool: Settled (it keeps to its target), Settling (its target is on the
	// way), Draining (it uses more than its target, and gives back as its usage falls), Leaving (it no longer names the
	// pool, and gives back what it holds), Unread (nobody knows yet what it holds), NotReady (it cannot take its part: see
	// reason and message).
	// +optional
	State ChildState `json:"state,omitempty"`

	// since is when the child entered its state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// reason says in one word why the child is NotReady.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message says what holds the child back, if anything does.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// QuotaPoolList is a list of QuotaPool.
//
// +kubebuilder:object:root=true
type QuotaPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of QuotaPool.
	Items []QuotaPool `json:"items"`
}
