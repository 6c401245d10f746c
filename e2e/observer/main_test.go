package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fedquota/fedquota/internal/observer"
)

// execute runs the program as if it had been interrupted as soon as it watches.
func execute(args ...string) (string, error) {
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	c := command()
	out := &bytes.Buffer{}
	c.SetOut(out)
	c.SetArgs(args)
	err := c.ExecuteContext(interrupted)
	return out.String(), err
}

func TestWrongUse(t *testing.T) {
	given := []string{"--namespace", "team-a", "--name", "compute"}
	cases := map[string]struct {
		args []string
		want string
	}{
		"nothing given":     {nil, `required flag(s) "budget", "kubeconfig"`},
		"not an amount":     {[]string{"--kubeconfig", "a=x", "--budget", "pods=many"}, "--budget pods: "},
		"no such file":      {[]string{"--kubeconfig", "a=missing", "--budget", "pods=1"}, "--kubeconfig a: stat missing"},
		"no such output":    {[]string{"--kubeconfig", "a=x", "--budget", "pods=1", "-o", "yaml"}, "want table or json"},
		"kubeconfig no map": {[]string{"--kubeconfig", "x", "--budget", "pods=1"}, "must be formatted as key=value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := execute(append(given, tc.args...)...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// startMember returns the path of a kubeconfig of a real API server whose managed ResourceQuota has a limit of 3 pods.
func startMember(t *testing.T) string {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it must name a directory with etcd and kube-apiserver")
	}
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	quotas := client.CoreV1().ResourceQuotas("default")
	rq := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "compute", Labels: map[string]string{"quota.fedquota.io/managed": "true"}}}
	if rq, err = quotas.Create(t.Context(), rq, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rq.Status.Hard = corev1.ResourceList{"pods": resource.MustParse("3")}
	rq.Status.Used = corev1.ResourceList{"pods": resource.MustParse("0")}
	if _, err := quotas.UpdateStatus(t.Context(), rq, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	args := []string{"--kubeconfig", "a=" + startMember(t), "--namespace", "default", "--name", "compute", "--recount"}
	out, err := execute(append(args, "--budget", "pods=3")...)
	if err != nil || !strings.Contains(out, "0 violations") || !strings.Contains(out, "RECOUNT") {
		t.Errorf("error %v, report:\n%s", err, out)
	}
	out, err = execute(append(args, "--budget", "pods=2", "--output", "json")...)
	if !errors.Is(err, errViolations) {
		t.Errorf("error %v, want %v", err, errViolations)
	}
	var report observer.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if got := report.Violations(); len(got) != 1 || !strings.HasPrefix(got[0], "excess of pods: 1 above 2") {
		t.Errorf("violations in the report: %q", got)
	}
}
