package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fedquota/fedquota/hack/release/internal/chart"
)

func TestTemplate(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, file, want string }{
		"in the namespace of the release": {
			manifest: "{apiVersion: v1, kind: ServiceAccount, metadata: {name: hub, namespace: fedquota-system, labels: {a: b}}}",
			file:     "serviceaccount-hub.yaml",
			want: `apiVersion: v1
kind: ServiceAccount
metadata:
  labels:
    {{- with .Values.extraLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    a: b
  name: hub
  namespace: '{{ .Release.Namespace }}'
`,
		},
		"in the namespace of the Clusters": {
			manifest: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: hub, namespace: default}}",
			file:     "role-hub-clusters.yaml",
			want: `{{- range $namespace := prepend .Values.clusters.furtherNamespaces .Values.clusters.namespace }}
{{- with $ }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- with .Values.extraLabels }}
  labels:
  {{- toYaml . | nindent 4 }}
  {{- end }}
  name: hub
  namespace: '{{ $namespace }}'
{{- end }}
{{- end }}
`,
		},
		"left out by a value, with braces of its own": {
			manifest: `{apiVersion: v1, kind: CustomResourceDefinition, metadata: {name: quotas}, spec: {description: "{{x}}"}}`,
			file:     "customresourcedefinition-quotas.yaml",
			want: `{{- if .Values.crds.install }}
apiVersion: v1
kind: CustomResourceDefinition
metadata:
  {{- with .Values.extraLabels }}
  labels:
  {{- toYaml . | nindent 4 }}
  {{- end }}
  annotations:
    helm.sh/resource-policy: keep
  name: quotas
spec:
  description: '{{ ` + "`{{`" + ` }}x{{ ` + "`}}`" + ` }}'
{{- end }}
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := chart.Decode([]byte(tc.manifest))
			if err != nil {
				t.Fatal(err)
			}
			file, text, err := chart.Template(objects[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.file, tc.want}, []string{file, text}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestArguments has the Deployment lack an argument that a value sets.
func TestArguments(t *testing.T) {
	objects, err := chart.Decode([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: hub, namespace: fedquota-system}
spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, args: [hub, --namespace=fedquota-system]}]}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := chart.Template(objects[0]); err == nil || !strings.Contains(err.Error(), "1 of the 4 arguments") {
		t.Errorf("got %v", err)
	}
}
