"""`python -m controller.explain`: the JSON schema of explanations, as `docs/explain-schema.json` has it."""

import sys

from controller.explain.answer import schema

sys.stdout.buffer.write(schema())
