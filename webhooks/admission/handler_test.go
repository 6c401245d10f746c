package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fedquota/fedquota/internal/demand"
)

// TestHandler sends reviews as an API server does.
func TestHandler(t *testing.T) {
	kind := metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}
	pods := `"namespace": "` + key.Namespace + `", "resource": {"version": "v1", "resource": "pods"}, "operation": "CREATE"`
	for name, tc := range map[string]struct {
		request string
		status  int
		counted outcome
		want    *admissionv1.AdmissionResponse
	}{
		"fits": {
			request: `{"uid": "1", ` + pods + `, "object": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}}`,
			status:  http.StatusOK, counted: outcomeLetThrough, want: &admissionv1.AdmissionResponse{UID: "1", Allowed: true},
		},
		"unreadable object": {
			request: `{"uid": "2", ` + pods + `, "object": {"spec": "none"}}`,
			status:  http.StatusOK, counted: outcomeUnread, want: &admissionv1.AdmissionResponse{UID: "2", Allowed: true, Warnings: []string{
				"fedquota could not read the request: json: cannot unmarshal string into Go struct field newPod.spec of type admission.newSpec",
			}},
		},
		"a quantity that takes minutes to read": {
			request: `{"uid": "3", ` + pods + `, "object": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1e99999999"}}}]}}}`,
			status:  http.StatusOK, counted: outcomeUnread, want: &admissionv1.AdmissionResponse{UID: "3", Allowed: true, Warnings: []string{
				"fedquota could not read the request: a quantity has such an exponent, or so many digits, that no API server lets it through",
			}},
		},
		"no request": {request: `null`, status: http.StatusBadRequest},
		"no JSON":    {request: `{`, status: http.StatusBadRequest},
		"too long":   {request: `"` + strings.Repeat("x", maxReview) + `"`, status: http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": ` + tc.request + `}`
			answer, before := httptest.NewRecorder(), counted(t, requests.WithLabelValues(string(tc.counted)))
			NewHandler(roomy()).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/admit", strings.NewReader(body)))
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
			if after := counted(t, requests.WithLabelValues(string(tc.counted))); after != before+1 {
				t.Errorf("%g requests are counted as %s", after-before, tc.counted)
			}
		})
	}
}

// TestHeldMemory has large objects not be kept while their requests are held.
func TestHeldMemory(t *testing.T) {
	const objects = 20
	large := strings.Repeat("x", 1<<20)
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, "10")
		ctx, giveUp := context.WithCancel(t.Context())
		handler, before := NewHandler(s.gate), heap()
		for i := range objects {
			body := io.MultiReader(
				strings.NewReader(`{"request": {"uid": "1", "namespace": "team", "resource": {"version": "v1", "resource": "pods"}, "operation": "CREATE", "object": `+
					fmt.Sprintf(`{"metadata": {"generateName": "web-%d-", "annotations": {"a": "`, i)),
				strings.NewReader(large), // the same for all
				strings.NewReader(`"}}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}}}`),
			)
			request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/admit", body)
			go handler.ServeHTTP(httptest.NewRecorder(), request)
		}
		synctest.Wait()
		if held := s.waiting(); held != objects {
			t.Fatalf("%d requests are held", held)
		}
		if kept := heap() - before; kept > objects<<20/4 {
			t.Errorf("%d requests of 1 MiB keep %d MiB", objects, kept>>20)
		}
		giveUp()
	})
}

// TestFlood has more reviews begin than there is memory for, all of unknown length, and none go on: they are given up,
// and an API server's review is answered.
func TestFlood(t *testing.T) {
	handler := NewHandler(roomy())
	handler.patience = 50 * time.Millisecond
	server := httptest.NewServer(handler)
	defer server.Close()
	stall, end := io.Pipe()
	defer end.Close() //nolint:errcheck // nothing was written
	var given sync.WaitGroup
	for range 3 * readable / maxReview {
		given.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, io.MultiReader(strings.NewReader(`{"request": {`), stall))
			if err != nil {
				t.Error(err)
				return
			}
			response, err := server.Client().Do(request)
			if err != nil {
				return // the server has closed the connection
			}
			defer response.Body.Close() //nolint:errcheck // it is not read
			if response.StatusCode != http.StatusBadRequest {
				t.Errorf("got %s", response.Status)
			}
		})
	}
	body := `{"request": {"uid": "1", "namespace": "team", "resource": {"version": "v1", "resource": "pods"}, "operation": "CREATE", "object": {}}}`
	caller := &http.Client{Timeout: time.Minute}
	for range 3 {
		response, err := caller.Post(server.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("got %s, %v", response.Status, err)
		}
	}
	end.Close() //nolint:errcheck // nothing was written
	given.Wait()
}

// TestHeldBeyondThePatience holds a request for longer than it may take to come.
func TestHeldBeyondThePatience(t *testing.T) {
	handler := NewHandler(roomy())
	handler.patience = 50 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handler.decode(w, r, &admissionv1.AdmissionReview{}); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
			t.Error("the request is given up")
		case <-time.After(5 * handler.patience):
		}
	}))
	defer server.Close()
	response, err := server.Client().Post(server.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	goruntime.GC()
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestLongOwner has owners be remembered in few bytes, however long their names are, and be told apart.
func TestLongOwner(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	owners := map[demand.Owner]string{}
	for name, tc := range map[string]struct{ name, metadata string }{
		"controller's name":         {metadata: `{"ownerReferences": [{"kind": "X", "name": "` + long + `", "uid": "u", "controller": true}]}`},
		"another controller's name": {metadata: `{"ownerReferences": [{"kind": "X", "name": "` + long + `y", "uid": "u", "controller": true}]}`},
		"controller's UID":          {metadata: `{"ownerReferences": [{"kind": "X", "name": "x", "uid": "` + long + `", "controller": true}]}`},
		"controller's kind":         {metadata: `{"ownerReferences": [{"kind": "` + long + `", "name": "x", "uid": "u", "controller": true}]}`},
		"generated name":            {metadata: `{"generateName": "` + long + `"}`},
		"name":                      {name: long, metadata: `{}`},
	} {
		request, err := read(&admissionv1.AdmissionRequest{
			Name: tc.name, Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Object:   runtime.RawExtension{Raw: []byte(`{"metadata": ` + tc.metadata + `}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		owner := request.Owner
		if length := len(owner.Kind) + len(owner.Name) + len(owner.UID); length > maxOwner {
			t.Errorf("%s: %d bytes", name, length)
		}
		if other, known := owners[owner]; known {
			t.Errorf("%s and %s are taken for one", name, other)
		}
		owners[owner] = name
	}
}

// TestOwner takes the controller of a new object for who asks, but a pod that is resized for itself: the one pod's part
// is not what its ReplicaSet needs for another one.
func TestOwner(t *testing.T) {
	const owned = `{"metadata": {"name": "web-1", "generateName": "web-", "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true}]}}`
	for name, tc := range map[string]struct {
		operation admissionv1.Operation
		name      string
		object    string
		want      demand.Owner
	}{
		"created by a controller":       {operation: admissionv1.Create, object: owned, want: demand.Owner{Kind: "ReplicaSet", Name: "web", UID: "u"}},
		"created":                       {operation: admissionv1.Create, name: "bare", object: `{}`, want: demand.Owner{Kind: "Pod", Name: "bare"}},
		"created with a generated name": {operation: admissionv1.Create, object: `{"metadata": {"generateName": "job-"}}`, want: demand.Owner{Kind: "Pod", Name: "job-*"}},
		"resized":                       {operation: admissionv1.Update, name: "web-1", object: owned, want: demand.Owner{Kind: "Pod", Name: "web-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := read(&admissionv1.AdmissionRequest{
				Name: tc.name, Operation: tc.operation, Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
				Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
				Object:   runtime.RawExtension{Raw: []byte(tc.object)}, OldObject: runtime.RawExtension{Raw: []byte(tc.object)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, request.Owner); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestServerThatEnds has requests be held, and others be refused, while their context ends: native quota decides on
// them.
func TestServerThatEnds(t *testing.T) {
	for name, wait := range map[string]func(){"while it is held": synctest.Wait, "before it was asked": func() {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, "8")
				ctx, cancel := context.WithCancel(t.Context())
				answer := make(chan *admissionv1.AdmissionResponse, 1)
				go func() {
					answer <- NewHandler(s.gate).answer(ctx, &admissionv1.AdmissionRequest{}, request("3"))
				}()
				wait()
				cancel()
				if got := <-answer; !got.Allowed {
					t.Errorf("it was refused: %s", got.Result.Message)
				}
			})
		})
	}
}
