"""Lists as sources take them apart."""

from controller.wire.samples import LabelledUsage, decode_pod_metrics
from controller.wire.slices import ItemSlices


def all_pod_metrics(body: bytes) -> list[LabelledUsage]:
    """The items of a PodMetricsList, in its order. Raises WireError."""
    slices = ItemSlices()
    return decode_pod_metrics([*slices.feed(body), *slices.end()], None)
