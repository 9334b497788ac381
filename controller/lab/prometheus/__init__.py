"""A small Prometheus over the lab's load: what is scraped, a subset of PromQL, and the HTTP API that answers it.

`collector` writes down what a scrape would find, `series` keeps it for a while, `promql` reads queries, `evaluation`
answers them, `server` speaks HTTP. What the subset lacks is refused as Prometheus refuses what it cannot parse.
"""
