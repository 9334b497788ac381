"""Decisions told to people: why, what would have to change, and the arithmetic. Pure, on the core only.

`report.report` gives all of it for one sync; `search.alternatives` finds what would lead to another outcome by deciding
again, and `changes` are the changes it tries.
"""
