{{- define "hpa-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "hpa-controller.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The full name with an ending, within what a name may have. */}}
{{- define "hpa-controller.named" -}}
{{- $ending := index . 1 -}}
{{- printf "%s-%s" (include "hpa-controller.fullname" (index . 0) | trunc (int (sub 62 (len $ending))) | trimSuffix "-") $ending -}}
{{- end -}}

{{/* Names of objects without a namespace: two releases of one name may be in two namespaces. */}}
{{- define "hpa-controller.clusterName" -}}
{{- $name := include "hpa-controller.fullname" . -}}
{{- if eq $name .Release.Namespace -}}
{{- $name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Namespace $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "hpa-controller.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "hpa-controller.fullname" .) -}}
{{- end -}}

{{/*
The name under which `explain`, `top` and the like look for it, whatever the release is called, so that of two releases
for all namespaces only one leads. Releases for some namespaces do not stand in for one another.
*/}}
{{- define "hpa-controller.leaseName" -}}
{{- $name := ternary "hpa-controller" (include "hpa-controller.fullname" .) (empty .Values.namespaces) -}}
{{- .Values.leaderElectResourceName | default $name -}}
{{- end -}}

{{- define "hpa-controller.leaseNamespace" -}}
{{- .Values.leaderElectResourceNamespace | default .Release.Namespace -}}
{{- end -}}

{{- define "hpa-controller.selectorLabels" -}}
app.kubernetes.io/name: {{ include "hpa-controller.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "hpa-controller.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "hpa-controller.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: hpa-controller
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Where the pods may run, and the one of `helm test`, which is sent to the same nodes. */}}
{{- define "hpa-controller.tolerations" -}}
{{- $tolerations := .Values.tolerations -}}
{{- if .Values.tolerateControlPlane -}}
{{- $own := dict "key" "node-role.kubernetes.io/control-plane" "operator" "Exists" "effect" "NoSchedule" -}}
{{- $tolerations = prepend $tolerations $own -}}
{{- end -}}
{{- with $tolerations -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{- define "hpa-controller.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap with the rules for Prometheus as a source; empty if there is none. */}}
{{- define "hpa-controller.rulesConfigMap" -}}
{{- if .Values.prometheus.existingRulesConfigMap -}}
{{- .Values.prometheus.existingRulesConfigMap -}}
{{- else if .Values.prometheus.rules -}}
{{- include "hpa-controller.named" (list . "metrics-rules") -}}
{{- end -}}
{{- end -}}
