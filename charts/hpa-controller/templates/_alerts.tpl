{{/* The alerts that make sense with these values, as a list. */}}
{{- define "hpa-controller.alerts" -}}
{{- $file := .Files.Get "files/alerts.yaml" | fromYaml -}}
{{- $senseless := list -}}
{{- if .Values.shadow -}}
{{- $senseless = list "HPAControllerNoLeader" "HPAForeignWriter" -}}
{{- else if not .Values.modesConfigmap -}}
{{- $senseless = list "HPAShadowDifference" -}}
{{- end -}}
{{- $alerts := list -}}
{{- range (first $file.groups).rules -}}
{{- if not (has .alert $senseless) -}}{{- $alerts = append $alerts . -}}{{- end -}}
{{- end -}}
{{- toYaml $alerts -}}
{{- end -}}
