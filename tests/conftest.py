import asyncio

# looptime asks for the current event loop in every test. Without this, asyncio makes one in the first
# synchronous test, nobody closes it, and its warning fails whatever test the garbage collector runs in.
asyncio.set_event_loop(None)
