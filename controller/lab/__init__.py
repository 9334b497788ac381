"""An embedded cluster: a real API server over HTTP, in one process, for trying things out and for tests.

It is a witness: it imports nothing else of this program, so that it cannot share its mistakes. In the order
in which a request meets them:

- `server.LabServer` listens and hands each request to `serving.front`, which finds the handler in `serving`;
- `faults.Faults` makes things go wrong on purpose, `request_log.RequestLog` writes down what was asked;
- `operations` carries out reads, writes and deletions by the API server's rules, `patching` applies patches;
- `kinds` and `schema` know what is particular to each kind, `objects` what all have in common;
- `storage` keeps the objects, one revision counter and a bounded memory of changes, from which watches read.

`cluster.Cluster` does the same things without HTTP; `metrics_feed.MetricsFeed` holds what the metrics APIs
answer, `prometheus` keeps it as series and answers PromQL; `clock.LabClock` derives all time from the event loop, which
may run faster than real time.
"""
