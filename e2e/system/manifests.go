package system

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fedquota/fedquota/e2e/fleet"
	"github.com/fedquota/fedquota/internal/bundle"
)

// assetsDir is the folder of the control plane's programs.
func (s *System) assetsDir() string {
	if s.assets != "" {
		return s.assets
	}
	return os.Getenv(fleet.AssetsVariable)
}

// Render returns the objects of a kustomization.
func Render(ctx context.Context, kubectl, folder string) ([]*unstructured.Unstructured, error) {
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, kubectl, "kustomize", folder)
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w: %s", folder, err, stderr.String())
	}
	return bundle.Decode(output)
}

// established waits until the kinds of the CustomResourceDefinitions among the objects are served.
func established(ctx context.Context, cl client.Client, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		list := &unstructured.UnstructuredList{}
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "listKind")
		list.SetAPIVersion("quota.fedquota.io/v1alpha1")
		list.SetKind(kind)
		err := poll(ctx, 50*time.Millisecond, 3*time.Minute, "CustomResourceDefinition "+object.GetName(), func(ctx context.Context) (bool, error) {
			return cl.List(ctx, list) == nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// poll waits for a condition, and says what it waited for if that never came.
func poll(ctx context.Context, interval, timeout time.Duration, what string, condition wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, interval, timeout, true, condition); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
