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
keepsHistory: {{ and .Values.keepHistory (not .Values.shadow) }}
{{- end -}}

{{/* The names that a rule is about, as JSON. Of histories there are at most 32 objects. */}}
{{- define "hpa-controller.namesOfRule" -}}
{{- $root := index . 0 -}}
{{- $lease := include "hpa-controller.leaseName" $root -}}
{{- $names := list -}}
{{- if eq (index . 1) "lease" -}}{{- $names = list $lease -}}
{{- else if eq (index . 1) "modes" -}}{{- $names = list $root.Values.modesConfigmap -}}
{{- else -}}{{- range until 32 -}}{{- $names = append $names (printf "%s-history-%d" $lease .) -}}{{- end -}}
{{- end -}}
{{- toJson $names -}}
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
  resourceNames: {{ include "hpa-controller.namesOfRule" (list $root .named) }}
{{- end }}
  verbs: {{ toJson .verbs }}
{{- end }}
{{- end }}
{{- end -}}
