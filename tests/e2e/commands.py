"""The command lines of the control plane's programs, and the files and ports that they share.

Programs that are not built raise ProgramError.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from typing import TYPE_CHECKING

from tests.e2e.audit import AUDIT_POLICY
from tests.e2e.certificates import CertificateAuthority, write_signing_keys
from tests.e2e.kubeconfig import write_kubeconfig
from tests.e2e.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# The common name under which kube-apiserver introduces itself to aggregated API servers; kubeadm chose it.
FRONT_PROXY_NAME = "front-proxy-client"


@dataclasses.dataclass(frozen=True, slots=True)
class Ports:
    """The loopback port of each listener."""

    etcd: int
    etcd_peer: int
    api_server: int
    controller_manager: int


class Files:
    """Everything the programs read and write, made new in a folder: ``logs``, which stay, and ``state``."""

    def __init__(self, folder: Path) -> None:
        self.logs = _private_folder(folder / "logs")
        self.state = _private_folder(folder / "state")
        self.certificates = _private_folder(self.state / "certificates")
        self.kubeconfigs = _private_folder(self.state / "kubeconfigs")
        self.etcd_data = _private_folder(self.state / "etcd")
        self.kubectl_home = _private_folder(self.state / "kubectl")
        self.authority = CertificateAuthority(self.certificates, "ca")
        self.front_proxy_authority = CertificateAuthority(self.certificates, "front-proxy-ca")
        self.service_account_keys = write_signing_keys(self.certificates, "service-account")
        self.admin = self.authority.issue_client("admin", "e2e-admin", ["system:masters"])
        self.audit_log = self.logs / "audit.log"
        self.audit_policy = self.state / "audit-policy.json"
        self.audit_policy.write_text(json.dumps(AUDIT_POLICY, indent=2))

    def remove_state(self) -> None:
        """Removes keys and data, which nobody can use after the programs have ended; logs stay."""
        shutil.rmtree(self.state)


def etcd_command(files: Files, ports: Ports) -> list[str]:
    """One member, its data in the folder, without the disk's assurance that a test does not need."""
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    flags = {
        "name": "e2e",
        "data-dir": files.etcd_data,
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"e2e={peer}",
        "socket-reuse-port": True,
        "unsafe-no-fsync": True,
        "log-level": "warn",
    }
    return _command("etcd", flags)


def api_server_command(files: Files, ports: Ports, feature_gates: Mapping[str, bool]) -> list[str]:
    """As a cluster would run it: RBAC, priority and fairness, aggregation, all default admission plugins."""
    serving = files.authority.issue_server("kube-apiserver", ["kubernetes.default.svc"])
    proxy = files.front_proxy_authority.issue_client("front-proxy-client", FRONT_PROXY_NAME)
    flags: dict[str, object] = {
        "etcd-servers": f"http://127.0.0.1:{ports.etcd}",
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        # The endpoint of the service `kubernetes` may not be a loopback address, and nothing needs it.
        "endpoint-reconciler-type": "none",
        "secure-port": ports.api_server,
        "permit-port-sharing": True,
        "service-cluster-ip-range": "10.96.0.0/24",
        "authorization-mode": "RBAC",
        "client-ca-file": files.authority.certificate,
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": files.service_account_keys.certificate,
        "service-account-signing-key-file": files.service_account_keys.key,
        "requestheader-client-ca-file": files.front_proxy_authority.certificate,
        "requestheader-allowed-names": FRONT_PROXY_NAME,
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-uid-headers": "X-Remote-Uid",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": proxy.certificate,
        "proxy-client-key-file": proxy.key,
        "enable-aggregator-routing": False,
        "audit-policy-file": files.audit_policy,
        "audit-log-path": files.audit_log,
        "audit-log-format": "json",
        # One file, however long: readers keep positions in it.
        "audit-log-maxsize": 0,
    }
    return _command("kube-apiserver", {**flags, **_gates(feature_gates)})


def controller_manager_command(
    files: Files, ports: Ports, feature_gates: Mapping[str, bool], controllers: Sequence[str]
) -> list[str]:
    """Only the named controllers, each with a service account of its own, without leader election."""
    identity = files.authority.issue_client("kube-controller-manager", "system:kube-controller-manager")
    serving = files.authority.issue_server("kube-controller-manager-serving", [])
    kubeconfig = write_kubeconfig(
        files.kubeconfigs / "kube-controller-manager",
        f"https://127.0.0.1:{ports.api_server}",
        files.authority.certificate,
        identity,
    )
    flags: dict[str, object] = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "controllers": ",".join(controllers),
        "use-service-account-credentials": True,
        "service-account-private-key-file": files.service_account_keys.key,
        "root-ca-file": files.authority.certificate,
        "leader-elect": False,
        "bind-address": "127.0.0.1",
        "secure-port": ports.controller_manager,
        "permit-port-sharing": True,
        "client-ca-file": files.authority.certificate,
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
    }
    return _command("kube-controller-manager", {**flags, **_gates(feature_gates)})


def _gates(feature_gates: Mapping[str, bool]) -> dict[str, object]:
    listed = ",".join(f"{name}={str(value).lower()}" for name, value in feature_gates.items())
    return {"feature-gates": listed} if listed else {}


def _command(program: str, flags: Mapping[str, object]) -> list[str]:
    written = {name: str(value).lower() if isinstance(value, bool) else value for name, value in flags.items()}
    return [str(find_program(program)), *(f"--{name}={value}" for name, value in written.items())]


def _private_folder(path: Path) -> Path:
    path.mkdir(mode=0o700)
    return path
