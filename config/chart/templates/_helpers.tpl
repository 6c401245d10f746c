{{- define "fedquota.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ with .digest }}@{{ . }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "fedquota.agentImage" -}}
{{ .Values.agents.image | default (include "fedquota.image" .) }}
{{- end -}}
