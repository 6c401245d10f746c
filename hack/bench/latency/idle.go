package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fedquota/fedquota/hack/bench/rig"
)

// idleWebhook makes the API server of a member call a webhook for the pods of a namespace that allows all of them at
// once: it shows what the call of any webhook costs. The caller ends it with Close.
func idleWebhook(ctx context.Context, r *rig.Rig, member, namespace string) (*httptest.Server, error) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(allow))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "idle"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "idle.fedquota.io",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{
				{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
					},
				},
			},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := r.Clients[member].Create(ctx, configuration); err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}

// allow reads no more of a review than its answer needs.
func allow(w http.ResponseWriter, request *http.Request) {
	var review struct {
		metav1.TypeMeta

		Request struct {
			UID types.UID `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta,
		Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, bytes.NewReader(answer)) // the API server tells the client if it does not come
}
