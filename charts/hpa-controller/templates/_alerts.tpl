{{/* The alerts that make sense with these values, as a list. */}}
{{- define "hpa-controller.alerts" -}}
{{- $file := .Files.Get "files/alerts.yaml" | fromYaml -}}
{{- $senseless := ternary (list "HPAControllerNoLeader" "HPAForeignWriter") (list "HPAShadowDifference") .Values.shadow -}}
{{- $alerts := list -}}
{{- range (first $file.groups).rules -}}
{{- if not (has .alert $senseless) -}}{{- $alerts = append $alerts . -}}{{- end -}}
{{- end -}}
{{- toYaml $alerts -}}
{{- end -}}
