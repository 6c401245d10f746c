package member

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestHandler sends reviews as an API server does.
func TestHandler(t *testing.T) {
	kind := metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}
	pods := `"namespace": "` + key.Namespace + `", "resource": {"version": "v1", "resource": "pods"}, "operation": "CREATE"`
	for name, tc := range map[string]struct {
		request string
		status  int
		want    *admissionv1.AdmissionResponse
	}{
		"fits": {
			request: `{"uid": "1", ` + pods + `, "object": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}}`,
			status:  http.StatusOK, want: &admissionv1.AdmissionResponse{UID: "1", Allowed: true},
		},
		"unreadable object": {
			request: `{"uid": "2", ` + pods + `, "object": {"spec": "none"}}`,
			status:  http.StatusOK, want: &admissionv1.AdmissionResponse{UID: "2", Allowed: true, Warnings: []string{
				"fedquota could not read the request: json: cannot unmarshal string into Go struct field newPod.spec of type member.newSpec",
			}},
		},
		"no request": {request: `null`, status: http.StatusBadRequest},
		"no JSON":    {request: `{`, status: http.StatusBadRequest},
		"too long":   {request: `"` + strings.Repeat("x", maxReview) + `"`, status: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": ` + tc.request + `}`
			answer := httptest.NewRecorder()
			(&Handler{Gate: roomy()}).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body)))
			if answer.Code != tc.status {
				t.Fatalf("got %d, %s, want %d", answer.Code, answer.Body, tc.status)
			}
			if tc.want == nil {
				return
			}
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(admissionv1.AdmissionReview{TypeMeta: kind, Response: tc.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
