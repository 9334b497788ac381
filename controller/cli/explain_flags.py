"""Flags that commands share which ask a controller: where it is, and which HPA it is about."""

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from controller.flag_values import namespace, whole

if TYPE_CHECKING:
    from controller.cli.explain_whereabouts import Whereabouts

_NAME: Final = re.compile("[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAMES_MAX: Final = 2


def add_whereabouts(parser: argparse.ArgumentParser, *, directly: bool = True) -> None:
    """How to find the controller; without any of them as kubectl finds the cluster, and by the Lease in it.

    `directly`: whether it may also be asked without a cluster.
    """
    where = parser.add_argument_group("which controller")
    if directly:
        where.add_argument(
            "--introspection-address",
            type=_address,
            metavar="HOST:PORT",
            help="ask this address directly (a controller's --introspection-bind-address) instead of through the "
            "cluster",
        )
    where.add_argument("--kubeconfig", default="", metavar="FILE", help="kubeconfig file; else as kubectl finds it")
    where.add_argument("--context", default="", metavar="NAME", help="context of the kubeconfig")
    where.add_argument(
        "--lease-namespace", default="", metavar="NAME", help="namespace of the controller's Lease (default: any)"
    )
    where.add_argument(
        "--lease-name", default="hpa-controller", metavar="NAME", help="name of its Lease (default hpa-controller)"
    )


def whereabouts_of(parsed: argparse.Namespace) -> "Whereabouts":
    """What the flags say."""
    from controller.cli.explain_whereabouts import Whereabouts  # noqa: PLC0415 - its libraries take half a second

    return Whereabouts(
        address=getattr(parsed, "introspection_address", None) or "",
        kubeconfig=parsed.kubeconfig,
        context=parsed.context,
        lease_namespace=parsed.lease_namespace,
        lease_name=parsed.lease_name,
    )


def count_between(least: int, most: int) -> Callable[[str], int]:
    """An argparse type: a whole number between these, themselves included."""

    def count(text: str) -> int:
        found = whole(text, least, most)
        if found is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return found

    return count


def add_hpa(parser: argparse.ArgumentParser, **extra: Any) -> None:
    """Which HPA, as kubectl has it or in one word; see `misnamed` and `hpa_of`.

    `extra` goes to the positional argument.
    """
    parser.add_argument("hpa", type=_hpa, metavar="[NAMESPACE/]NAME", **{"help": "the HPA", **extra})
    parser.add_argument(
        "-n",
        "--namespace",
        type=_namespace,
        default="",
        metavar="NAME",
        help="its namespace (default: the kubeconfig's; with --introspection-address: default)",
    )


def misnamed(parsed: argparse.Namespace) -> str:
    """What is wrong with how the HPA is named, empty if nothing."""
    if parsed.namespace and "/" in (parsed.hpa or ""):
        return f"{parsed.hpa} names a namespace itself: leave --namespace out"
    return ""


def hpa_of(parsed: argparse.Namespace, own_namespace: str) -> tuple[str, str]:
    """Namespace and name of the HPA; `own_namespace` is the kubeconfig's, empty without one."""
    namespace, _, name = parsed.hpa.rpartition("/")
    return namespace or parsed.namespace or own_namespace or "default", name


def _hpa(text: str) -> str:
    names = text.split("/")
    if len(names) > _NAMES_MAX or not all(map(_NAME.fullmatch, names)):
        raise argparse.ArgumentTypeError(f"{text!r} is not [NAMESPACE/]NAME")
    return text


def _namespace(text: str) -> str:
    return namespace(text) if text else text


def _address(text: str) -> str:
    host, separator, port = text.rpartition(":")
    bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not separator or bare or "/" in host or whole(port, 1, 2**16 - 1) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as 127.0.0.1:8082 or [::1]:8082")
    return f"{host or '127.0.0.1'}:{port}"
