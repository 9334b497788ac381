"""What the controller decides: pure functions over immutable values.

No module here knows a clock, I/O, logging or randomness. `decision.decide` takes what was observed and returns a
`Decision` that holds all of its reasons; `decision.conclude` adds what became of the write. Section numbers (§) refer
to docs/behaviour.md.
"""
