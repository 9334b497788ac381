"""What the spine needs of the outside world, and the errors it acts on.

Adapters implement these protocols; tests implement them in memory. Nothing here does I/O.
"""

from controller.ports.errors import (
    ApiError,
    Conflict,
    Expired,
    NotFound,
    NotLeading,
    NotMandated,
    NotSent,
    Refused,
    Rejected,
    ServerFailure,
    Terminating,
    Throttled,
    Unreachable,
)
from controller.ports.histories import HistoryStore, Past, StoredShard
from controller.ports.lists import Bookmark, ListWatch, Page, Put, Removed, WatchEvent
from controller.ports.metrics import ExternalQuestion, Metrics, ObjectQuestion, PodsQuestion, Question, ResourceQuestion
from controller.ports.objects import EventSink, ScaleReading, Scales, StatusWrite, StatusWriter, WatchedAutoscaler
from controller.ports.surroundings import Clock, Instruments, Leadership, Tenured
from controller.ports.syncs import SCALE_FIRST, STATUS_SECOND, Mandate, Rescale, Sync, SyncObserver, Turn, Withheld

__all__ = [
    "SCALE_FIRST",
    "STATUS_SECOND",
    "ApiError",
    "Bookmark",
    "Clock",
    "Conflict",
    "EventSink",
    "Expired",
    "ExternalQuestion",
    "HistoryStore",
    "Instruments",
    "Leadership",
    "ListWatch",
    "Mandate",
    "Metrics",
    "NotFound",
    "NotLeading",
    "NotMandated",
    "NotSent",
    "ObjectQuestion",
    "Page",
    "Past",
    "PodsQuestion",
    "Put",
    "Question",
    "Refused",
    "Rejected",
    "Removed",
    "Rescale",
    "ResourceQuestion",
    "ScaleReading",
    "Scales",
    "ServerFailure",
    "StatusWrite",
    "StatusWriter",
    "StoredShard",
    "Sync",
    "SyncObserver",
    "Tenured",
    "Terminating",
    "Throttled",
    "Turn",
    "Unreachable",
    "WatchEvent",
    "WatchedAutoscaler",
    "Withheld",
]
