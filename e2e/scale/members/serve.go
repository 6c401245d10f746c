package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

const (
	sharesPath = "/apis/quota.fedquota.io/v1alpha1/"
	leasesPath = "/apis/coordination.k8s.io/v1/"
	corePath   = "/api/v1/"
)

// ServeHTTP answers as an API server does.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.hinder(r.Context()) {
		panic(http.ErrAbortHandler)
	}
	if document, ok := m.discovery.answer(r); ok {
		m.count("discovery")
		m.send(w, http.StatusOK, document.contentType, document.body)
		return
	}
	resource := resourceOf(r.URL.Path)
	verb := verbOf(r, resource)
	m.count(verb + " " + resource.resource)
	err := m.serve(w, r, verb, resource)
	if err == nil {
		return
	}
	failure := apierrors.NewInternalError(err)
	_ = errors.As(err, &failure)
	failure.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(failure.ErrStatus)
	if err == nil {
		m.send(w, int(failure.ErrStatus.Code), "application/json", body)
	}
}

func (m *Member) send(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	n, _ := w.Write(body)
	m.sent.Add(int64(n))
}

// request is what a path names.
type request struct{ resource, namespace, name, sub string }

// resourceOf takes apart the path of a request: PREFIX[namespaces/NAMESPACE/]RESOURCE[/NAME[/SUB]].
func resourceOf(path string) request {
	rest, found := strings.CutPrefix(path, sharesPath)
	if !found {
		rest, found = strings.CutPrefix(path, leasesPath)
	}
	if !found {
		rest, found = strings.CutPrefix(path, corePath)
	}
	if !found {
		return request{resource: path}
	}
	parts := strings.Split(rest, "/")
	var r request
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&r.resource, &r.name, &r.sub} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	return r
}

// kind returns that of what is asked for as a whole.
func (r request) kind() string {
	if r.resource == "clustercapacities" {
		return "ClusterCapacity"
	}
	return "QuotaShare"
}

func verbOf(r *http.Request, of request) string {
	switch {
	case r.URL.Query().Get("watch") != "":
		return "watch"
	case r.Method == http.MethodGet && of.name == "":
		return "list"
	}
	return strings.ToLower(r.Method)
}

func (m *Member) serve(w http.ResponseWriter, r *http.Request, verb string, of request) error {
	switch {
	case of.resource == "/":
		m.send(w, http.StatusOK, "application/json", []byte(`{"paths":[]}`))
		return nil
	case of.resource == "quotashares":
		return m.serveShares(w, r, verb, of)
	case of.resource == "serviceaccounts" && of.sub == "token" && verb == "post":
		return m.issueToken(w, r)
	case of.resource == "namespaces" && verb == "post":
		return m.createNamespace(w, r)
	case of.resource == "namespaces", of.resource == "clustercapacities":
		return m.serveOther(w, r, verb, of)
	case of.resource == "leases" && verb == "patch":
		lease := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
		lease.Namespace, lease.Name = of.namespace, of.name
		return m.answer(w, http.StatusOK, lease)
	}
	return notFound(of)
}

// issueToken gives out a token for as long as is asked for. Nobody looks at it.
func (m *Member) issueToken(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var request authenticationv1.TokenRequest
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &request); err != nil {
		return err
	}
	life := time.Duration(ptr.Deref(request.Spec.ExpirationSeconds, 0)) * time.Second
	request.Status = authenticationv1.TokenRequestStatus{Token: "light", ExpirationTimestamp: metav1.NewTime(time.Now().Add(life))}
	return m.answer(w, http.StatusCreated, &request)
}

func notFound(of request) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: of.resource}, of.name)
}

func (m *Member) answer(w http.ResponseWriter, code int, object any) error {
	body, err := json.Marshal(object)
	if err == nil {
		m.send(w, code, "application/json", body)
	}
	return err
}

// serveOther answers who lists and watches what a member holds beside shares. Nobody reports what nodes can run.
func (m *Member) serveOther(w http.ResponseWriter, r *http.Request, verb string, of request) error {
	held := m.namespaces
	if of.resource == "clustercapacities" {
		held = newStore()
	}
	switch verb {
	case "watch":
		return m.watch(w, r, held)
	case "list":
		return m.list(w, r, held, "")
	}
	return notFound(of)
}

func (m *Member) createNamespace(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, namespace); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if !m.AddNamespace(namespace.Name) {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "namespaces"}, namespace.Name)
	}
	namespace.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	namespace.UID, namespace.ResourceVersion = uuid.NewUUID(), "1"
	return m.answer(w, http.StatusCreated, namespace)
}

func (m *Member) serveShares(w http.ResponseWriter, r *http.Request, verb string, of request) error {
	key := types.NamespacedName{Namespace: of.namespace, Name: of.name}
	var share *stored
	var err error
	switch verb {
	case "watch":
		return m.watch(w, r, m.store)
	case "list":
		return m.list(w, r, m.store, of.namespace)
	case "get":
		share = m.store.get(key)
	case "post":
		share, err = m.create(r, of.namespace)
	case "patch":
		share, err = m.patch(r, key)
	case "delete":
		share, err = m.remove(key)
	default:
		return apierrors.NewMethodNotSupported(schema.GroupResource{Resource: of.resource}, verb)
	}
	switch {
	case err != nil:
		return err
	case share == nil:
		return notFound(of)
	}
	m.send(w, http.StatusOK, "application/json", share.body)
	return nil
}

// create stores a share where its namespace exists.
func (m *Member) create(r *http.Request, namespace string) (*stored, error) {
	if !m.hasNamespace(namespace) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace)
	}
	share := &quotav1alpha1.QuotaShare{}
	if err := json.NewDecoder(r.Body).Decode(share); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.URL.Query().Get("dryRun") != "" {
		return &stored{QuotaShare: share, body: []byte("{}")}, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: share.Name}
	created, err := m.store.change(key, func(before *quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error) {
		if before != nil {
			return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "quotashares"}, share.Name)
		}
		share.UID, share.Generation, share.CreationTimestamp = uuid.NewUUID(), 1, metav1.Now()
		share.Status = quotav1alpha1.QuotaShareStatus{}
		share.ManagedFields = managedFields
		return share, nil
	})
	if err == nil {
		m.agent.wake(key)
	}
	return created, err
}

// patch applies a merge patch of the hub to the spec, under the rules that carry the protocol.
func (m *Member) patch(r *http.Request, key types.NamespacedName) (*stored, error) {
	change, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	patched, err := m.store.change(key, func(before *quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error) {
		if before == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "quotashares"}, key.Name)
		}
		return merged(before, change)
	})
	if errors.Is(err, errUnchanged) {
		return patched, nil
	}
	if err == nil {
		m.agent.wake(key)
	}
	return patched, err
}

func merged(before *quotav1alpha1.QuotaShare, change []byte) (*quotav1alpha1.QuotaShare, error) {
	body, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	if body, err = jsonpatch.MergePatch(body, change); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after := &quotav1alpha1.QuotaShare{}
	if err := json.Unmarshal(body, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after.Status = before.Status
	kind := quotav1alpha1.GroupVersion.WithKind("QuotaShare").GroupKind()
	switch same := sameSpec(before, after); {
	case after.UID != before.UID || after.ResourceVersion != before.ResourceVersion:
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "quotashares"}, before.Name, errors.New("it is another one"))
	case after.Spec.Revision < before.Spec.Revision:
		return nil, apierrors.NewInvalid(kind, before.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec"), after.Spec.Revision, "revision never goes down: this write was decided on an older ledger"),
		})
	case same && equalAnnotations(before, after):
		return nil, errUnchanged
	case !same:
		after.Generation++
	}
	return after, nil
}

func sameSpec(a, b *quotav1alpha1.QuotaShare) bool {
	before, err := json.Marshal(a.Spec)
	after, otherErr := json.Marshal(b.Spec)
	return errors.Join(err, otherErr) == nil && string(before) == string(after)
}

func equalAnnotations(a, b *quotav1alpha1.QuotaShare) bool {
	return fmt.Sprint(a.Annotations) == fmt.Sprint(b.Annotations)
}

// remove marks a share as deleted: the agent lets it go.
func (m *Member) remove(key types.NamespacedName) (*stored, error) {
	removed, err := m.store.change(key, func(share *quotav1alpha1.QuotaShare) (*quotav1alpha1.QuotaShare, error) {
		if share != nil && share.DeletionTimestamp.IsZero() {
			share.DeletionTimestamp = new(metav1.Now())
			share.Generation++
		}
		return share, nil
	})
	m.agent.wake(key)
	return removed, err
}

// wantsMetadata says whether a client asks for metadata alone.
func wantsMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// list answers with what is held of a namespace, or of all, as many as are asked for.
func (m *Member) list(w http.ResponseWriter, r *http.Request, held *store, namespace string) error {
	shares, version := held.list(namespace)
	if after := r.URL.Query().Get("continue"); after != "" {
		for len(shares) > 0 && shares[0].key() <= after {
			shares = shares[1:]
		}
	}
	more := ""
	if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && limit > 0 && limit < len(shares) {
		more = fmt.Sprintf(`,"continue":%q,"remainingItemCount":%d`, shares[limit-1].key(), len(shares)-limit)
		shares = shares[:limit]
	}
	kind, group := resourceOf(r.URL.Path).kind()+"List", quotav1alpha1.GroupVersion.String()
	if wantsMetadata(r) {
		kind, group = "PartialObjectMetadataList", metav1.SchemeGroupVersion.String()
	}
	var body strings.Builder
	fmt.Fprintf(&body, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s},"items":[`, kind, group, version, more)
	for i, share := range shares {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(share.in(r))
	}
	body.WriteString("]}")
	m.send(w, http.StatusOK, "application/json", []byte(body.String()))
	return nil
}

// in returns a share as it is asked for.
func (s *stored) in(r *http.Request) []byte {
	if wantsMetadata(r) {
		return s.metadata
	}
	return s.body
}

// bookmarkInterval is how often a watch is told of the version of the store although nothing has changed.
const bookmarkInterval = time.Minute

// watch streams changes until the client leaves, or has asked for no longer.
func (m *Member) watch(w http.ResponseWriter, r *http.Request, held *store) error {
	query := r.URL.Query()
	since, _ := strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
	initial := query.Get("sendInitialEvents") == "true"
	history, changes, version := held.watch(since, initial || since == 0)
	defer held.leave(changes)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for _, e := range history {
		m.stream(w, e, r)
	}
	if initial {
		m.bookmark(w, r, version, `,"annotations":{"k8s.io/initial-events-end":"true"}`)
	}
	w.(http.Flusher).Flush()
	var ended <-chan time.Time
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		ended = time.After(time.Duration(seconds) * time.Second)
	}
	bookmarks := time.NewTicker(bookmarkInterval)
	defer bookmarks.Stop()
	for {
		select {
		case e, going := <-changes:
			if !going {
				return nil
			}
			version = e.of.version
			m.stream(w, e, r)
		case <-bookmarks.C:
			m.bookmark(w, r, version, "")
		case <-ended:
			return nil
		case <-r.Context().Done():
			return nil
		}
		w.(http.Flusher).Flush()
	}
}

func (m *Member) stream(w io.Writer, e event, r *http.Request) {
	n, _ := fmt.Fprintf(w, "{\"type\":%q,\"object\":%s}\n", e.kind, e.of.in(r))
	m.sent.Add(int64(n))
}

func (m *Member) bookmark(w io.Writer, r *http.Request, version int64, annotations string) {
	kind, group := resourceOf(r.URL.Path).kind(), quotav1alpha1.GroupVersion
	if wantsMetadata(r) {
		kind, group = "PartialObjectMetadata", metav1.SchemeGroupVersion
	}
	n, _ := fmt.Fprintf(w, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":%q,\"apiVersion\":%q,\"metadata\":{\"resourceVersion\":\"%d\"%s}}}\n",
		kind, group, version, annotations)
	m.sent.Add(int64(n))
}
