"""Decisions told to people: why, what would have to change, and the arithmetic. Pure, on the core only.

`report.explained` gives all of it for one sync; `search.alternatives` finds what would lead to another outcome by
deciding again, `changes` are the changes it tries, and `alternatives` has what comes of them.
"""
