"""Which servers are asked through the environment's proxy; of each line kubectl makes the same."""

import pytest

from controller.kube.proxies import Named, proxy_of

ADDRESS = "https://10.255.255.1:6443"
NAME = "https://api.shop.invalid:6443"
LONG = "https://[fd00::1]:6443"
PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environment", "named"),
    [
        (ADDRESS, {}, None),
        (ADDRESS, {"HTTPS_PROXY": PROXY}, Named(PROXY, "HTTPS_PROXY")),
        (ADDRESS, {"https_proxy": "proxy:3128"}, Named(PROXY, "https_proxy")),
        (ADDRESS, {"HTTPS_PROXY": PROXY, "https_proxy": "http://other"}, Named(PROXY, "HTTPS_PROXY")),
        (ADDRESS, {"HTTPS_PROXY": "", "https_proxy": PROXY}, Named(PROXY, "https_proxy")),
        (ADDRESS, {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, None),
        ("http://10.255.255.1", {"http_proxy": PROXY}, Named(PROXY, "http_proxy")),
        ("http://10.255.255.1", {"HTTPS_PROXY": PROXY}, None),
    ],
)
def test_the_variable_is_that_of_the_scheme(server: str, environment: dict[str, str], named: Named | None) -> None:
    assert proxy_of(server, environment) == named


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "[::1]", "localhost"])
def test_a_server_on_this_machine_is_asked_directly(host: str) -> None:
    assert proxy_of(f"https://{host}:9", {"HTTPS_PROXY": PROXY}) is None


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
@pytest.mark.parametrize(
    ("server", "entry"),
    [
        (ADDRESS, "10.255.255.1"),
        (ADDRESS, "10.255.255.1:6443"),
        (ADDRESS, "10.0.0.0/8"),
        (ADDRESS, " 10.255.255.1 ,x"),
        (ADDRESS, "x,*"),
        (NAME, "api.shop.invalid"),
        (NAME, "API.Shop.invalid:6443"),
        (NAME, "shop.invalid"),
        (NAME, ".shop.invalid"),
        (NAME, "*.invalid"),
        ("https://api.shop.invalid", "shop.invalid:443"),
        (LONG, "fd00:0::1"),
        (LONG, "[fd00::1]:6443"),
        (LONG, "fd00::/8"),
    ],
)
def test_what_no_proxy_has_is_asked_directly(server: str, entry: str, name: str) -> None:
    assert proxy_of(server, {"HTTPS_PROXY": PROXY, name: entry}) is None


@pytest.mark.parametrize(
    ("server", "entry"),
    [
        (ADDRESS, "10.255.255.1:443"),
        (ADDRESS, "11.0.0.0/8"),
        (ADDRESS, "10.0.0.0/xx"),
        (ADDRESS, "255.1"),
        (ADDRESS, "fd00::/8"),
        (NAME, "10.0.0.0/8"),
        (NAME, "hop.invalid"),
        (NAME, "shop.invalid:1"),
        (NAME, ".api.shop.invalid"),
        (NAME, "*.api.shop.invalid"),
        (NAME, "*invalid"),
        (NAME, ":6443"),
        (NAME, "."),
        (NAME, " ,,"),
        (LONG, "[fd00::1]"),
        (LONG, "[fd00::1]:1"),
    ],
)
def test_what_no_proxy_does_not_have_is_asked_through_it(server: str, entry: str) -> None:
    assert proxy_of(server, {"HTTPS_PROXY": PROXY, "NO_PROXY": entry}) is not None
