"""Ways to start the controller that cannot work, and what it is to say."""

from __future__ import annotations

import dataclasses
import json
import socket
from typing import TYPE_CHECKING, Any

from tests.e2e.certificates import CertificateAuthority
from tests.e2e.kubeconfig import write_kubeconfig
from tests.e2e.namespaces import create_service_account
from tests.e2e.renewals import EXEC_VERSION
from tests.e2e.roles import LEASE_NAMESPACE
from tests.e2e.server_process import reserve_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane

BAD_INPUT, UNREACHED = 2, 3
SYNC_PERIOD = "--horizontal-pod-autoscaler-sync-period"


@dataclasses.dataclass(frozen=True)
class BadStart:
    """A start that cannot work; the pattern is what the last words on standard error are in full."""

    flags: tuple[str, ...]
    status: int
    said: str
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


def usage(said: str, *flags: str) -> BadStart:
    """Flags that are wrong in themselves; where help is to be found follows in a line of its own."""
    return BadStart(flags, BAD_INPUT, rf"hpa-controller run: {said}\nSee `hpa-controller run --help`\.")


def wrong_flags() -> dict[str, BadStart]:
    """No cluster is needed to say no to these."""
    plain = "hpa-controller: "
    return {
        "unknown-flag": usage("unknown flag --colour", "--colour=red"),
        "misspelt-flag": usage(rf"unknown flag {SYNC_PERIOD}e; did you mean {SYNC_PERIOD}\?", f"{SYNC_PERIOD}e=1s"),
        "no-unit": usage(
            rf"argument {SYNC_PERIOD}: '15' is not a duration such as 30s, 1m30s or 500ms", f"{SYNC_PERIOD}=15"
        ),
        "no-period": usage(f"argument {SYNC_PERIOD}: 0s is too short", f"{SYNC_PERIOD}=0s"),
        "no-workers": usage(
            "argument --concurrent-horizontal-pod-autoscaler-syncs: '0' is not a whole number from 1 on",
            "--concurrent-horizontal-pod-autoscaler-syncs=0",
        ),
        "argument": usage("unexpected argument 'now'", "now"),
        "unknown-gate": BadStart(
            ("--feature-gates=HPAScaleToNought=true",),
            BAD_INPUT,
            plain + r"--feature-gates: 'HPAScaleToNought' is unknown; known are HPAScaleToZero, .*",
        ),
        "contradiction": BadStart(
            ("--leader-elect-lease-duration=5s",),
            BAD_INPUT,
            plain + "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, in whole seconds",
        ),
        "lease-of-others": BadStart(
            (
                "--leader-elect-resource-namespace=kube-system",
                "--leader-elect-resource-name=kube-controller-manager",
            ),
            BAD_INPUT,
            plain + "--leader-elect-resource-name: .* is the control plane's own Lease; holding it would stop .*",
        ),
        "no-cluster": BadStart((), BAD_INPUT, plain + "no cluster to talk to: give --kubeconfig, .*"),
        "no-file": BadStart((), BAD_INPUT, plain + "/nowhere/config: no such file", {"KUBECONFIG": "/nowhere/config"}),
    }


async def wrong_clusters(plane: ControlPlane, folder: Path, stack: ExitStack) -> dict[str, BadStart]:
    """Kubeconfigs that are broken, and good ones of clusters that do not let us in."""
    authority, admin = plane.files.authority.certificate, plane.files.admin
    good = json.loads(plane.admin_kubeconfig.read_text())
    closed = stack.enter_context(reserve_port()).getsockname()[1]
    busy = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]

    def bad(name: str, content: str, status: int, said: str) -> BadStart:
        path = folder / name
        path.write_text(content)
        return BadStart((f"--kubeconfig={path}",), status, f"hpa-controller: {said.replace('PATH', str(path))}")

    def cluster(name: str, status: int, said: str, **changes: str) -> BadStart:
        return bad(name, json.dumps({**good, "clusters": [_cluster(good, changes)]}), status, said)

    def user(name: str, entry: Mapping[str, Any] | str, status: int, said: str) -> BadStart:
        path = write_kubeconfig(folder / name, plane.url, authority, entry)
        return BadStart((f"--kubeconfig={path}",), status, f"hpa-controller: {said.replace('PATH', str(path))}")

    def plugin(name: str, command: str, said: str) -> BadStart:
        return user(name, {"exec": {"apiVersion": EXEC_VERSION, "command": command}}, BAD_INPUT, said)

    def address(flag: str) -> BadStart:
        said = rf"hpa-controller: cannot listen on 127.0.0.1:{busy} \({flag}\): address already in use"
        return BadStart((f"--kubeconfig={plane.admin_kubeconfig}", f"{flag}=127.0.0.1:{busy}"), BAD_INPUT, said)

    stranger = CertificateAuthority(folder, "stranger").certificate
    untrusted = write_kubeconfig(folder / "untrusted", plane.url, stranger, admin)
    mismatched = {"client-certificate": str(admin.certificate), "client-key": str(plane.files.service_account_keys.key)}
    reaching = rf"the API server {plane.url} \(PATH, context e2e\) "
    return {
        "not-yaml": bad("not-yaml", "users: [1", BAD_INPUT, "PATH: not YAML: line 2: .*"),
        "a-list": bad("a-list", "- 1", BAD_INPUT, "PATH: not a kubeconfig: it holds a list, not a mapping"),
        "empty-file": bad("empty-file", "", BAD_INPUT, "PATH: not a kubeconfig: it is empty"),
        "unknown-context": BadStart(
            (f"--kubeconfig={plane.admin_kubeconfig}", "--context=production"),
            BAD_INPUT,
            f"hpa-controller: {plane.admin_kubeconfig}: context 'production' does not exist; there are 'e2e'",
        ),
        "no-address": cluster("no-address", BAD_INPUT, "PATH: cluster 'e2e' has no server", server=""),
        "bad-address": cluster(
            "bad-address", BAD_INPUT, "PATH: cluster 'e2e': 'ftp://x' is no address of a server .*", server="ftp://x"
        ),
        "bad-authority": cluster(
            "bad-authority",
            BAD_INPUT,
            "PATH, context e2e: the certificate authority cannot be used: .*",
            **{"certificate-authority-data": "AAAA"},
        ),
        "mismatched-key": user(
            "mismatched-key",
            mismatched,
            BAD_INPUT,
            "PATH, context e2e: the client certificate and its key cannot be used: .* key values mismatch .*",
        ),
        "no-token-file": user(
            "no-token-file",
            {"tokenFile": "gone"},
            BAD_INPUT,
            f"the token file {folder}/gone cannot be read: no such file or directory",
        ),
        "no-plugin": plugin(
            "no-plugin", "no-such-program", "the exec plug-in 'no-such-program' cannot be started: no such file .*"
        ),
        "failing-plugin": plugin("failing-plugin", "false", "the exec plug-in 'false' ended with status 1"),
        "babbling-plugin": plugin(
            "babbling-plugin", "echo", "the exec plug-in 'echo' printed no usable ExecCredential: .*"
        ),
        "unreachable": cluster(
            "unreachable",
            UNREACHED,
            rf"the API server https://127.0.0.1:{closed} \(.*\) cannot be reached: "
            rf"cannot connect to 127.0.0.1:{closed}: connection refused",
            server=f"https://127.0.0.1:{closed}",
        ),
        "untrusted": BadStart(
            (f"--kubeconfig={untrusted}",),
            UNREACHED,
            f"hpa-controller: {reaching.replace('PATH', str(untrusted))}cannot be reached: "
            "its certificate is not trusted: unable to get local issuer certificate",
        ),
        "no-tls": cluster(
            "no-tls",
            UNREACHED,
            ".* cannot be reached: Client sent an HTTP request to an HTTPS server.",
            server=plane.url.replace("https", "http"),
        ),
        "invalid-token": user(
            "invalid-token",
            await _revoked_token(plane),
            UNREACHED,
            reaching + "does not accept our credentials: Unauthorized",
        ),
        "occupied-metrics": address("--metrics-bind-address"),
        "occupied-health": address("--health-probe-bind-address"),
        "no-port": BadStart(
            (f"--kubeconfig={plane.admin_kubeconfig}", "--metrics-bind-address=8080"),
            BAD_INPUT,
            "hpa-controller run: argument --metrics-bind-address: '8080' is no address such as :8080 or "
            "127.0.0.1:8080\nSee `hpa-controller run --help`.",
        ),
        "no-room-to-record": BadStart(
            (f"--kubeconfig={plane.admin_kubeconfig}", "--record=/dev/null/recordings"),
            BAD_INPUT,
            "hpa-controller: --record: cannot write to /dev/null/recordings: not a directory",
        ),
    }


def _cluster(good: Mapping[str, Any], changes: Mapping[str, str]) -> dict[str, Any]:
    (entry,) = good["clusters"]
    return {**entry, "cluster": {**entry["cluster"], **changes}}


async def _revoked_token(plane: ControlPlane) -> str:
    """A token that was good, of an account that is gone."""
    name = "short-lived"
    await create_service_account(plane.admin, LEASE_NAMESPACE, name)
    token = await plane.service_account_token(LEASE_NAMESPACE, name)
    await plane.admin.delete(f"/api/v1/namespaces/{LEASE_NAMESPACE}/serviceaccounts/{name}")
    return token
