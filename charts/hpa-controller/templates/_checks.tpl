{{/* Sets of values that contradict each other fail here, before anything is sent, with what to do. */}}
{{- define "hpa-controller.checks" -}}
{{- include "hpa-controller.checks.names" . -}}
{{- include "hpa-controller.checks.election" . -}}
{{- include "hpa-controller.checks.identity" . -}}
{{- include "hpa-controller.checks.sources" . -}}
{{- include "hpa-controller.checks.served" . -}}
{{- include "hpa-controller.checks.arguments" . -}}
{{- end -}}

{{- define "hpa-controller.checks.names" -}}
{{- $name := include "hpa-controller.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "the Service would be called %q, but its name has to begin with a letter and have no dots. Set fullnameOverride, such as hpa-controller." $name) -}}
{{- end -}}
{{- end -}}

{{- define "hpa-controller.checks.election" -}}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.leaderElect) (not .Values.shadow) -}}
{{- fail (printf "replicaCount is %d, but leaderElect is false: all replicas would scale at once. Set leaderElect to true or replicaCount to 1." (int .Values.replicaCount)) -}}
{{- end -}}
{{- if eq (printf "%s/%s" (include "hpa-controller.leaseNamespace" .) (include "hpa-controller.leaseName" .)) "kube-system/kube-controller-manager" -}}
{{- fail "leaderElectResourceName: kube-system/kube-controller-manager is the control plane's own Lease; holding it would stop every built-in controller. Choose another name." -}}
{{- end -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- if and $budget.enabled (gt (int .Values.replicaCount) 1) (has (toString $budget.maxUnavailable) (list "0" "0%")) -}}
{{- fail "podDisruptionBudget lets no pod go: no node that runs one could be drained. Set maxUnavailable higher." -}}
{{- end -}}
{{- if and (not (kindIs "invalid" $budget.minAvailable)) (not (kindIs "invalid" $budget.maxUnavailable)) -}}
{{- fail "podDisruptionBudget has both minAvailable and maxUnavailable, of which Kubernetes takes one. Set the other to null." -}}
{{- end -}}
{{- if and $budget.enabled (gt (int .Values.replicaCount) 1) (not (kindIs "invalid" $budget.minAvailable)) -}}
{{- $replicas := int .Values.replicaCount -}}
{{- $kept := toString $budget.minAvailable | trimSuffix "%" | int -}}
{{- /* Kubernetes rounds up. */ -}}
{{- if kindIs "string" $budget.minAvailable -}}{{- $kept = div (add (mul $kept $replicas) 99) 100 | int -}}{{- end -}}
{{- if ge $kept $replicas -}}
{{- fail (printf "podDisruptionBudget.minAvailable is %d of %d replicas: no node that runs one could be drained. Set it lower." $kept $replicas) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hpa-controller.checks.identity" -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false and serviceAccount.name is empty: the rights would go to the account `default`, which every pod of the namespace may use. Name an account." -}}
{{- end -}}
{{- end -}}

{{- define "hpa-controller.checks.sources" -}}
{{- $prometheus := .Values.prometheus -}}
{{- $asked := list -}}
{{- range $family, $names := .Values.metricsSources -}}{{- $asked = concat $asked $names -}}{{- end -}}
{{- if and (has "prometheus" $asked) (not $prometheus.url) -}}
{{- fail "metricsSources asks for prometheus, but prometheus.url is empty. Set it, such as http://prometheus-operated.monitoring:9090." -}}
{{- end -}}
{{- if and (has "prometheus" $asked) (not $prometheus.rules) (not $prometheus.existingRulesConfigMap) -}}
{{- fail "metricsSources asks for prometheus, but nothing says which series are which metrics. Set prometheus.rules or prometheus.existingRulesConfigMap." -}}
{{- end -}}
{{- if and $prometheus.queryAnnotations (not $prometheus.url) -}}
{{- fail "prometheus.queryAnnotations is set, but prometheus.url is empty. Set it, such as http://prometheus-operated.monitoring:9090." -}}
{{- end -}}
{{- if and $prometheus.url (not $prometheus.queryAnnotations) (not (has "prometheus" $asked)) -}}
{{- fail "prometheus.url is set, but no family of metricsSources asks for prometheus, so it would not be used. Set metricsSources, such as {custom: [prometheus]}, or prometheus.queryAnnotations." -}}
{{- end -}}
{{- if and $prometheus.rules $prometheus.existingRulesConfigMap -}}
{{- fail "prometheus.rules and prometheus.existingRulesConfigMap are both set. Keep one of them." -}}
{{- end -}}
{{- if and (or $prometheus.rules $prometheus.existingRulesConfigMap) (not (has "prometheus" $asked)) -}}
{{- fail "there are rules for Prometheus, but no family of metricsSources asks for prometheus. Set metricsSources, such as {custom: [prometheus]}." -}}
{{- end -}}
{{- end -}}

{{- define "hpa-controller.checks.served" -}}
{{- if and .Values.metrics.secure (not .Values.metrics.tlsSecretName) -}}
{{- fail "metrics.secure is true, but metrics.tlsSecretName is empty. Name a Secret of type kubernetes.io/tls, from cert-manager for instance." -}}
{{- end -}}
{{- if and .Values.metrics.tlsSecretName (not .Values.metrics.secure) -}}
{{- fail "metrics.tlsSecretName is set, but metrics.secure is false, so /metrics would be served in the clear. Set metrics.secure to true or remove the name." -}}
{{- end -}}
{{- if and .Values.metrics.secure .Values.prometheus.podMonitor.enabled -}}
{{- fail "prometheus.podMonitor cannot check the certificate that metrics.secure uses, since pods have no lasting name. Use prometheus.serviceMonitor." -}}
{{- end -}}
{{- if eq (int .Values.metrics.port) (int .Values.health.port) -}}
{{- fail (printf "metrics.port and health.port are both %d. Choose two." (int .Values.metrics.port)) -}}
{{- end -}}
{{- if and (or (eq (int .Values.metrics.port) 8082) (eq (int .Values.health.port) 8082)) (not (contains "--introspection-bind-address" (join " " .Values.extraArgs))) -}}
{{- fail "metrics.port or health.port is 8082, where the pages of `explain` and `top` are. Choose another one, or move those with --introspection-bind-address in extraArgs." -}}
{{- end -}}
{{- if and .Values.prometheus.serviceMonitor.enabled .Values.prometheus.podMonitor.enabled -}}
{{- fail "prometheus.serviceMonitor and prometheus.podMonitor are both enabled: everything would be scraped twice. Enable one of them." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.apiServerCidrs) -}}
{{- fail "networkPolicy.enabled is true, but networkPolicy.apiServerCidrs is empty: the API server could not be reached. List its addresses: `kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes`." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.prometheus.url (not .Values.networkPolicy.additionalEgress) -}}
{{- fail "networkPolicy.enabled is true and prometheus.url is set, but networkPolicy.additionalEgress is empty: Prometheus could not be reached. Add a rule that leads there." -}}
{{- end -}}
{{- /* All there are, also those without sense now: to switch `shadow` must not need another list. */ -}}
{{- $names := list -}}
{{- range (first (.Files.Get "files/alerts.yaml" | fromYaml).groups).rules -}}{{- $names = append $names .alert -}}{{- end -}}
{{- range .Values.prometheus.prometheusRules.disabled -}}
{{- if not (has . $names) -}}
{{- fail (printf "prometheus.prometheusRules.disabled: there is no alert %q; there are %s." . (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hpa-controller.checks.arguments" -}}
{{- $taken := dict "feature-gates" "featureGates" "shadow" "shadow" "leader-elect" "leaderElect" "leader-elect-resource-name" "leaderElectResourceName" "leader-elect-resource-namespace" "leaderElectResourceNamespace" "scale-reads" "scaleReads" "modes-configmap" "modesConfigmap" "keep-history" "keepHistory" "keep-history-interval" "keepHistoryInterval" "namespaces" "namespaces" "metrics-source" "metricsSources" "prometheus-url" "prometheus.url" "allow-query-annotations" "prometheus.queryAnnotations" "prometheus-rules" "prometheus.rules" "metrics-bind-address" "metrics.port" "health-probe-bind-address" "health.port" "metrics-secure" "metrics.secure" "metrics-cert-dir" "metrics.tlsSecretName" "log-level" "logLevel" "log-format" "logFormat" -}}
{{- range $value, $flag := include "hpa-controller.plainFlags" . | fromYaml -}}{{- $_ := set $taken $flag $value -}}{{- end -}}
{{- range .Values.extraArgs -}}
{{- $flag := trimPrefix "--" . | splitList "=" | first -}}
{{- if hasKey $taken $flag -}}
{{- fail (printf "extraArgs: --%s has a value of its own; set %s instead." $flag (get $taken $flag)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
