"""What names, labels and annotations may look like."""

from __future__ import annotations

import re

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

SUBDOMAIN_MAX = 253
LABEL_MAX = 63

_ENDS = "beginning and ending with a letter or digit"

SUBDOMAIN_RULE = f"must be a DNS subdomain: lower case letters, digits, '-' and '.', {_ENDS}"
LABEL_RULE = f"must be a DNS label: lower case letters, digits and '-', {_ENDS}"
NAME_PART_RULE = f"name part must be of letters, digits, '-', '_' and '.', {_ENDS}"
LABEL_VALUE_RULE = f"must be empty or of letters, digits, '-', '_' and '.', {_ENDS}"


def subdomain_problems(name: str) -> list[str]:
    """Why a name is no DNS subdomain; empty when it is one."""
    return _problems(name, _SUBDOMAIN, SUBDOMAIN_RULE, SUBDOMAIN_MAX)


def label_problems(name: str) -> list[str]:
    """Why a name is no DNS label; empty when it is one."""
    return _problems(name, _LABEL, LABEL_RULE, LABEL_MAX)


def path_segment_problems(name: str) -> list[str]:
    """Why a name cannot be one segment of a URL path; empty when it can."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def qualified_name_problems(key: str) -> list[str]:
    """Why a text cannot be the key of a label or annotation (`name` or `prefix/name`); empty when it can."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return ["a qualified name " + NAME_PART_RULE.removeprefix("name part ") + " with an optional DNS prefix"]
    problems: list[str] = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > LABEL_MAX:
        problems.append(f"name part must be no more than {LABEL_MAX} bytes")
    if name and not _NAME_PART.fullmatch(name):
        problems.append(NAME_PART_RULE)
    return problems


def label_value_problems(value: str) -> list[str]:
    """Why a text cannot be the value of a label; empty when it can, as the empty text can."""
    problems = [f"must be no more than {LABEL_MAX} bytes"] if len(value) > LABEL_MAX else []
    if value and not _NAME_PART.fullmatch(value):
        problems.append(LABEL_VALUE_RULE)
    return problems


def _problems(name: str, pattern: re.Pattern[str], rule: str, longest: int) -> list[str]:
    problems = [f"must be no more than {longest} bytes"] if len(name) > longest else []
    if not pattern.fullmatch(name):
        problems.append(rule)
    return problems
