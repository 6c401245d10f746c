package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	quotav1alpha1 "github.com/fedquota/fedquota/api/v1alpha1"
)

// ReadFile returns the content of a file, or of standard input if that is "-".
func (e *Env) ReadFile(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(e.In)
	}
	return os.ReadFile(file)
}

// Documents returns the YAML documents of a file, or of standard input.
func (e *Env) Documents(file string) ([][]byte, error) {
	content, err := e.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var documents [][]byte
	for {
		document, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		case len(bytes.TrimSpace(document)) > 0:
			documents = append(documents, document)
		}
	}
}

// ReadQuotas returns the FederatedQuotas of a file, or of standard input. Other objects are not looked at.
func (e *Env) ReadQuotas(file string) ([]quotav1alpha1.FederatedQuota, error) {
	documents, err := e.Documents(file)
	if err != nil {
		return nil, err
	}
	namespace, err := e.Namespace()
	if err != nil {
		return nil, err
	}
	var quotas []quotav1alpha1.FederatedQuota
	for _, document := range documents {
		var kind struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if kind.Kind != "FederatedQuota" {
			continue
		}
		if want := quotav1alpha1.GroupVersion.String(); kind.APIVersion != want {
			return nil, fmt.Errorf("%s: apiVersion %q of FederatedQuota: must be %s", file, kind.APIVersion, want)
		}
		fq := quotav1alpha1.FederatedQuota{}
		if err := yaml.UnmarshalStrict(document, &fq); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if fq.Namespace == "" {
			fq.Namespace = namespace
		}
		fq.Status = quotav1alpha1.FederatedQuotaStatus{}
		quotas = append(quotas, fq)
	}
	if len(quotas) == 0 {
		return nil, fmt.Errorf("%s: there is no FederatedQuota in it", file)
	}
	return quotas, nil
}
