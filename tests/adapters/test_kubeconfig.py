import json
from pathlib import Path
from typing import Any

import pytest

from controller.kube.credentials import FileToken, FixedCredentials, NoCredentials
from controller.kube.exec_plugin import ExecPlugin
from controller.kube.kubeconfig import Access, load, of_pod
from controller.kube.kubeconfig_files import ConfigurationError
from tests.adapters.parts import SetClock

SERVER = "https://10.0.0.1:6443"


def config(
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    name: str = "c",
    current: str | None = None,
    **more: Any,
) -> str:
    return json.dumps(
        {
            "current-context": name if current is None else current,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "here"}}],
            "clusters": [{"name": name, "cluster": {"server": SERVER, **(cluster or {})}}],
            "users": [{"name": name, "user": user or {}}],
            **more,
        }
    )


def loaded(path: Path, content: str, **options: Any) -> Access:
    path.write_text(content)
    return load(str(path), environment={}, **options)


def test_the_current_context_says_where_and_who(tmp_path: Path) -> None:
    access = loaded(tmp_path / "config", config({"token": "t"}, {"server": SERVER + "/prefix/"}))
    assert access.server == SERVER + "/prefix"
    assert access.namespace == "here"
    assert access.verify
    assert isinstance(access.tokens, FixedCredentials)


def test_file_names_are_relative_to_the_file(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key", "token"):
        (tmp_path / name).write_text(name)
    user = {"client-certificate": "cert", "client-key": "key", "tokenFile": "token"}
    access = loaded(tmp_path / "config", config(user, {"certificate-authority": "ca"}))
    files = (access.ca_file, access.certificate_file, access.key_file)
    assert files == (str(tmp_path / "ca"), str(tmp_path / "cert"), str(tmp_path / "key"))
    assert isinstance(access.tokens, FileToken)


def test_of_several_files_the_first_wins_and_missing_ones_are_passed_over(tmp_path: Path) -> None:
    first, second, empty = tmp_path / "a", tmp_path / "b", tmp_path / "e"
    first.write_text(config({"token": "first"}, name="a"))
    second.write_text(config({"token": "second"}, {"server": "https://other"}, name="a"))
    empty.write_text("")
    access = load(None, environment={"KUBECONFIG": f"{tmp_path / 'gone'}:{empty}:{first}:{second}"})
    assert access.server == SERVER


def test_a_context_may_be_chosen_and_the_address_replaced(tmp_path: Path) -> None:
    contexts = [{"name": "other", "context": {"cluster": "c", "user": "c"}}]
    access = loaded(tmp_path / "x", config(contexts=contexts), context="other", master="http://127.0.0.1:8001/")
    assert access.server == "http://127.0.0.1:8001"
    assert access.namespace == "default"


def test_an_address_alone_is_enough(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    path = tmp_path / "config"
    path.write_text(config())
    assert load(str(path), environment=environment, master="http://127.0.0.1:1").server == "http://127.0.0.1:1"


def test_what_goes_with_a_cluster_is_kept(tmp_path: Path) -> None:
    cluster = {"tls-server-name": "api", "insecure-skip-tls-verify": True, "proxy-url": "http://proxy:3128"}
    access = loaded(tmp_path / "x", config(cluster=cluster))
    assert access.server_name == "api"
    assert not access.verify
    assert access.proxy is not None
    assert access.proxy.startswith("http://proxy:3128")


def test_a_cluster_without_a_proxy_is_reached_through_that_of_the_environment(tmp_path: Path) -> None:
    given, environment = tmp_path / "given", {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": "near"}
    given.write_text(config(cluster={"proxy-url": "http://own:3128"}))
    assert load(str(given), environment=environment).proxy == "http://own:3128"
    given.write_text(config())
    assert load(str(given), environment=environment).proxy == "http://proxy:3128"
    assert load(str(given), environment=environment, master="https://near").proxy is None
    with pytest.raises(
        ConfigurationError, match=r"^HTTPS_PROXY, .* https://10\.0\.0\.1:6443: only http:// and https://"
    ):
        load(str(given), environment={"HTTPS_PROXY": "socks5://proxy"})


@pytest.mark.parametrize("value", [False, None])
def test_a_certificate_is_verified_where_the_cluster_does_not_say_otherwise(tmp_path: Path, value: Any) -> None:
    assert loaded(tmp_path / "x", config(cluster={"insecure-skip-tls-verify": value})).verify


def test_acting_as_somebody_is_said_in_headers(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"example.org/x": ["1", "2"]}}
    assert loaded(tmp_path / "x", config(user)).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.org%2Fx", "1"),
        ("Impersonate-Extra-example.org%2Fx", "2"),
    )


def test_programs_are_found_beside_the_file_or_in_the_path(tmp_path: Path) -> None:
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": "bin/login"}
    tokens = loaded(tmp_path / "x", config({"exec": entry})).tokens
    assert isinstance(tokens, ExecPlugin)
    assert tokens._command == [str(tmp_path / "bin/login")]
    tokens = loaded(tmp_path / "x", config({"exec": {**entry, "command": "login"}})).tokens
    assert isinstance(tokens, ExecPlugin)
    assert tokens._command == ["login"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (config({"auth-provider": {"name": "oidc"}}), "auth-provider 'oidc', which is not supported; use an exec"),
        (config({"exec": {"command": "x"}}), "user 'c': exec: apiVersion is ''"),
        (config({"token": "a b"}), "user 'c': its token holds no token"),
        (config({"client-certificate-data": "Q0E="}), "a client certificate without its key"),
        (config({"client-certificate-data": "Q0E=", "client-key-data": "Q*0E="}), "client-key-data is no base64"),
        (config({"client-certificate-data": "Q0E", "client-key-data": "Q0E="}), "certificate-data is no base64"),
        (config(cluster={"certificate-authority-data": "-----"}), "the cluster's certificate-authority-data is no"),
        (config(cluster={"certificate-authority-data": "MIL/"}), "certificate-authority-data is no PEM"),
        (config(cluster={"certificate-authority": "ca"}), "the cluster's certificate-authority does not exist: /"),
        (config({"client-certificate": "cert", "client-key-data": "Q0E="}), "client-certificate does not exist: /"),
        (config({"client-certificate": "LS0t" * 2000}), "content belongs into client-certificate-data"),
        (config({"as-groups": ["a"]}), "need `as`"),
        (config({"as-uid": "7"}), "need `as`"),
        (config({"as-user-extra": {"a": ["b"]}}), "need `as`"),
        (config({"as": "a", "as-groups": "b"}), "as-groups is not a list"),
        (config({"as": False}), "user 'c': as: False is no text"),
        (config({"as": "a\nX: y"}), "line breaks"),
        (config(cluster={"server": "10.0.0.1"}), "is no address of a server such as"),
        (config(cluster={"server": "https://u:p@x"}), "do not belong into addresses"),
        (config(cluster={"server": "https://x/?a=b"}), "neither"),
        (config(cluster={"proxy-url": "socks5://x"}), "only http:// and https:// proxies"),
        (
            config(cluster={"insecure-skip-tls-verify": "false"}),
            "cluster 'c': insecure-skip-tls-verify: 'false' is neither",
        ),
        (config(cluster={"insecure-skip-tls-verify": 0}), "insecure-skip-tls-verify: 0 is neither true nor false"),
        (config(cluster={"tls-server-name": "api\x00.internal"}), r"tls-server-name: 'api\\x00.internal' is no name"),
        (config(cluster={"tls-server-name": "a..b"}), r"tls-server-name: 'a..b' is no name of a server"),
        (config(cluster={"tls-server-name": "a" * 64}), "tls-server-name: 'aaa"),
        (config(current=""), "no current-context is set; there are 'c'"),
        (config(current="z"), "context 'z' does not exist; there are 'c'"),
        (config(users=[]), "user 'c' does not exist; there are none"),
        (config(users={"c": {}}), "users is not a list"),
        (config(clusters=[{}]), "an entry of clusters has no name"),
        (config(clusters=[{"name": "c", "cluster": "x"}]), "cluster is not a mapping"),
        ("", "it is empty"),
        ("[]", "not a kubeconfig"),
        ("a: [", "not YAML: line"),
        ("\x00", "not YAML"),
    ],
)
def test_what_cannot_be_used_is_said_with_the_file(tmp_path: Path, content: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text) as caught:
        loaded(tmp_path / "config", content)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "config") in str(caught.value)
    assert "u:p" not in str(caught.value)
    assert "LS0t" not in str(caught.value)


def test_no_file_is_said() -> None:
    with pytest.raises(ConfigurationError, match="/nowhere: no such file"):
        load("/nowhere", environment={})


@pytest.mark.parametrize("environment", [{}, {"KUBECONFIG": "~nosuchuser/config"}])
def test_a_user_without_a_home_is_said_with_the_path(environment: dict[str, str]) -> None:
    named = None if environment else "~nosuchuser/config"
    with pytest.raises(ConfigurationError, match=r"^~nosuchuser/config: there is no home folder"):
        load(named, environment=environment)


def test_data_may_be_broken_into_lines(tmp_path: Path) -> None:
    user = {"client-certificate-data": "Q0\nE=\n", "client-key-data": "S0\r\nVZ"}
    access = loaded(tmp_path / "x", config(user))
    assert access.certificate == ("CA", "KEY")
    assert access.certificate_file is None


def test_data_counts_more_than_a_file_and_goes_with_the_other_ones_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from a file")
    user = {"client-certificate-data": "Q0E=", "client-certificate": "gone", "client-key": "key"}
    cluster = {"certificate-authority-data": "Q0E=", "certificate-authority": "gone"}
    access = loaded(tmp_path / "x", config(user, cluster))
    assert access.certificate == ("CA", "from a file")
    assert (access.ca_text, access.ca_file) == ("CA", None)


def test_a_key_without_a_certificate_is_passed_over(tmp_path: Path) -> None:
    access = loaded(tmp_path / "x", config({"client-key-data": "Q0E=", "token": "t"}))
    assert (access.certificate, access.key_file) == (None, None)


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_a_pod_whose_files_are_empty_has_no_account(tmp_path: Path, name: str) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("ca")
    (tmp_path / name).write_text("")
    with pytest.raises(ConfigurationError, match=f"{name} is missing or empty"):
        of_pod(environment, tmp_path)


def test_a_pod_without_its_variables_says_so(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("ca")
    with pytest.raises(ConfigurationError, match="_PORT is not set"):
        of_pod({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)


async def test_a_pod_has_its_files(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigurationError, match="automountServiceAccountToken"):
        of_pod(environment, tmp_path)
    for name, text in (("token", "t"), ("ca.crt", "ca"), ("namespace", "ours\n")):
        (tmp_path / name).write_text(text)
    access = of_pod(environment, tmp_path)
    assert (access.server, access.namespace) == ("https://[::1]:443", "ours")
    assert access.ca_file == str(tmp_path / "ca.crt")
    clock = SetClock()
    assert (await access.tokens.credentials(clock)).authorization == "Bearer t"
    (tmp_path / "token").write_text("u")
    assert (await access.tokens.credentials(clock)).authorization == "Bearer t"
    clock.now_s = 61
    assert (await access.tokens.credentials(clock)).authorization == "Bearer u"
    (tmp_path / "token").write_text("")
    clock.now_s = 200
    assert (await access.tokens.credentials(clock)).authorization == "Bearer u", "half-written files are passed over"


def test_nobody_is_somebody_too(tmp_path: Path) -> None:
    assert isinstance(loaded(tmp_path / "x", config()).tokens, NoCredentials)
