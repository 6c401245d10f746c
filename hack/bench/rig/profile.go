package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// SaveProfile writes a profile of a manager that serves them at a port of this machine, such as "heap" or
// "profile?seconds=20", to a folder. The file is named after the phase and the kind.
func SaveProfile(ctx context.Context, port int, what, folder, phase string) error {
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/%s", port, what),
		nil,
	)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	kind, _, _ := strings.Cut(what, "?")
	name := strings.NewReplacer(",", "", " ", "-").Replace(phase)
	file, err := os.Create(filepath.Join(folder, name+"."+kind+".pprof"))
	if err != nil {
		return err
	}
	_, err = io.Copy(file, response.Body)
	return errors.Join(err, file.Close())
}
