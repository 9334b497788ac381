"""Validation of metadata for all kinds, and of what keeps workloads consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.objects import names, selectors
from controller.lab.objects.errors import FieldError, invalid, not_supported, required
from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller.lab.objects.resources import Object, Resource, ValidationSettings

_ANNOTATIONS_MAX_BYTES = 256 * 1024
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_IMMUTABLE = "field is immutable"
_MISMATCH = "must be selected by the selector"


def validate_metadata(resource: Resource, new: Object) -> list[FieldError]:
    """What is wrong with name, namespace, labels, annotations, finalizers and owners."""
    metadata = new["metadata"]
    name = metadata.get("name", "")
    problems_of = resource.rules.name_problems or names.subdomain_problems
    if name:
        errors = [invalid("metadata.name", name, problem) for problem in problems_of(name)]
    else:
        errors = [required("metadata.name", "name or generateName is required")]
    namespace = metadata.get("namespace", "")
    if resource.namespaced and not namespace:
        errors.append(required("metadata.namespace"))
    elif resource.namespaced:
        errors += [invalid("metadata.namespace", namespace, problem) for problem in names.label_problems(namespace)]
    errors += validate_labels(metadata.get("labels"), "metadata.labels")
    errors += _annotations(metadata.get("annotations") or {})
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        problems = names.qualified_name_problems(finalizer)
        errors += [invalid("metadata.finalizers", finalizer, problem) for problem in problems]
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            text = "must be fully qualified, as example.com/name"
            errors.append(invalid(f"metadata.finalizers[{index}]", finalizer, text))
    return errors + _owners(metadata.get("ownerReferences") or ())


def validate_metadata_update(new: Object, old: Object) -> list[FieldError]:
    """What of the metadata was changed that cannot be."""
    errors = []
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        value, before = new["metadata"].get(field), old["metadata"].get(field)
        if value != before:
            errors.append(invalid(f"metadata.{field}", value or "", _IMMUTABLE))
    return errors


def validate_labels(labels: dict[str, str] | None, path: str) -> list[FieldError]:
    """What is wrong with the keys and values of labels."""
    errors = []
    for key, value in (labels or {}).items():
        errors += [invalid(path, key, problem) for problem in names.qualified_name_problems(key)]
        errors += [invalid(path, value, problem) for problem in names.label_value_problems(value)]
    return errors


def _annotations(annotations: dict[str, str]) -> list[FieldError]:
    errors = [
        invalid("metadata.annotations", key, problem)
        for key in annotations
        for problem in names.qualified_name_problems(key.lower())
    ]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_MAX_BYTES:
        text = f"Too long: may not be more than {_ANNOTATIONS_MAX_BYTES} bytes"
        errors.append(FieldError("metadata.annotations", "FieldValueTooLong", text))
    return errors


def _owners(owners: Any) -> list[FieldError]:
    errors = [
        invalid(f"metadata.ownerReferences.{field}", "", "must not be empty")
        for owner in owners
        for field in ("apiVersion", "kind", "name", "uid")
        if not owner.get(field)
    ]
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        reason = "only one reference can have Controller set to true"
        errors.append(invalid("metadata.ownerReferences", len(controllers), reason))
    return errors


def selector_workload(*, immutable: bool) -> Callable[[Object, Object | None, ValidationSettings], list[FieldError]]:
    """The validation of a kind with a LabelSelector and a template.

    `immutable` selectors cannot be changed.
    """

    def validate(new: Object, old: Object | None, _: ValidationSettings) -> list[FieldError]:
        spec = new["spec"]
        errors = _replicas(spec)
        structured = spec.get("selector")
        labels = nested(spec, "template", "metadata", "labels") or {}
        if structured is None:
            errors.append(required("spec.selector"))
            errors.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
        elif not structured.get("matchLabels") and not structured.get("matchExpressions"):
            errors.append(invalid("spec.selector", structured, "empty selector is invalid"))
        else:
            errors += _matching(structured, labels)
        if immutable and old is not None and old["spec"].get("selector") != structured:
            errors.append(invalid("spec.selector", structured, _IMMUTABLE))
        return errors + _template(spec["template"])

    return validate


def _matching(structured: Object, labels: dict[str, str]) -> list[FieldError]:
    problems = validate_labels(structured.get("matchLabels"), "spec.selector.matchLabels")
    if problems:
        return [*problems, invalid("spec.selector", structured, "invalid label selector")]
    try:
        selector = selectors.structured_selector(structured)
    except ValueError as error:
        return [invalid("spec.selector", structured, f"invalid label selector: {error}")]
    if selector is not None and not selector.matches(labels):
        return [invalid("spec.template.metadata.labels", labels, _MISMATCH)]
    return []


def replication_controller(new: Object, _: Object | None, __: ValidationSettings) -> list[FieldError]:
    """What is wrong with a ReplicationController."""
    spec = new["spec"]
    errors = _replicas(spec)
    selector = spec.get("selector") or {}
    if not selector:
        errors.append(required("spec.selector"))
    template = spec.get("template")
    if template is None:
        return [*errors, required("spec.template")]
    labels = template["metadata"].get("labels") or {}
    if selector and not selectors.plain_selector(selector).matches(labels):
        errors.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
    return errors + _template(template)


def pod(new: Object, old: Object | None, _: ValidationSettings) -> list[FieldError]:
    """What is wrong with a Pod; its containers may only change their image."""
    errors = _containers(new["spec"], "spec")
    if old is not None and _frozen(new["spec"]) != _frozen(old["spec"]):
        reason = (
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations`,"
            "`spec.terminationGracePeriodSeconds`"
        )
        errors.append(FieldError("spec", "FieldValueForbidden", f"Forbidden: {reason}"))
    return errors


def _frozen(spec: Object) -> Object:
    """The part of a pod spec that cannot change.

    Binding to a node counts as free, since the lab has no scheduler.
    """
    free = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "nodeName")
    frozen = {name: value for name, value in spec.items() if name not in free}
    for name in ("containers", "initContainers"):
        if name in frozen:
            frozen[name] = [
                {key: value for key, value in container.items() if key not in ("image", "imagePullPolicy")}
                for container in frozen[name] or ()
            ]
    return frozen


def _replicas(spec: Object) -> list[FieldError]:
    replicas = spec.get("replicas", 1)
    return [invalid("spec.replicas", replicas, "must be greater than or equal to 0")] if replicas < 0 else []


def _template(template: Object) -> list[FieldError]:
    errors = validate_labels(template["metadata"].get("labels"), "spec.template.metadata.labels")
    policy = template["spec"].get("restartPolicy")
    if policy != "Always":
        errors.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    return errors + _containers(template["spec"], "spec.template.spec")


def _containers(spec: Object, path: str) -> list[FieldError]:
    containers = spec.get("containers") or ()
    if not containers:
        return [required(f"{path}.containers")]
    errors = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        where, name = f"{path}.containers[{index}]", container["name"]
        if not name:
            errors.append(required(f"{where}.name"))
        errors += [invalid(f"{where}.name", name, problem) for problem in names.label_problems(name) if name]
        if name in seen:
            errors.append(FieldError(f"{where}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
        seen.add(name)
        if not container.get("image"):
            errors.append(required(f"{where}.image"))
    return errors


def lease(new: Object, _: Object | None, __: ValidationSettings) -> list[FieldError]:
    """What is wrong with a Lease."""
    duration = new["spec"].get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        return [invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")]
    transitions = new["spec"].get("leaseTransitions")
    if transitions is not None and transitions < 0:
        return [invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]
    return []


def event(new: Object, _: Object | None, __: ValidationSettings) -> list[FieldError]:
    """What is wrong with an Event: where it lies, and what the newer form requires."""
    namespace, about = new["metadata"].get("namespace"), new["involvedObject"].get("namespace", "")
    if (about and about != namespace) or (not about and namespace not in ("default", "kube-system")):
        return [invalid("involvedObject.namespace", about, "does not match event.namespace")]
    if new.get("eventTime") is None:
        return []
    needed = ("reportingComponent", "reportingInstance", "action", "reason")
    return [required(name) for name in needed if not new.get(name)]
