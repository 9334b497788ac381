"""Kubernetes JSON turned into the values of `controller.decide` and back: the only place that knows camelCase.

Everything here is pure. Bad input raises `WireError` with the path of the field; nothing else is raised.
"""
