"""Helm installs, upgrades, rolls back and uninstalls the chart, with several sets of values."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
import yaml

from tests.e2e.chart.releases import CHART, HelmError, flags_of, objects_of
from tests.e2e.namespaces import create_service_account

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.e2e.chart.releases import Helm
    from tests.e2e.control_plane import ControlPlane

pytestmark = pytest.mark.usefixtures("operator_kinds")

RELEASE = "hpa-controller"
EXTRA = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: "{{ .Release.Name }}-extra"
  labels: {app.kubernetes.io/instance: "{{ .Release.Name }}"}
"""
EVERYTHING: dict[str, Any] = {
    "horizontalPodAutoscalerSyncPeriod": "10s",
    "horizontalPodAutoscalerTolerance": 0.05,
    "featureGates": {"HPAScaleToZero": True},
    "prometheus": {
        "serviceMonitor": {"enabled": True, "interval": "30s", "additionalLabels": {"release": "monitoring"}},
        "prometheusRules": {"enabled": True, "alertLabels": {"team": "platform"}, "disabled": ["HPAFlapping"]},
        "kubeControllerManagerJob": True,
    },
    "grafanaDashboard": {"enabled": True},
    "metrics": {"secure": True, "tlsSecretName": "metrics-certificate"},
    "networkPolicy": {
        "enabled": True,
        "apiServerCidrs": ["127.0.0.1/32"],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
    },
    "podDisruptionBudget": {"minAvailable": "50%"},
    "tolerateControlPlane": True,
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "extraObjects": [EXTRA],
}
SHADOW = {"shadow": True, "prometheus": {"podMonitor": {"enabled": True}, "prometheusRules": {"enabled": True}}}
LITTLE = {
    "replicaCount": 1,
    "leaderElect": False,
    "scaleReads": "api",
    "rbac": {"create": False},
    "flowSchema": {"create": False},
    "serviceAccount": {"create": False, "name": "given"},
    "priorityClassName": "",
}
GIVEN_ACCOUNT = {"serviceAccount": {"create": False, "name": "given"}}
KINDS_ALWAYS = {"Deployment", "Service", "ServiceAccount", "PodDisruptionBudget", "FlowSchema"}
KINDS_OF_RBAC = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


@pytest_asyncio.fixture(loop_scope="session")
async def restricted(control_plane: ControlPlane, namespace: str) -> str:
    """A namespace in which Pod Security enforces the strictest level, and warns."""
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    await control_plane.admin.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})
    await create_service_account(control_plane.admin, namespace, "given")
    return namespace


async def kinds(control_plane: ControlPlane, namespace: str) -> set[str]:
    return {name.partition("/")[0] for name in await objects_of(control_plane.admin, RELEASE, namespace)}


async def admitted(control_plane: ControlPlane, namespace: str) -> None:
    """A pod of the Deployment passes admission: account, priority class, Pod Security."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{RELEASE}"
    template = (await control_plane.admin.get(path))["spec"]["template"]
    pod = {"metadata": {"generateName": "try-", "labels": template["metadata"]["labels"]}, "spec": template["spec"]}
    made = await control_plane.admin.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    mounted = [volume["name"] for volume in made["spec"]["volumes"] if "projected" in volume]
    assert mounted, "the token is mounted"


async def test_a_release_through_all_of_its_life(control_plane: ControlPlane, helm: Helm, restricted: str) -> None:
    admin, at = control_plane.admin, restricted
    notes = await helm.apply("install", RELEASE, at, {})
    assert f"kubectl -n {at} get lease {RELEASE}" in notes
    assert await kinds(control_plane, at) == KINDS_ALWAYS | KINDS_OF_RBAC
    await admitted(control_plane, at)

    await helm.apply("upgrade", RELEASE, at, EVERYTHING)
    monitoring = {"ConfigMap", "NetworkPolicy", "ServiceMonitor", "PrometheusRule"}
    assert await kinds(control_plane, at) == KINDS_ALWAYS | KINDS_OF_RBAC | monitoring
    await admitted(control_plane, at)
    found = await objects_of(admin, RELEASE, at)
    assert f"ConfigMap/{RELEASE}-extra" in found
    upgraded = flags_of(found[f"Deployment/{RELEASE}"])
    assert "--horizontal-pod-autoscaler-tolerance=0.05" in upgraded
    assert "--feature-gates=HPAScaleToZero=true" in upgraded
    assert "--metrics-secure" in upgraded

    notes = await helm.apply("upgrade", RELEASE, at, SHADOW)
    assert "as a shadow" in notes
    found = await objects_of(admin, RELEASE, at)
    everything_but_the_lease = KINDS_ALWAYS | {"ClusterRole", "ClusterRoleBinding", "PodMonitor", "PrometheusRule"}
    assert {name.partition("/")[0] for name in found} == everything_but_the_lease
    assert "--shadow" in flags_of(found[f"Deployment/{RELEASE}"])
    (role,) = (item for name, item in found.items() if name.startswith("ClusterRole/"))
    verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}, "a shadow may write nothing"

    notes = await helm.apply("upgrade", RELEASE, at, LITTLE)
    assert "rbac.create is false" in notes
    assert await kinds(control_plane, at) == {"Deployment", "Service"}
    await admitted(control_plane, at)

    await helm.apply("upgrade", RELEASE, at, {"namespaces": [at, "default"], "modesConfigmap": "modes"})
    assert await kinds(control_plane, at) == KINDS_ALWAYS | {"Role", "RoleBinding"}
    elsewhere = await admin.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/{at}-{RELEASE}")
    assert elsewhere["rules"]

    await helm.run("rollback", RELEASE, "2", "--namespace", at)
    found = await objects_of(admin, RELEASE, at)
    assert flags_of(found[f"Deployment/{RELEASE}"]) == upgraded

    await helm.run("uninstall", RELEASE, "--namespace", at)
    assert await objects_of(admin, RELEASE, at) == {}


@pytest.mark.parametrize("values", [EVERYTHING, SHADOW, LITTLE], ids=["everything", "shadow", "little"])
async def test_each_set_of_values_can_be_installed_at_once(
    control_plane: ControlPlane, helm: Helm, restricted: str, values: Mapping[str, Any]
) -> None:
    await helm.apply("install", "first", restricted, values)
    await helm.run("uninstall", "first", "--namespace", restricted)
    assert await objects_of(control_plane.admin, "first", restricted) == {}


async def test_names_that_yaml_reads_as_something_else_stay_texts_and_large_numbers_whole(
    control_plane: ControlPlane, helm: Helm, restricted: str
) -> None:
    values = EVERYTHING | {
        "nameOverride": "2048",
        "fullnameOverride": "on",
        "terminationGracePeriodSeconds": 1_000_000,
        "metricsSources": {"custom": ["prometheus"]},
        "prometheus": EVERYTHING["prometheus"] | {"url": "http://prometheus:9090", "existingRulesConfigMap": "1e3"},
        "metrics": {"secure": True, "tlsSecretName": "2048"},
        "networkPolicy": EVERYTHING["networkPolicy"] | {"additionalEgress": [{}]},
    }
    await helm.apply("install", "first", restricted, values)
    found = await objects_of(control_plane.admin, "first", restricted)
    deployment = found["Deployment/on"]
    assert deployment["metadata"]["labels"]["app.kubernetes.io/name"] == "2048"
    pod = deployment["spec"]["template"]["spec"]
    assert [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume] == ["1e3"]
    assert pod["terminationGracePeriodSeconds"] == 1_000_000
    await helm.run("uninstall", "first", "--namespace", restricted)


async def test_two_releases_do_not_meet(control_plane: ControlPlane, helm: Helm, restricted: str) -> None:
    admin = control_plane.admin
    await helm.apply("install", "real", restricted, {})
    await helm.apply("install", "shadow", restricted, {"shadow": True} | GIVEN_ACCOUNT)
    bindings = await objects_of(admin, "shadow", restricted)
    (binding,) = (item for name, item in bindings.items() if name.startswith("ClusterRoleBinding/"))
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "given", "namespace": restricted}]
    assert "ServiceAccount/shadow-hpa-controller" not in bindings
    real = await objects_of(admin, "real", restricted)
    await helm.run("uninstall", "shadow", "--namespace", restricted)
    assert set(await objects_of(admin, "real", restricted)) == set(real)
    await helm.run("uninstall", "real", "--namespace", restricted)


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"replicaCount": "two"}, "at '/replicaCount': got string, want integer"),
    ({"shadow": "yes"}, "at '/shadow': got string, want boolean"),
    ({"logLevel": "loud"}, "at '/logLevel': value must be one of 'debug', 'info', 'warning', 'error'"),
    ({"replicas": 2}, "additional properties 'replicas' not allowed"),
    ({"image": {"name": "x"}}, "at '/image': additional properties 'name' not allowed"),
    ({"horizontalPodAutoscalerSyncPeriod": 15}, "at '/horizontalPodAutoscalerSyncPeriod'"),
    ({"horizontalPodAutoscalerSyncPeriod": "15 s"}, "does not match pattern"),
    ({"namespaces": ["Shop"]}, "at '/namespaces/0'"),
    ({"leaderElect": False}, "replicaCount is 2, but leaderElect is false: all replicas would scale at once."),
    (
        {"leaderElectResourceNamespace": "kube-system", "leaderElectResourceName": "kube-controller-manager"},
        "is the control plane's own Lease",
    ),
    ({"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}}, "Set the other to null."),
    ({"podDisruptionBudget": {"minAvailable": 2}}, "podDisruptionBudget.minAvailable is 2 of 2 replicas"),
    (
        {"podDisruptionBudget": {"minAvailable": None, "maxUnavailable": 0}},
        "podDisruptionBudget lets no pod go: no node that runs one could be drained.",
    ),
    ({"podDisruptionBudget": {"minAvailable": "60%"}}, "podDisruptionBudget.minAvailable is 2 of 2 replicas"),
    ({"podDisruptionBudget": {"minAvailable": "67%"}, "replicaCount": 3}, "minAvailable is 3 of 3 replicas"),
    ({"nameOverride": "hpa.controller"}, "at '/nameOverride': 'hpa.controller' does not match pattern"),
    (
        {"featureGates": {"HPAScaleToZer": True}},
        "at '/featureGates': additional properties 'HPAScaleToZer' not allowed",
    ),
    ({"fullnameOverride": "hpa.controller"}, "at '/fullnameOverride': 'hpa.controller' does not match pattern"),
    ({"health": {"port": 8082}}, "metrics.port or health.port is 8082, where the pages"),
    ({"serviceAccount": {"create": False}}, "serviceAccount.create is false and serviceAccount.name is empty"),
    ({"metricsSources": {"custom": ["prometheus"]}}, "prometheus.url is empty. Set it"),
    (
        {"metricsSources": {"custom": ["prometheus"]}, "prometheus": {"url": "http://prometheus:9090"}},
        "nothing says which series are which metrics.",
    ),
    ({"prometheus": {"queryAnnotations": True}}, "prometheus.queryAnnotations is set, but prometheus.url is empty"),
    ({"prometheus": {"url": "http://prometheus:9090"}}, "no family of metricsSources asks for prometheus"),
    ({"prometheus": {"rules": {"rules": [{}]}, "existingRulesConfigMap": "x"}}, "Keep one of them."),
    ({"prometheus": {"rules": {"rules": [{}]}}}, "there are rules for Prometheus, but no family"),
    ({"metrics": {"secure": True}}, "metrics.secure is true, but metrics.tlsSecretName is empty."),
    ({"metrics": {"tlsSecretName": "x"}}, "/metrics would be served in the clear."),
    ({"metrics": {"port": 8081}}, "metrics.port and health.port are both 8081."),
    (
        {"prometheus": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}},
        "everything would be scraped twice.",
    ),
    (
        {"metrics": {"secure": True, "tlsSecretName": "x"}, "prometheus": {"podMonitor": {"enabled": True}}},
        "Use prometheus.serviceMonitor.",
    ),
    ({"networkPolicy": {"enabled": True}}, "networkPolicy.apiServerCidrs is empty: the API server could not be"),
    (
        {
            "networkPolicy": {"enabled": True, "apiServerCidrs": ["127.0.0.1/32"]},
            "prometheus": {"url": "http://prometheus:9090", "queryAnnotations": True},
        },
        "networkPolicy.additionalEgress is empty: Prometheus could not be reached.",
    ),
    ({"prometheus": {"prometheusRules": {"disabled": ["HPAFlaping"]}}}, 'there is no alert "HPAFlaping"; there are'),
    ({"extraArgs": ["--leader-elect=false"]}, "--leader-elect has a value of its own; set leaderElect instead."),
    ({"extraArgs": ["--kube-api-qps=5"]}, "--kube-api-qps has a value of its own; set kubeApiQps instead."),
]


@pytest.mark.parametrize(("values", "sentence"), CONTRADICTIONS, ids=[text for _, text in CONTRADICTIONS])
async def test_wrong_values_are_refused_with_a_sentence_before_anything_is_made(
    control_plane: ControlPlane, helm: Helm, namespace: str, values: Mapping[str, Any], sentence: str
) -> None:
    with pytest.raises(HelmError) as failure:
        await helm.apply("install", "wrong", namespace, values)
    assert sentence in str(failure.value)
    assert await objects_of(control_plane.admin, "wrong", namespace) == {}


async def test_numbers_of_the_command_line_are_checked_as_those_of_files_are(helm: Helm) -> None:
    # Helm reads the latter as floating-point numbers, the former as integers.
    with pytest.raises(HelmError, match=r"podDisruptionBudget\.minAvailable is 2 of 2 replicas"):
        await helm.run(
            "template", "x", CHART, "--kube-version", "1.36.3", "--set", "podDisruptionBudget.minAvailable=2"
        )


@pytest.mark.parametrize("release", ["2048", "team.a"])
async def test_a_release_that_no_service_can_be_named_after_needs_another_name(helm: Helm, release: str) -> None:
    """Helm allows both, and the API server would refuse the Service after half of all has been made."""
    template = ("template", release, CHART, "--kube-version", "1.36.3")
    refused = f'the Service would be called "{release}-hpa-controller", but its name has to begin with a letter'
    with pytest.raises(HelmError) as failure:
        await helm.run(*template)
    assert refused in str(failure.value)
    assert "name: hpa-controller\n" in await helm.run(*template, "--set", "fullnameOverride=hpa-controller")


async def test_what_is_disabled_may_be_so_with_and_without_shadow(helm: Helm) -> None:
    """Alerts without sense under `shadow` are named where it is switched, and those of `shadow` where it is not."""
    options = ("--kube-version", "1.36.3", "--set", "prometheus.prometheusRules.enabled=true")
    disabled = "prometheus.prometheusRules.disabled={HPAControllerNoLeader,HPAShadowDifference}"
    for shadow in ("true", "false"):
        text = await helm.run("template", "x", CHART, *options, "--set", disabled, "--set", f"shadow={shadow}")
        assert "alert: HPAControllerDown" in text
        assert "alert: HPAControllerNoLeader" not in text
        assert "alert: HPAShadowDifference" not in text


async def test_releases_for_other_namespaces_stand_in_for_nobody(helm: Helm) -> None:
    values = helm.values({"namespaces": ["2048"], "keepHistory": True})
    text = await helm.run("template", "team-a", CHART, "--kube-version", "1.36.3", "--values", values)
    objects = [one for one in yaml.safe_load_all(text) if one]
    lease = "team-a-hpa-controller"
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    assert f"--leader-elect-resource-name={lease}" in flags_of(deployment)
    (own,) = (item for item in objects if item["kind"] == "Role" and item["metadata"]["name"].endswith("-own"))
    named = {name for rule in own["rules"] for name in rule.get("resourceNames", ())}
    assert {lease, f"{lease}-history-0"} <= named
    (scaling,) = (item for item in objects if item["kind"] == "Role" and item is not own)
    assert scaling["metadata"]["namespace"] == "2048", "a name, not a number"


async def test_demoted_namespaces_are_compared_so_their_alert_is_there(helm: Helm) -> None:
    options = ("--kube-version", "1.36.3", "--set", "prometheus.prometheusRules.enabled=true")
    text = await helm.run("template", "x", CHART, *options, "--set", "modesConfigmap=modes")
    assert "alert: HPAShadowDifference" in text
    assert "alert: HPAControllerNoLeader" in text


async def test_the_test_goes_where_the_pods_go(helm: Helm) -> None:
    own = [{"key": "lab", "operator": "Exists"}]
    given = {"tolerateControlPlane": True, "tolerations": own}
    text = await helm.run("template", "x", CHART, "--kube-version", "1.36.3", "--values", helm.values(given))
    specs = {
        one["kind"]: one["spec"] for one in yaml.safe_load_all(text) if one and one["kind"] in ("Deployment", "Pod")
    }
    wanted = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}, *own]
    assert specs["Deployment"]["template"]["spec"]["tolerations"] == specs["Pod"]["tolerations"] == wanted


@pytest.mark.parametrize(("kind", "endpoints"), [("service", "endpoints"), ("pod", "podMetricsEndpoints")])
async def test_dashboards_find_what_the_built_in_controller_has_and_nobody_takes_us_for_it(
    helm: Helm, kind: str, endpoints: str
) -> None:
    values = helm.values({"prometheus": {f"{kind}Monitor": {"enabled": True}, "kubeControllerManagerJob": True}})
    text = await helm.run("template", "x", CHART, "--kube-version", "1.36.3", "--values", values)
    (monitor,) = (one for one in yaml.safe_load_all(text) if one and one["kind"].endswith("Monitor"))
    (endpoint,) = monitor["spec"][endpoints]
    assert "relabelings" not in endpoint, "up{job=...} would say that kube-controller-manager is there"
    (rule,) = endpoint["metricRelabelings"]
    assert (rule["targetLabel"], rule["replacement"]) == ("job", "kube-controller-manager")
    shared = re.compile(rule["regex"])
    assert shared.fullmatch("horizontal_pod_autoscaler_controller_reconciliations_total")
    assert shared.fullmatch("workqueue_depth")
    assert not any(map(shared.fullmatch, ("up", "hpa_controller_build_info", "process_cpu_seconds_total")))


async def test_a_chart_that_depends_on_it_can_switch_it_off(helm: Helm, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(CHART, whole / "charts" / CHART.name)
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    dependency = {"name": CHART.name, "version": version, "condition": "hpa-controller.enabled"}
    (whole / "Chart.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v2", "name": "whole", "version": "1.0.0", "dependencies": [dependency]})
    )
    for enabled, kinds in (("true", KINDS_ALWAYS), ("false", set())):
        options = ("--kube-version", "1.36.3", "--set", f"hpa-controller.enabled={enabled}")
        text = await helm.run("template", "x", whole, *options)
        found = {one["kind"] for one in yaml.safe_load_all(text) if one}
        assert found >= kinds
        assert bool(found) == bool(kinds)


async def test_without_a_lease_two_pods_never_write_at_once(helm: Helm) -> None:
    """Not even for the time of an upgrade; and kept histories are called after the Lease that there is not."""
    values = {"leaderElect": False, "replicaCount": 1, "keepHistory": True, "leaderElectResourceName": "mine"}
    for given, strategy in ((values, "Recreate"), ({"leaderElect": False, "shadow": True}, "RollingUpdate")):
        text = await helm.run("template", "x", CHART, "--kube-version", "1.36.3", "--values", helm.values(given))
        (deployment,) = (one for one in yaml.safe_load_all(text) if one and one["kind"] == "Deployment")
        assert deployment["spec"]["strategy"]["type"] == strategy
        named = "--leader-elect-resource-name=mine" in flags_of(deployment)
        assert named == (strategy == "Recreate")


async def test_large_numbers_of_a_values_file_stay_whole(helm: Helm) -> None:
    values = helm.values({"kubeApiBurst": 1_000_000, "kubeApiQps": 0.5})
    text = await helm.run("template", "x", CHART, "--kube-version", "1.36.3", "--values", values)
    assert "--kube-api-burst=1000000" in text
    assert "--kube-api-qps=0.5" in text


async def test_fractions_may_come_by_the_command_line(helm: Helm) -> None:
    """Helm makes texts of them."""
    given = ("--set", "kubeApiQps=0.5", "--set", "horizontalPodAutoscalerTolerance=0.05")
    text = await helm.run("template", "x", CHART, "--kube-version", "1.36.3", *given)
    assert "--kube-api-qps=0.5" in text
    assert "--horizontal-pod-autoscaler-tolerance=0.05" in text
    with pytest.raises(HelmError, match="kubeApiQps"):
        await helm.run("template", "x", CHART, "--kube-version", "1.36.3", "--set", "kubeApiQps=much")


async def test_helm_has_nothing_to_say_against_the_chart(helm: Helm) -> None:
    for values in ({}, EVERYTHING, SHADOW, LITTLE):
        await helm.run("lint", CHART, "--strict", "--kube-version", "1.36.3", "--values", helm.values(values))


async def test_every_check_of_the_chart_has_a_case(helm: Helm) -> None:
    template = (CHART / "templates" / "_checks.tpl").read_text()
    checks = re.findall(r'fail (?:\(printf )?"([^"]+)"', template)
    assert len(checks) > 10
    said = ""
    for release, values in (*(("x", values) for values, _ in CONTRADICTIONS), ("2048", {})):
        with pytest.raises(HelmError) as failure:
            await helm.run("template", release, CHART, "--kube-version", "1.36.3", "--values", helm.values(values))
        said += str(failure.value)
    # What printf fills in may be anything.
    patterns = [".+".join(map(re.escape, re.split(r"%\w", text))) for text in checks]
    assert [pattern for pattern in patterns if not re.search(pattern, said)] == []
