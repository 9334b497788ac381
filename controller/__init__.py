"""The Horizontal Pod Autoscaler controller of Kubernetes as a standalone asyncio program.

Follow one HPA through the modules, in the order in which data meets them:

`watch` keeps every `cache` in step with the API server; `delay_queue` says when an HPA is due; `worker` takes due
keys and has `reconcile` tell the story of one sync: read the scale, `gather` pods and metrics into one observation,
`decide`, write the scale, the status and the events. What the spine needs of the outside world is named in `ports`;
`kube` and `sources` provide it over HTTP, `telemetry` watches, `app` puts everything together, and `cli` is what a user
types.

`decide` is pure and holds the whole algorithm; `wire` turns Kubernetes JSON into its values. `manifest` (lint) and
`recording` (replay) are tools on the same core and need no cluster.
"""
