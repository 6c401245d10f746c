package fleet_test

import (
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fedquota/fedquota/e2e/fleet"
)

// testPause makes an API server silent, and the other one not.
func testPause(t *testing.T, member *fleet.ControlPlane) {
	server := member.Process(fleet.APIServer)
	if err := server.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	impatient := rest.CopyConfig(member.Config)
	impatient.Timeout = 300 * time.Millisecond
	if _, err := clientFor(t, impatient).Discovery().ServerVersion(); err == nil {
		t.Error("a paused API server answers")
	}
	if _, err := clientFor(t, member.SecondConfig).Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, err := clientFor(t, member.Config).Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
}

// testRestart kills etcd and an API server and finds the data again.
func testRestart(t *testing.T, member *fleet.ControlPlane) {
	createConfigMap(t, member, "kept")
	for _, name := range []string{fleet.Etcd, fleet.APIServer} {
		p := member.Process(name)
		before := p.PID()
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.PID() == before {
			t.Errorf("%s has not changed its id", name)
		}
	}
	if !hasConfigMap(t, member, "kept") {
		t.Error("the data is lost")
	}
}

// testRestore goes back to a snapshot.
func testRestore(t *testing.T, member *fleet.ControlPlane) {
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	createConfigMap(t, member, "before")
	if err := member.Snapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	createConfigMap(t, member, "after")
	if err := member.Restore(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	if !hasConfigMap(t, member, "before") {
		t.Error("what was in the snapshot is lost")
	}
	if hasConfigMap(t, member, "after") {
		t.Error("what came after the snapshot is still there")
	}
}

// createConfigMap leaves a mark in a control plane.
func createConfigMap(t *testing.T, c *fleet.ControlPlane, name string) {
	t.Helper()
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := clientFor(t, c.Config).CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), mark, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// hasConfigMap looks for a mark.
func hasConfigMap(t *testing.T, c *fleet.ControlPlane, name string) bool {
	t.Helper()
	_, err := clientFor(t, c.Config).CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}
