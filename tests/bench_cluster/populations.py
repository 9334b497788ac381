"""Which HPAs a cell has: how many, in namespaces of which size, on which metrics; the same in every process."""

import enum
import re
from collections.abc import Iterator

import msgspec

PODS_EACH = 5
PERIOD_S = 15.0
METRIC = "load"
"""The name of custom metrics."""

# Every name of one sort is equally long, so that stored objects can be copied by exchanging bytes.
TEMPLATE_NAMESPACE = "space-zzzzzz"
TEMPLATE_NAME = "app-zzzzzz"
TEMPLATE_POD = f"{TEMPLATE_NAME}-z"
PODS_EACH_MAX = 10

_NOTATION = re.compile(r"(?P<count>\d+)-(?P<shape>[a-z]+)-(?P<metrics>[a-z]+)(-(?P<pods>\d+)pods)?")
_SLOW = 130
_DEAD = 1_000


class Shape(enum.StrEnum):
    """How HPAs are spread over namespaces."""

    SMALL = "small"
    """One, two and three in a namespace, in turn."""
    HUNDRED = "hundred"
    ONE = "one"
    """All in a single namespace."""


class Metrics(enum.StrEnum):
    """What the HPAs of a population ask for."""

    CPU = "cpu"
    MIXED = "mixed"
    """Each of the five kinds of metrics in turn."""
    SLOW = "slow"
    """CPU, and beside them 130 HPAs whose external metric takes 2 s and 1,000 whose custom metric never comes."""


class Source(enum.StrEnum):
    """The metric of one HPA."""

    CPU = "cpu"
    CONTAINER = "container"
    PODS = "pods"
    OBJECT = "object"
    EXTERNAL = "external"
    SLOW = "slow"
    DEAD = "dead"


_MIX = (Source.CPU, Source.CONTAINER, Source.PODS, Source.OBJECT, Source.EXTERNAL)


class Application(msgspec.Struct, frozen=True):
    """One HPA with the Deployment and the pods it scales, which all have one name."""

    namespace: str
    name: str
    source: Source

    @property
    def key(self) -> str:
        """As the audit log tells what a request is about."""
        return f"{self.namespace}/{self.name}"


class Population(msgspec.Struct, frozen=True):
    """The HPAs of one cell; `str()` and `parse` are its notation on the command line, such as ``1000-small-cpu``."""

    count: int
    shape: Shape
    metrics: Metrics
    pods_each: int = PODS_EACH

    def __str__(self) -> str:
        pods = "" if self.pods_each == PODS_EACH else f"-{self.pods_each}pods"
        return f"{self.count}-{self.shape}-{self.metrics}{pods}"

    @property
    def namespace_size(self) -> str:
        """For people: how many HPAs a namespace has."""
        return {Shape.SMALL: "1–3", Shape.HUNDRED: "100", Shape.ONE: "all"}[self.shape]

    @property
    def measured(self) -> list[Application]:
        """The HPAs that are held against goals: all but those whose metrics are slow or dead on purpose."""
        return [one for one in self.applications() if one.source not in (Source.SLOW, Source.DEAD)]

    def applications(self) -> Iterator[Application]:
        """All HPAs, in a fixed order."""
        namespaces = _namespaces(self.shape)
        for number in range(self.count):
            source = _MIX[number % len(_MIX)] if self.metrics is Metrics.MIXED else Source.CPU
            yield Application(_namespace(next(namespaces)), f"app-{number:06}", source)
        if self.metrics is Metrics.SLOW:
            for extra in range(_SLOW + _DEAD):
                source = Source.SLOW if extra < _SLOW else Source.DEAD
                # Far from the numbers of the others, in namespaces of 100 of their own.
                yield Application(_namespace(900_000 + extra // 100), f"app-{900_000 + extra:06}", source)


def parse(text: str) -> Population:
    """The population of a notation. Raises ValueError, which says what is wrong and what a right one looks like."""
    found = _NOTATION.fullmatch(text)
    if found is None:
        raise ValueError(f"cell {text!r}: write it as HPAS-SHAPE-METRICS, for instance 1000-small-cpu")
    for group, kind in (("shape", Shape), ("metrics", Metrics)):
        if found[group] not in list(kind):
            raise ValueError(f"cell {text!r}: {group} {found[group]!r} is none of {', '.join(kind)}")
    pods = int(found["pods"] or PODS_EACH)
    if not 1 <= pods <= PODS_EACH_MAX:
        raise ValueError(f"cell {text!r}: {pods} pods each; 1 to {PODS_EACH_MAX} are possible")
    count = int(found["count"])
    if not 1 <= count <= 100_000:
        raise ValueError(f"cell {text!r}: {count} HPAs; 1 to 100000 are possible")
    return Population(count, Shape(found["shape"]), Metrics(found["metrics"]), pods)


def _namespace(number: int) -> str:
    return f"space-{number:06}"


def _namespaces(shape: Shape) -> Iterator[int]:
    """The namespace's number of each HPA in turn, without end."""
    number = 0
    while True:
        match shape:
            case Shape.ONE:
                yield 0
            case Shape.HUNDRED:
                yield from (number for _ in range(100))
            case Shape.SMALL:
                yield from (number for _ in range(number % 3 + 1))
        number += 1
