package admission

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fedquota/fedquota/internal/amount"
	"github.com/fedquota/fedquota/internal/demand"
	"github.com/fedquota/fedquota/internal/nativequota"
	"github.com/fedquota/fedquota/internal/pace"
)

// maxReview is the most bytes of a review: two objects of the size that API servers take at most, and what is around
// them.
const maxReview = 7 << 20

// maxOwner is the most bytes of who asks: it is remembered, and the API server bounds neither the name of a controller
// nor its UID.
const maxOwner = 512

// readable is how many bytes of reviews are read at once: anybody in the cluster may send some.
const readable = 4 * maxReview

// Handler answers the reviews of API servers by what the gate says. What it does not understand it leaves to native
// quota.
type Handler struct {
	// gate holds requests that do not fit.
	gate *Gate
	// reading has as many bytes left as may be read beside those that are.
	reading *semaphore.Weighted
	// patience is how long a review may take to come, once there is memory for it.
	patience time.Duration
}

// NewHandler returns a handler that asks the gate.
func NewHandler(gate *Gate) *Handler {
	return &Handler{gate: gate, reading: semaphore.NewWeighted(readable), patience: pace.ReviewPatience}
}

// ServeHTTP answers a review. It stands in the way of every request that fits: controller-runtime's handler, which
// takes reviews of all versions, takes two thirds more of the processor for the same answer.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer prometheus.NewTimer(reviewSeconds).ObserveDuration()
	review, request, err := h.receive(w, r)
	if refusal := (*refusal)(nil); errors.As(err, &refusal) {
		http.Error(w, refusal.Error(), refusal.code)
		return
	}
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta}
	if err != nil {
		count(outcomeUnread)
		answer.Response = &admissionv1.AdmissionResponse{
			Allowed: true, Warnings: []string{"fedquota could not read the request: " + err.Error()},
		}
	} else {
		answer.Response = h.answer(r.Context(), review.Request, request)
	}
	answer.Response.UID = review.Request.UID
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // if this fails, the API server has gone
}

// refusal is why a review is not answered.
type refusal struct {
	code int
	error
}

// receive reads a review, and what the gate has to know of it, while there is memory for that.
func (h *Handler) receive(
	w http.ResponseWriter, r *http.Request,
) (review admissionv1.AdmissionReview, request Request, err error) {
	size := r.ContentLength
	switch {
	case size > maxReview:
		return review, request, &refusal{
			http.StatusRequestEntityTooLarge, fmt.Errorf("an AdmissionReview has at most %d bytes", maxReview),
		}
	case size < 0:
		size = maxReview
	}
	if err := h.reading.Acquire(r.Context(), size); err != nil {
		return review, request, &refusal{
			http.StatusServiceUnavailable, fmt.Errorf("waiting to read the AdmissionReview: %w", err),
		}
	}
	defer h.reading.Release(size)
	if err := h.decode(w, r, &review); err != nil {
		return review, request, &refusal{http.StatusBadRequest, fmt.Errorf("reading the AdmissionReview: %w", err)}
	}
	if review.Request == nil {
		return review, request, &refusal{http.StatusBadRequest, errors.New("the AdmissionReview has no request")}
	}
	request, err = read(review.Request)
	review.Request.Object.Raw, review.Request.OldObject.Raw = nil, nil // they may be large, and the request be held
	return review, request, err
}

// decode reads a review that comes in time. The deadline ends with the body: the server lifts it.
func (h *Handler) decode(w http.ResponseWriter, r *http.Request, review *admissionv1.AdmissionReview) error {
	deadline := time.Now().Add(h.patience) //nolint:forbidigo // a connection goes by the clock of the machine
	err := http.NewResponseController(w).SetReadDeadline(deadline)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReview)).Decode(review)
}

// answer answers one admission request. When the context ends, the API server has gone, or this server is ending:
// native quota decides.
func (h *Handler) answer(
	ctx context.Context, review *admissionv1.AdmissionRequest, request Request,
) *admissionv1.AdmissionResponse {
	if h.gate.Exists(ctx, request) {
		count(outcomeExists)
		already := apierrors.NewAlreadyExists(request.Charge.Resource, request.Name).Status()
		return &admissionv1.AdmissionResponse{Result: &already}
	}
	message := h.gate.Admit(ctx, request)
	if message == "" || ctx.Err() != nil {
		count(outcomeLetThrough)
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	count(outcomeDenied)
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Message: message,
		Details: &metav1.StatusDetails{Name: review.Name, Group: review.Resource.Group, Kind: review.Resource.Resource},
	}}
}

// read returns what the gate has to know of an admission request.
func read(review *admissionv1.AdmissionRequest) (Request, error) {
	resource := schema.GroupResource{Group: review.Resource.Group, Resource: review.Resource.Resource}
	request := Request{
		Namespace: review.Namespace,
		Kind:      schema.GroupVersionKind{Group: review.Kind.Group, Version: review.Kind.Version, Kind: review.Kind.Kind},
		Charge:    nativequota.Charge{Resource: resource},
		DryRun:    review.DryRun != nil && *review.DryRun,
	}
	if amount.Costly(review.Object.Raw) || amount.Costly(review.OldObject.Raw) {
		return Request{}, errors.New("a quantity has such an exponent, or so many digits, that no API server lets it through")
	}
	object, err := decode(resource, review.Operation, review.Object.Raw)
	if err != nil {
		return Request{}, err
	}
	request.Charge.Object = object
	request.Owner = bounded(ownerOf(review, object))
	if review.Operation == admissionv1.Create && review.SubResource == "" && object.GetGenerateName() == "" {
		request.Name = review.Name
	}
	if review.Operation == admissionv1.Update {
		request.Charge.Old, err = decode(resource, review.Operation, review.OldObject.Raw)
	}
	return request, err
}

// decode reads an object as far as its cost depends on it.
func decode(resource schema.GroupResource, operation admissionv1.Operation, raw []byte) (metav1.Object, error) {
	var object metav1.Object
	switch resource {
	case nativequota.Pods:
		if operation == admissionv1.Create {
			return readNewPod(raw)
		}
		object = &corev1.Pod{}
	case nativequota.Claims:
		object = &corev1.PersistentVolumeClaim{}
	case nativequota.Services:
		object = &corev1.Service{}
	case nativequota.ResourceClaims:
		object = &resourcev1.ResourceClaim{}
	default:
		object = &metav1.PartialObjectMetadata{}
	}
	return object, json.Unmarshal(raw, object)
}

// ownerOf returns the controller of an object that is to be created, or the object itself: who made it does not grow
// with it.
func ownerOf(review *admissionv1.AdmissionRequest, object metav1.Object) demand.Owner {
	if review.Operation == admissionv1.Update {
		return demand.Owner{Kind: review.Kind.Kind, Name: review.Name}
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		return demand.Owner{Kind: controller.Kind, Name: controller.Name, UID: controller.UID}
	}
	name := review.Name
	if prefix := object.GetGenerateName(); prefix != "" {
		name = prefix + "*"
	}
	return demand.Owner{Kind: review.Kind.Kind, Name: name}
}

// bounded returns an owner that is not long: a hash stands for one that is, which nothing is known of but what it asks
// for.
func bounded(owner demand.Owner) demand.Owner {
	if len(owner.Kind)+len(owner.Name)+len(owner.UID) <= maxOwner {
		return owner
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", owner.Kind, owner.Name, owner.UID))
	return demand.Owner{Name: fmt.Sprintf("%x", hash)}
}
