"""The API server for the first time: whether it answers, and what it says it is."""

from typing import Final

import structlog
import tenacity

from controller.kube.client import Client
from controller.kube.credentials import CredentialsError
from controller.kube.discovery_documents import served_group_versions
from controller.kube.errors import Untrusted
from controller.kube.kubeconfig import Access
from controller.kube.kubeconfig_files import ConfigurationError
from controller.kube.sessions import CertificatesError
from controller.kube.traffic import Traffic
from controller.ports import ApiError, Refused, ServerFailure, Throttled, Unreachable
from controller.surroundings import Cluster
from controller.wire.objects import git_version

REACHED_WITHIN_S: Final = 10.0
_FORBIDDEN: Final = 403

_log = structlog.get_logger(__name__)


class Unreached(Exception):
    """The API server could not be reached at the start; the message names it and says why."""


async def reach(client: Client, access: Access) -> dict[str, str]:
    """Ask the API server for its version, a few times if need be; gives what is worth a log line.

    Raises:
        ConfigurationError: credentials cannot be had or used.
        Unreached: it does not answer, or not to us.
    """
    retrying = tenacity.AsyncRetrying(
        stop=tenacity.stop_after_delay(REACHED_WITHIN_S),
        wait=tenacity.wait_fixed(1.0),
        retry=tenacity.retry_if_exception(_may_pass),
        before_sleep=_waiting,
        reraise=True,
    )
    where = f"the API server {access.server} ({access.source})"
    try:
        version: str = await retrying(Look(client).version)
    except Refused as error:
        raise Unreached(f"{where} does not accept our credentials: {error}") from error
    except ApiError as error:
        if _unusable(error):
            raise ConfigurationError(str(error)) from error
        raise Unreached(f"{where} cannot be reached: {error}") from error
    return {"server": access.server, "server_version": version, "access": access.source}


class Look:
    """Asks the API server what it is and what it serves."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tells = True

    async def __call__(self) -> Cluster:
        """Both. Raises ApiError."""
        return Cluster(await self.version(), await served_group_versions(self._client))

    async def version(self) -> str:
        """What it calls itself, `unknown` where it does not tell, as hardened ones do not; those are not asked again.

        Raises:
            ApiError: it cannot be asked, or does not accept our credentials.
        """
        said = b""
        if self._tells:
            try:
                said = await self._client.get("/version", Traffic.DISCOVERY, timeout_s=REACHED_WITHIN_S)
            except Refused as error:
                if error.status != _FORBIDDEN:
                    raise
                self._tells = False
        return git_version(said)


def _may_pass(error: BaseException) -> bool:
    """Whether it may be another failure, or none, in a second."""
    passing = isinstance(error, Unreachable | ServerFailure | Throttled)
    return passing and not isinstance(error, Untrusted) and not _unusable(error)


def _unusable(error: BaseException) -> bool:
    """Whether nothing was sent for want of credentials: at the start that is a mistake, later it may pass."""
    return isinstance(error.__cause__, CredentialsError | CertificatesError)


def _waiting(state: tenacity.RetryCallState) -> None:
    if state.attempt_number == 1:
        error = state.outcome.exception() if state.outcome is not None else None
        _log.warning("the API server does not answer yet", error=str(error), waiting_s=REACHED_WITHIN_S)
