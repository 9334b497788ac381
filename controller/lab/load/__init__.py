"""Load that rises and falls, and what it makes pods use.

`curves` are numbers over time; `models` turn them into work for the pods of a target; `metering` measures that work
the way metrics-server and adapters do, and fills the metrics APIs.
"""
