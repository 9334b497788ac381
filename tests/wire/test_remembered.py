"""What is worked out for texts is kept within bounds, whoever writes them."""

from controller.wire.remembered import Remembered


def test_results_are_kept_and_the_oldest_forgotten_first() -> None:
    made: list[str] = []

    def make(text: str, other: str) -> str:
        made.append(text + other)
        return text + other

    remembered = Remembered(make, copies=1, bytes_max=5_000)
    for _ in range(3):
        assert [remembered("a"), remembered("b", "c"), remembered("bc")] == ["a", "bc", "bc"]
    assert made == ["a", "bc", "bc"]
    for number in range(20):
        remembered(f"{number}")
        remembered("a")
        assert remembered.size_bytes <= 5_000
    assert made.count("a") == 1, "it was always asked for"
    remembered("bc")
    assert made.count("bc") == 3


def test_a_text_is_weighed_by_what_it_takes() -> None:
    remembered = Remembered(lambda text, _: text, copies=2, bytes_max=100_000)
    for number in range(50):
        assert remembered(f"{number}" + "😀" * 5_000).endswith("😀")
        assert remembered.size_bytes <= 100_000
    assert remembered("😀" * 50_000), "what is too large alone is given all the same"
    assert remembered.size_bytes == 0
