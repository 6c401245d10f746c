package cli

import (
	"bufio"
	"bytes"
	"cmp"
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

// ReadBudgets returns the FederatedQuotas and the QuotaPools of a file, or of standard input. Other objects are not
// looked at.
func (e *Env) ReadBudgets(file string) ([]quotav1alpha1.FederatedQuota, []quotav1alpha1.QuotaPool, error) {
	documents, err := e.Documents(file)
	if err != nil {
		return nil, nil, err
	}
	namespace, err := e.Namespace()
	if err != nil {
		return nil, nil, err
	}
	var quotas []quotav1alpha1.FederatedQuota
	var pools []quotav1alpha1.QuotaPool
	for _, document := range documents {
		switch kind, err := kindOf(document); {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		case kind == "FederatedQuota":
			fq := quotav1alpha1.FederatedQuota{}
			if err := yaml.UnmarshalStrict(document, &fq); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			fq.Namespace, fq.Status = cmp.Or(fq.Namespace, namespace), quotav1alpha1.FederatedQuotaStatus{}
			quotas = append(quotas, fq)
		case kind == "QuotaPool":
			p := quotav1alpha1.QuotaPool{}
			if err := yaml.UnmarshalStrict(document, &p); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			p.Status = quotav1alpha1.QuotaPoolStatus{}
			pools = append(pools, p)
		}
	}
	if len(quotas)+len(pools) == 0 {
		return nil, nil, fmt.Errorf("%s: there is no FederatedQuota and no QuotaPool in it", file)
	}
	return quotas, pools, nil
}

// kindOf returns the kind of a document if it is one of ours that holds a budget, else nothing.
func kindOf(document []byte) (string, error) {
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return "", err
	}
	if kind.Kind != "FederatedQuota" && kind.Kind != "QuotaPool" {
		return "", nil
	}
	if want := quotav1alpha1.GroupVersion.String(); kind.APIVersion != want {
		return "", fmt.Errorf("apiVersion %q of %s: must be %s", kind.APIVersion, kind.Kind, want)
	}
	return kind.Kind, nil
}
