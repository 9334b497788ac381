{{/* Flags that stand for one value each: the value's name is the flag's, in camelCase. */}}
{{- define "hpa-controller.plainFlags" -}}
horizontalPodAutoscalerSyncPeriod: horizontal-pod-autoscaler-sync-period
horizontalPodAutoscalerDownscaleStabilization: horizontal-pod-autoscaler-downscale-stabilization
horizontalPodAutoscalerTolerance: horizontal-pod-autoscaler-tolerance
horizontalPodAutoscalerCpuInitializationPeriod: horizontal-pod-autoscaler-cpu-initialization-period
horizontalPodAutoscalerInitialReadinessDelay: horizontal-pod-autoscaler-initial-readiness-delay
concurrentHorizontalPodAutoscalerSyncs: concurrent-horizontal-pod-autoscaler-syncs
kubeApiQps: kube-api-qps
kubeApiBurst: kube-api-burst
foreignWriterSilencePeriods: foreign-writer-silence-periods
maxSampleAge: max-sample-age
leaderElectLeaseDuration: leader-elect-lease-duration
leaderElectRenewDeadline: leader-elect-renew-deadline
leaderElectRetryPeriod: leader-elect-retry-period
{{- end -}}

{{/* All flags of `run` that the values ask for, one per line. */}}
{{- define "hpa-controller.flags" -}}
{{- $values := .Values -}}
{{- range $value, $flag := include "hpa-controller.plainFlags" . | fromYaml }}
{{- $given := get $values $value }}
{{- if not (kindIs "invalid" $given) }}
{{- /* A large whole number of a values file is a float here, and would be printed as 1e+06. */}}
{{- if and (kindIs "float64" $given) (eq (float64 (int64 $given)) $given) }}{{ $given = int64 $given }}{{ end }}
- {{ printf "--%s=%v" $flag $given | quote }}
{{- end }}
{{- end }}
{{- if .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $on := .Values.featureGates }}{{- $gates = append $gates (printf "%s=%t" $gate $on) }}{{- end }}
- {{ printf "--feature-gates=%s" (join "," $gates) | quote }}
{{- end }}
{{- if .Values.shadow }}
- "--shadow"
{{- else }}
{{- if not .Values.leaderElect }}
- "--leader-elect=false"
{{- end }}
{{- /* Kept histories are called after the Lease, whether there is one or not. */}}
- {{ printf "--leader-elect-resource-name=%s" (include "hpa-controller.leaseName" .) | quote }}
{{- end }}
- {{ printf "--leader-elect-resource-namespace=%s" (include "hpa-controller.leaseNamespace" .) | quote }}
{{- with .Values.modesConfigmap }}
- {{ printf "--modes-configmap=%s" . | quote }}
{{- end }}
{{- if and .Values.keepHistory (not .Values.shadow) }}
- "--keep-history"
{{- with .Values.keepHistoryInterval }}
- {{ printf "--keep-history-interval=%s" . | quote }}
{{- end }}
{{- end }}
{{- with .Values.namespaces }}
- {{ printf "--namespaces=%s" (join "," .) | quote }}
{{- end }}
{{- if ne .Values.scaleReads "cache" }}
- {{ printf "--scale-reads=%s" .Values.scaleReads | quote }}
{{- end }}
{{- range $family, $names := .Values.metricsSources }}
{{- range $names }}
- {{ printf "--metrics-source=%s=%s" $family . | quote }}
{{- end }}
{{- end }}
{{- with .Values.prometheus.url }}
- {{ printf "--prometheus-url=%s" . | quote }}
{{- end }}
{{- if .Values.prometheus.queryAnnotations }}
- "--allow-query-annotations"
{{- end }}
{{- if include "hpa-controller.rulesConfigMap" . }}
- "--prometheus-rules=/etc/hpa-controller/metrics-rules/rules.yaml"
{{- end }}
- {{ printf "--metrics-bind-address=:%d" (int .Values.metrics.port) | quote }}
- {{ printf "--health-probe-bind-address=:%d" (int .Values.health.port) | quote }}
{{- if .Values.metrics.secure }}
- "--metrics-secure"
- "--metrics-cert-dir=/etc/hpa-controller/metrics-certificate"
{{- end }}
- {{ printf "--log-level=%s" .Values.logLevel | quote }}
- {{ printf "--log-format=%s" .Values.logFormat | quote }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
