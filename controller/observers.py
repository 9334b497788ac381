"""Telling of syncs to whoever looks at them."""

import structlog

from controller.ports import Sync, SyncObserver

_log = structlog.get_logger(__name__)


def tell(observers: tuple[SyncObserver, ...], sync: Sync) -> None:
    """Tell all of them; an error of one is logged, and costs neither the others nor the HPA anything."""
    for observer in observers:
        try:
            observer(sync)
        except Exception:  # noqa: BLE001 - whatever it is, the sync goes on
            _log.exception("a sync could not be told of", hpa=sync.autoscaler.key, observer=repr(observer))
