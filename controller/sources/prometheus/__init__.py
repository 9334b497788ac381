"""Prometheus as a source of metrics, by the rules of prometheus-adapter (docs/prometheus.md).

rules → catalogue (which metrics there are) → matchers, templates (the query) → server (HTTP) → answers → source.
"""
