"""The controller in a lab asks the lab's own Prometheus for the queries that HPAs bring."""

from pathlib import Path

from controller.cli.lab_settings import pointed, settings_for
from controller.lab.scenario_files import load_scenario

SCENARIO = load_scenario(Path(__file__).parent / "plateaus.yaml")
OF_THE_LAB = "http://127.0.0.1:4711"


def test_queries_of_annotations_go_to_the_labs_own() -> None:
    server = pointed(settings_for(SCENARIO, ("--allow-query-annotations",)), OF_THE_LAB).sources.prometheus
    assert server is not None
    assert server.url == OF_THE_LAB


def test_an_address_that_was_given_stays() -> None:
    flags = ("--allow-query-annotations", "--prometheus-url=http://127.0.0.1:9090")
    server = pointed(settings_for(SCENARIO, flags), OF_THE_LAB).sources.prometheus
    assert server is not None
    assert server.url == "http://127.0.0.1:9090"


def test_without_such_a_flag_none_is_asked() -> None:
    assert pointed(settings_for(SCENARIO, ()), OF_THE_LAB).sources.prometheus is None
