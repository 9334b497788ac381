"""Time that stands still until a test moves it."""


class Hands:
    """A monotonic source; `now_s` is set by the test."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s
