import asyncio

from hypothesis import Phase, settings

# looptime asks for the current event loop in every test. Without this, asyncio makes one in the first
# synchronous test, nobody closes it, and its warning fails whatever test the garbage collector runs in.
asyncio.set_event_loop(None)

# The explain phase traces every line of every example, which costs more than all the rest of a property test.
settings.register_profile("suite", deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain])
settings.load_profile("suite")
