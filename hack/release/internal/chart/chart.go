// Package chart makes templates of a Helm chart out of the manifests of config/default, which stay the one source of
// what is installed.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// The namespaces as the manifests name them.
const (
	ownNamespace     = "fedquota-system"
	clusterNamespace = "default"
)

// conditions are the values that leave out a kind.
var conditions = map[string]string{
	"ConfigMap":                ".Values.dashboards.enabled",
	"CustomResourceDefinition": ".Values.crds.install",
	"Namespace":                ".Values.namespace.create",
	"NetworkPolicy":            ".Values.networkPolicy.enabled",
	"PodDisruptionBudget":      ".Values.podDisruptionBudget.enabled",
	"PriorityClass":            `eq .Values.priorityClassName "fedquota-hub"`,
	"PrometheusRule":           ".Values.prometheusRule.enabled",
	"ServiceMonitor":           ".Values.serviceMonitor.enabled",
}

// optional are the values that let in an object by its name.
var optional = map[string]string{"fedquota-hub-scaleout": ".Values.scaleOut.enabled", viewName: ".Values.view.enabled"}

// viewName is the name of all that the page on the hub is made of.
const viewName = "fedquota-view"

// Decode reads manifests.
func Decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Template returns the template of an object, and the name of its file.
func Template(object *unstructured.Unstructured) (file, text string, err error) {
	object = object.DeepCopy()
	t := &template{}
	t.metadata(object)
	switch object.GetKind() {
	case "CustomResourceDefinition":
		object.SetAnnotations(with(object.GetAnnotations(), "helm.sh/resource-policy", "keep"))
		escape(object.Object["spec"])
	case "ConfigMap":
		escape(object.Object["data"])
	case "PrometheusRule":
		escape(object.Object["spec"])
	case "RoleBinding", "ClusterRoleBinding":
		for _, subject := range object.Object["subjects"].([]any) {
			subject.(map[string]any)["namespace"] = "{{ .Release.Namespace }}"
		}
	case "Deployment":
		set := t.deployment
		if object.GetName() == viewName {
			set = t.view
		}
		if err := set(object); err != nil {
			return "", "", err
		}
	}
	content, err := sigsyaml.Marshal(object.Object)
	if err != nil {
		return "", "", err
	}
	text = t.fill(string(content))
	if object.GetKind() == "ValidatingAdmissionPolicy" {
		text = strings.ReplaceAll(text, "'"+ownNamespace+"'", "'{{ .Values.agents.namespace }}'")
	}
	if object.GetNamespace() == "{{ $namespace }}" {
		text = "{{- range $namespace := prepend .Values.clusters.furtherNamespaces .Values.clusters.namespace }}\n{{- with $ }}\n---\n" +
			text + "{{- end }}\n{{- end }}\n"
	}
	for _, condition := range []string{conditions[object.GetKind()], optional[object.GetName()]} {
		if condition != "" {
			text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
		}
	}
	return strings.ToLower(object.GetKind()) + "-" + name(object) + ".yaml", text, nil
}

// name is the name of an object for a file. Roles of the same name are in two namespaces.
func name(object *unstructured.Unstructured) string {
	if strings.Contains(object.GetName(), "{{") {
		return ownNamespace
	}
	if strings.Contains(object.GetNamespace(), "$namespace") {
		return object.GetName() + "-clusters"
	}
	return object.GetName()
}

func with(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}

// braces keeps braces from being taken for a template.
var braces = strings.NewReplacer("{{", "{{ `{{` }}", "}}", "{{ `}}` }}")

// escape keeps what a CRD, a dashboard or an alert says in braces from being taken for a template.
func escape(value any) any {
	switch v := value.(type) {
	case string:
		return braces.Replace(v)
	case []any:
		for i := range v {
			v[i] = escape(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = escape(v[key])
		}
	}
	return value
}

// template is a template in the making. A key @@N of a mapping, or such an item of a list, stands for the snippet N.
type template struct{ snippets []string }

// snippet notes text of a template for the place where the returned key is put. @ in it stands for the indentation
// there, + for two more.
func (t *template) snippet(text string) string {
	t.snippets = append(t.snippets, text)
	return fmt.Sprintf("@@%03d", len(t.snippets)-1)
}

var place = regexp.MustCompile(`(?m)^( *)(- )?'@@(\d+)'(: "")?\n`)

// fill puts the snippets in their places.
func (t *template) fill(text string) string {
	return place.ReplaceAllStringFunc(text, func(found string) string {
		groups := place.FindStringSubmatch(found)
		before, item, key := groups[1], groups[2], groups[4] != ""
		n, _ := strconv.Atoi(groups[3]) // the expression lets digits through alone
		indent := before
		if item != "" && key { // the first key of a mapping in a list
			before, indent = before+item, indent+"  "
		}
		return before + strings.NewReplacer("\n", "\n"+indent, "@", strconv.Itoa(len(indent)), "+", strconv.Itoa(len(indent)+2)).Replace(t.snippets[n]) + "\n"
	})
}

// metadata sets the namespace and adds the labels of the values.
func (t *template) metadata(object *unstructured.Unstructured) {
	switch {
	case object.GetKind() == "Namespace":
		object.SetName("{{ .Release.Namespace }}")
	case object.GetNamespace() == ownNamespace:
		object.SetNamespace("{{ .Release.Namespace }}")
	case object.GetNamespace() == clusterNamespace:
		object.SetNamespace("{{ $namespace }}")
	}
	metadata := object.Object["metadata"].(map[string]any)
	if labels, ok := metadata["labels"].(map[string]any); ok {
		labels[t.snippet("{{- with .Values.extraLabels }}\n{{- toYaml . | nindent @ }}\n{{- end }}")] = ""
		return
	}
	metadata[t.snippet("{{- with .Values.extraLabels }}\nlabels:\n{{- toYaml . | nindent + }}\n{{- end }}")] = ""
}

// arguments are those of the hub manager that values set.
var arguments = map[string]string{
	"--agent-image":       `{{ include "fedquota.agentImage" . }}`,
	"--namespace":         "{{ .Release.Namespace }}",
	"--cluster-namespace": "{{ .Values.clusters.namespace }}",
	"--agent-namespace":   "{{ .Values.agents.namespace }}",
}

// deployment has values set what differs between installations.
func (t *template) deployment(object *unstructured.Unstructured) error {
	spec := object.Object["spec"].(map[string]any)
	delete(spec, "replicas")
	spec[t.snippet("replicas: {{ .Values.replicas }}")] = ""
	pod := spec["template"].(map[string]any)
	metadata := pod["metadata"].(map[string]any)
	metadata["labels"].(map[string]any)[t.snippet("{{- with .Values.extraLabels }}\n{{- toYaml . | nindent @ }}\n{{- end }}")] = ""
	metadata[t.snippet("{{- with .Values.podAnnotations }}\nannotations:\n{{- toYaml . | nindent + }}\n{{- end }}")] = ""
	podSpec := pod["spec"].(map[string]any)
	delete(podSpec, "priorityClassName")
	podSpec[t.snippet("{{- with .Values.priorityClassName }}\npriorityClassName: {{ . }}\n{{- end }}")] = ""
	for _, key := range []string{"imagePullSecrets", "nodeSelector", "tolerations", "affinity"} {
		podSpec[t.snippet("{{- with .Values."+key+" }}\n"+key+": {{- toYaml . | nindent + }}\n{{- end }}")] = ""
	}
	container := podSpec["containers"].([]any)[0].(map[string]any)
	container["image"] = `{{ include "fedquota.image" . }}`
	delete(container, "resources")
	container[t.snippet("resources: {{- toYaml .Values.resources | nindent + }}")] = ""
	container[t.snippet("{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}")] = ""
	return t.arguments(container)
}

// view has values set what differs between installations of the page on the hub.
func (t *template) view(object *unstructured.Unstructured) error {
	pod := object.Object["spec"].(map[string]any)["template"].(map[string]any)
	pod["metadata"].(map[string]any)["labels"].(map[string]any)[t.snippet("{{- with .Values.extraLabels }}\n{{- toYaml . | nindent @ }}\n{{- end }}")] = ""
	podSpec := pod["spec"].(map[string]any)
	for _, key := range []string{"imagePullSecrets", "nodeSelector", "tolerations", "affinity"} {
		podSpec[t.snippet("{{- with .Values."+key+" }}\n"+key+": {{- toYaml . | nindent + }}\n{{- end }}")] = ""
	}
	container := podSpec["containers"].([]any)[0].(map[string]any)
	container["image"] = "{{ .Values.view.image }}"
	args := container["args"].([]any)
	for i, arg := range args {
		if name, _, _ := strings.Cut(arg.(string), "="); arguments[name] != "" {
			args[i] = name + "=" + arguments[name]
		}
	}
	container["args"] = append(args,
		t.snippet("{{- with .Values.clusters.furtherNamespaces }}\n- --further-cluster-namespaces={{ join \",\" . }}\n{{- end }}"))
	return nil
}

func (t *template) arguments(container map[string]any) error {
	args := container["args"].([]any)
	set := 0
	for i, arg := range args {
		name, _, _ := strings.Cut(arg.(string), "=")
		if value, ok := arguments[name]; ok {
			args[i] = name + "=" + value
			set++
		}
	}
	if set != len(arguments) {
		return fmt.Errorf("config/default sets %d of the %d arguments that values set", set, len(arguments))
	}
	container["args"] = append(args,
		t.snippet("{{- with .Values.clusters.furtherNamespaces }}\n- --further-cluster-namespaces={{ join \",\" . }}\n{{- end }}"),
		t.snippet("{{- if not .Values.agents.install }}\n- --install-agents=false\n{{- end }}"),
		t.snippet("{{- with .Values.agents.priorityClassName }}\n- --agent-priority-class={{ . }}\n{{- end }}"),
		t.snippet("{{- if .Values.scaleOut.enabled }}\n- --scale-out\n{{- end }}"),
		t.snippet("{{- if ne (toString .Values.records.months) \"\" }}\n- --record-months={{ .Values.records.months }}\n{{- end }}"),
		t.snippet("{{- with .Values.records.interval }}\n- --record-interval={{ . }}\n{{- end }}"),
		t.snippet("{{- with .Values.extraArgs }}\n{{- toYaml . | nindent @ }}\n{{- end }}"))
	return nil
}
