{{/* Which conditions of files/permissions.yaml hold, as YAML. */}}
{{- define "hpa-controller.conditions" -}}
{{- $sources := .Values.metricsSources -}}
writes: {{ not .Values.shadow }}
elects: {{ and .Values.leaderElect (not .Values.shadow) }}
scaleCaches: {{ eq .Values.scaleReads "cache" }}
resourceMetricsApi: {{ has "api" (get $sources "resource" | default (list "api")) }}
customMetricsApi: {{ has "api" (get $sources "custom" | default (list "api")) }}
externalMetricsApi: {{ has "api" (get $sources "external" | default (list "api")) }}
metricsSecure: {{ .Values.metrics.secure }}
modes: {{ ne .Values.modesConfigmap "" }}
{{- end -}}

{{/* The rules of one section of files/permissions.yaml whose conditions hold. */}}
{{- define "hpa-controller.rules" -}}
{{- $root := index . 0 -}}
{{- $section := index . 1 -}}
{{- $holds := include "hpa-controller.conditions" $root | fromYaml -}}
{{- $permissions := $root.Files.Get "files/permissions.yaml" | fromYaml -}}
{{- range get $permissions $section }}
{{- $given := true -}}
{{- range .when }}{{- $given = and $given (get $holds .) -}}{{- end }}
{{- if $given }}
# {{ .why }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
{{- if .named }}
  resourceNames: [{{ eq .named "lease" | ternary (include "hpa-controller.leaseName" $root) $root.Values.modesConfigmap | quote }}]
{{- end }}
  verbs: {{ toJson .verbs }}
{{- end }}
{{- end }}
{{- end -}}
