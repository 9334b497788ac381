"""Whether HPAs are written at all, by namespace: said by operators in a ConfigMap, changed without a restart.

Where it is not known what operators want, nothing is written.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, Literal, cast, get_args

import msgspec
import structlog

from controller.cache import Listing
from controller.flag_values import is_namespace
from controller.ports import Withheld

Mode = Literal["write", "shadow", "freeze"]
MODES: Final[tuple[str, ...]] = get_args(Mode)

KEY: Final = "mode"
"""The ConfigMap's key for all namespaces; `mode.NAMESPACE` is that of one."""

OBEYED: Final = "hpa-controller.io/modes-configmap"
"""An annotation of the Lease: the ConfigMap of the modes that its holder obeys, beside the Lease; empty: none."""

REMINDED_EVERY_S: Final = 60.0

_SHADOW: Final = Withheld(
    "shadow",
    "only looked at, as the modes say: `hpa-controller promote NAMESPACE`, or --all, makes the controller write",
)
_THAW: Final = "`hpa-controller promote NAMESPACE` makes the controller write again"
_THAW_ALL: Final = "`hpa-controller promote --all` makes the controller write again"
_FROZEN: Final = Withheld("frozen", f"frozen by an operator: {_THAW}")
_ALL_FROZEN: Final = Withheld("frozen", f"frozen by an operator, as all namespaces are: {_THAW_ALL}")
_UNKNOWN: Final = Withheld("frozen", "nothing is written until the ConfigMap of the modes has been read")
_UNREADABLE: Final = Withheld("frozen", "the ConfigMap of the modes names no mode, or no namespace: nothing is written")

_log = structlog.get_logger(__name__)


class Modes(msgspec.Struct, frozen=True):
    """What operators want. `problems` name entries that are no modes, by namespace (all: empty), which are frozen."""

    everywhere: Mode = "write"
    by_namespace: Mapping[str, Mode] = {}
    problems: Mapping[str, str] = {}

    def of(self, namespace: str) -> Mode:
        """The mode of a namespace: a freeze of everything stands above what is said of single ones."""
        return "freeze" if self.everywhere == "freeze" else self.by_namespace.get(namespace, self.everywhere)

    @property
    def frozen(self) -> tuple[str, ...]:
        """What is frozen, in words."""
        if self.everywhere == "freeze":
            return ("all namespaces",)
        return tuple(sorted(name for name, mode in self.by_namespace.items() if mode == "freeze"))


def parse(data: Mapping[str, str]) -> Modes:
    """The modes that a ConfigMap's data say; other keys than those of modes are passed over."""
    everywhere: Mode = "write"
    by_namespace: dict[str, Mode] = {}
    problems: dict[str, str] = {}
    for key, text in data.items():
        name, separator, namespace = key.partition(".")
        if name != KEY:
            continue
        word, named, problem = text.strip(), is_namespace(namespace), ""
        if separator and not named:
            problem = f"{namespace!r} is no name of a namespace" if namespace else "no namespace follows the dot"
        elif word not in MODES:
            problem = f"{text!r} is none of {', '.join(MODES)}"
        if problem:
            problems[namespace if named else ""] = f"{key}: {problem}"
        mode = "freeze" if problem else cast("Mode", word)
        if named:
            by_namespace[namespace] = mode
        else:
            everywhere = mode
    # Whatever else is said of all: for whom something was meant is not known.
    return Modes("freeze" if "" in problems else everywhere, by_namespace, problems)


def unreadable(why: str) -> Modes:
    """Where it is not known what operators want: everything is frozen."""
    return Modes("freeze", problems={"": why})


class Orders:
    """The modes in force: the Store of the watch of one ConfigMap, or fixed ones."""

    def __init__(self, modes: Modes | None) -> None:
        """`modes` None: not known until the ConfigMap has been read, which withholds everything."""
        self._modes = modes

    @property
    def modes(self) -> Modes | None:
        """None while they are not known."""
        return self._modes

    def withheld(self, namespace: str) -> Withheld | None:
        """Why nothing may be written in a namespace, or None."""
        if self._modes is None:
            return _UNKNOWN
        match self._modes.of(namespace):
            case "write":
                return None
            case "shadow":
                return _SHADOW
            case "freeze":
                everywhere = self._modes.everywhere == "freeze"
                if ("" if everywhere else namespace) in self._modes.problems:
                    return _UNREADABLE
                return _ALL_FROZEN if everywhere else _FROZEN

    # --- see cache.Store ---

    def listing(self) -> Listing[Modes]:
        """See cache.Store."""
        return _OrdersListed(self)

    def put(self, item: Modes) -> None:
        """See cache.Store."""
        self._set(item)

    def remove(self, key: str) -> None:  # noqa: ARG002 - the protocol's
        """See cache.Store. Without the ConfigMap everything is written."""
        self._set(Modes())

    def _set(self, modes: Modes) -> None:
        before, self._modes = self._modes, modes
        if before != modes:
            namespaces = dict(sorted(modes.by_namespace.items()))
            if before is None:
                _log.info("modes", everywhere=modes.everywhere, namespaces=namespaces)
            else:
                _log.warning("the modes have changed", everywhere=modes.everywhere, namespaces=namespaces)
            self._remind()

    # --- loud while it lasts ---

    async def remind(self) -> None:
        """Say every minute that something is frozen."""
        while True:
            await asyncio.sleep(REMINDED_EVERY_S)
            self._remind()

    def lines(self) -> list[str]:
        """What people should know when they ask how the controller is."""
        if self._modes is None:
            return [f"[!]modes: {_UNKNOWN.message}"]
        shadowed = sorted(name for name, mode in self._modes.by_namespace.items() if mode == "shadow")
        scopes = ["all namespaces"] if self._modes.everywhere == "shadow" else shadowed
        thaw = _THAW_ALL if self._modes.everywhere == "freeze" else _THAW
        return [
            *(f"[!]modes: {problem}; what it is about is frozen" for problem in self._modes.problems.values()),
            *(f"[!]frozen: {scope}; {thaw}" for scope in self._modes.frozen),
            *(f"[i]shadow: {scope}" for scope in scopes),
        ]

    def _remind(self) -> None:
        if self._modes is None:
            return
        for problem in self._modes.problems.values():
            _log.error("a mode cannot be understood: what it is about is frozen", problem=problem)
        if self._modes.frozen:
            _log.warning("frozen: nothing is written until somebody promotes", namespaces=list(self._modes.frozen))


class _OrdersListed:
    """A Listing of one ConfigMap or none."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._modes = Modes()

    def put(self, item: Modes) -> None:
        self._modes = item

    def remove(self, key: str) -> None:  # noqa: ARG002 - the protocol's
        self._modes = Modes()

    def complete(self) -> None:
        self._orders.put(self._modes)
