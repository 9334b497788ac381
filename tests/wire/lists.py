"""Lists as sources take them apart."""

from controller.decide.observed import PodUsage
from controller.wire.errors import WireError
from controller.wire.samples import decode_pod_usages, labels_as_written
from controller.wire.shapes import labels_from
from controller.wire.slices import ItemSlices


def each_pod_metrics(body: bytes) -> list[PodUsage | WireError]:
    """The items of a PodMetricsList, in its order, or what is wrong with them. Raises WireError: it is no list."""
    slices = ItemSlices()
    items = [*slices.feed(body), *slices.end()]
    found: list[PodUsage | WireError] = []
    for written, item in zip(labels_as_written(items), items, strict=True):
        labels_from(written)
        try:
            found += decode_pod_usages(b"[%b]" % bytes(item))
        except WireError as error:
            found.append(error)
    return found


def all_pod_metrics(body: bytes) -> list[PodUsage]:
    """The items of a PodMetricsList, in its order. Raises WireError: it is no list, or one of them is malformed."""
    usages = []
    for item in each_pod_metrics(body):
        if isinstance(item, WireError):
            raise item
        usages.append(item)
    return usages
