"""Recordings: what one HPA's controller saw and decided, sync by sync, read and replayed through the decision code.

The format is described in docs/recording-format.md.
"""
