"""Where samples come from: each module answers the questions of one family (ports.Metrics)."""
