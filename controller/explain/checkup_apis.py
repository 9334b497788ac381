"""Whether the APIs that HPAs read their metrics from are there and work."""

from collections.abc import Iterator, Sequence

from controller.explain.facts import Facts, Patient
from controller.explain.findings import Finding, counted, verb
from controller.metrics_apis import METRICS_APIS


def metrics_apis(facts: Facts) -> Iterator[Finding]:
    """One finding for each API that is needed and is not there, or does not work."""
    if facts.served is None:
        return
    for api in METRICS_APIS:
        if facts.from_apis is not None and api.family not in facts.from_apis:
            continue
        asking = tuple(
            one.key for one in facts.patients if api.asked_for(one.spec.metrics) and not api.has_told(one.status)
        )
        if not asking:
            continue
        broken = {version: facts.unavailable[version] for version in api.versions if version in facts.unavailable}
        working = [version for version in api.versions if version in facts.served and version not in broken]
        if working:
            continue
        if broken:
            version, reason = next(iter(broken.items()))
            need = verb("need", len(asking))
            text = f"{version} is registered but does not work ({reason}), and {counted(asking)} {need} it"
            mend = "look at the pods and the Service behind the APIService"
            yield Finding("problem", "api-unavailable", api.group, text, mend, asking)
        else:
            text = f"it is not served, and {counted(asking)} {verb('scale', len(asking))} on it"
            yield Finding("problem", "api-missing", api.group, text, api.provider, asking)


def needed(patients: Sequence[Patient]) -> tuple[str, ...]:
    """The versions of metrics APIs that some of these HPAs may be read from."""
    return tuple(
        version
        for api in METRICS_APIS
        if any(api.asked_for(one.spec.metrics) for one in patients)
        for version in api.versions
    )
