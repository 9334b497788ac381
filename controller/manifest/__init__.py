"""What the API server makes of a HorizontalPodAutoscaler manifest, and what it will not tell: `lint`, with no cluster.

A manifest passes through `load` (files to trees that know their lines; `yaml_text`, `json_text`), `admission` (`decode`
by the field tables of `schema`, `convert` from autoscaling/v1, `defaults`, `validate`) and the advice modules. `lint`
is the way in, `render` the way out. Nothing here needs the network, a clock or an asyncio loop.
"""
