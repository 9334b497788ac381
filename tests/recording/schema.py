"""`python -m tests.recording.schema`: write docs/recording-format-2.schema.json anew, after a change that was meant."""

from pathlib import Path
from typing import Any, Final

import msgspec

from controller.recording.format_v2 import Header, Tick

PATH: Final = Path(__file__).parents[2] / "docs" / "recording-format-2.schema.json"


def schema() -> bytes:
    """The schema of both kinds of lines, as it is to be published."""
    (header, tick), components = msgspec.json.schema_components((Header, Tick), ref_template="#/$defs/{name}")
    body: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hpa-recording/2",
        "description": "The first line of a file is a Header, every other one a Tick.",
        "oneOf": [header, tick],
        "$defs": {name: _bare(components[name]) for name in sorted(components)},
    }
    return msgspec.json.format(msgspec.json.encode(body)) + b"\n"


def _bare(component: Any) -> Any:
    """Without the types' docstrings, which may change: what fields mean stands in docs/recording-format.md."""
    return {key: value for key, value in component.items() if key != "description"}


if __name__ == "__main__":
    PATH.write_bytes(schema())
