"""Certificates and keys of a throw-away control plane, made at run time and never kept."""

from __future__ import annotations

import dataclasses
import datetime as dt
import ipaddress
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_VALIDITY = dt.timedelta(days=7)
# Tolerates machines whose clocks differ a little.
_BACKDATING = dt.timedelta(minutes=10)


@dataclasses.dataclass(frozen=True, slots=True)
class Credential:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


class CertificateAuthority:
    """Issues certificates that end in a folder; its own is ``<name>.crt`` there."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._builder(self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        certificate = own.sign(self._key, hashes.SHA256())
        self.certificate_pem = certificate.public_bytes(serialization.Encoding.PEM)
        self.certificate = folder / f"{name}.crt"
        _write(self.certificate, self.certificate_pem)

    def issue_client(self, file_name: str, user: str, groups: Sequence[str] = ()) -> Credential:
        """A client credential: Kubernetes reads the user from its common name, groups from organizations."""
        names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return self._issue(file_name, x509.Name(names), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def issue_server(self, file_name: str, dns_names: Sequence[str]) -> Credential:
        """A serving credential for the DNS names, localhost and 127.0.0.1."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in ("localhost", *dns_names)]
        names.append(x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, file_name)])
        return self._issue(file_name, subject, ExtendedKeyUsageOID.SERVER_AUTH, x509.SubjectAlternativeName(names))

    def _issue(
        self,
        file_name: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> Credential:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        credential = Credential(self._folder / f"{file_name}.crt", self._folder / f"{file_name}.key")
        certificate = builder.sign(self._key, hashes.SHA256())
        _write(credential.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        _write(credential.key, private_key_pem(key))
        return credential

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)  # noqa: TID251  # a certificate is valid in wall time
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATING)
            .not_valid_after(now + _VALIDITY)
        )


def write_signing_keys(folder: Path, name: str) -> Credential:
    """A bare key pair as service account tokens are signed with; ``certificate`` is the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Credential(folder / f"{name}.pub", folder / f"{name}.key")
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write(pair.certificate, public)
    _write(pair.key, private_key_pem(key))
    return pair


def private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as an unencrypted PEM file holds it."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
