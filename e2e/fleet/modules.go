package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Root is the folder of the project: the working directory, or the next one above it that has a go.mod.
func Root() (string, error) {
	folder, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("no folder above has a go.mod")
		}
		folder = filepath.Dir(folder)
	}
	return "", err
}

// ClusterAPICRDs returns the files of Cluster API's CRDs of the given resources ("clusters", …), in the version that
// this module requires. The fleet itself needs the clusters; each more costs the hub time and memory. It needs the go
// command.
func ClusterAPICRDs(ctx context.Context, resources ...string) ([]string, error) {
	dir, err := ModuleDir(ctx, ".", "sigs.k8s.io/cluster-api")
	var paths []string
	for _, resource := range resources {
		paths = append(paths, filepath.Join(dir, "config", "crd", "bases", clusterv1.GroupVersion.Group+"_"+resource+".yaml"))
	}
	return paths, err
}

// ClusterAPI returns the version of Cluster API that this module requires, and the folder of the kustomization that
// installs its core. It needs the go command.
func ClusterAPI(ctx context.Context) (version, kustomization string, err error) {
	dir, err := ModuleDir(ctx, ".", "sigs.k8s.io/cluster-api")
	_, version, _ = strings.Cut(filepath.Base(dir), "@")
	return version, filepath.Join(dir, "config", "default"), err
}

// KWOKStages returns the files by which KWOK makes nodes ready, keeps them so, and runs pods. The folder is that of
// the module that requires KWOK (hack/tools). It needs the go command.
func KWOKStages(ctx context.Context, module string) ([]string, error) {
	dir, err := ModuleDir(ctx, module, "sigs.k8s.io/kwok")
	if err != nil {
		return nil, err
	}
	var stages []string
	for _, folder := range []string{"node/fast", "node/heartbeat-with-lease", "pod/fast"} {
		files, err := filepath.Glob(filepath.Join(dir, "kustomize", "stage", folder, "*-*.yaml"))
		if err != nil {
			return nil, err
		}
		stages = append(stages, files...)
	}
	return stages, nil
}

// ModuleDir returns the folder of a module's source, as the module in another folder requires it. It needs the
// go command.
func ModuleDir(ctx context.Context, from, module string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = from
	output, err := list.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return "", fmt.Errorf("find module %s: %s", module, failed.Stderr)
	}
	dir := strings.TrimSpace(string(output))
	if err == nil && dir == "" {
		err = fmt.Errorf("module %s is not downloaded", module)
	}
	return dir, err
}
