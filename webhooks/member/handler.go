package member

import (
	"context"
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fedquota/fedquota/internal/cost"
	"github.com/fedquota/fedquota/internal/demand"
)

// Handler answers admission requests by what the gate says. What it does not understand it leaves to native quota.
type Handler struct {
	// Gate holds requests that do not fit.
	Gate *Gate
}

// Handle answers one admission request.
func (h *Handler) Handle(ctx context.Context, review admission.Request) admission.Response {
	request, err := read(&review.AdmissionRequest)
	if err != nil {
		return admission.Allowed("").WithWarnings("fedquota could not read the request: " + err.Error())
	}
	message := h.Gate.Admit(ctx, request)
	if message == "" {
		return admission.Allowed("")
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Message: message,
		Details: &metav1.StatusDetails{Name: review.Name, Group: review.Resource.Group, Kind: review.Resource.Resource},
	}}}
}

// read returns what the gate has to know of an admission request.
func read(review *admissionv1.AdmissionRequest) (Request, error) {
	resource := schema.GroupResource{Group: review.Resource.Group, Resource: review.Resource.Resource}
	request := Request{
		Namespace: review.Namespace,
		Charge:    cost.Charge{Resource: resource},
		DryRun:    review.DryRun != nil && *review.DryRun,
	}
	object, err := decode(resource, review.Object.Raw)
	if err != nil {
		return Request{}, err
	}
	request.Charge.Object = object
	request.Owner = ownerOf(review, object)
	if review.Operation == admissionv1.Update {
		request.Charge.Old, err = decode(resource, review.OldObject.Raw)
	}
	return request, err
}

// decode reads an object as far as its cost depends on it.
func decode(resource schema.GroupResource, raw []byte) (metav1.Object, error) {
	var object metav1.Object
	switch resource {
	case cost.Pods:
		object = &corev1.Pod{}
	case cost.Claims:
		object = &corev1.PersistentVolumeClaim{}
	case cost.Services:
		object = &corev1.Service{}
	case cost.ResourceClaims:
		object = &resourcev1.ResourceClaim{}
	default:
		object = &metav1.PartialObjectMetadata{}
	}
	return object, json.Unmarshal(raw, object)
}

// ownerOf returns the controller of an object, or the object itself.
func ownerOf(review *admissionv1.AdmissionRequest, object metav1.Object) demand.Owner {
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		return demand.Owner{Kind: controller.Kind, Name: controller.Name, UID: controller.UID}
	}
	name := review.Name
	if prefix := object.GetGenerateName(); prefix != "" {
		name = prefix + "*"
	}
	return demand.Owner{Kind: review.Kind.Kind, Name: name}
}
