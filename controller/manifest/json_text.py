"""JSON to nodes, as strictly as Go reads it: no comments, no trailing commas, no NaN."""

import json
import re
from typing import Final

from controller.manifest import scalars
from controller.manifest.tree import DEPTH_MAX, Node, Number, TextError

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_TOKEN: Final = re.compile(
    r"""(?P<mark>[{}\[\]:,])
      | (?P<text>"(?:[^"\\\x00-\x1f]++|\\.)*+")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![0-9.eE+-])
      | (?P<word>true|false|null)(?![A-Za-z0-9_])
    """,
    re.VERBOSE,
)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read(text: str) -> Node:
    """The one value of an annotation's text, as the API server reads it.

    Numbers are as they are written.

    Raises:
        TextError: not JSON, or more than one value.
    """
    reader = Reader(text, of_annotation=True)
    node = reader.value()
    if not reader.at_end():
        raise reader.error("there is more after the end of the value")
    return node


class Reader:
    """Values one after the other from a text; `position` is behind the last one.

    Numbers are as kubectl sends them on, unless the text is that of an annotation.
    """

    def __init__(self, text: str, *, of_annotation: bool = False) -> None:
        self._text = text
        self._of_annotation = of_annotation
        self._lexeme = ""
        self._kind: str | None = None
        self._depth = 0
        self.position = 0
        self.line = 1

    def at_end(self) -> bool:
        """Whether only blanks follow; they are passed over."""
        self._skip_blanks()
        return self.position == len(self._text)

    def value(self) -> Node:
        """The next value.

        Raises:
            TextError: it is malformed.
        """
        self._advance()
        return self._value()

    def error(self, problem: str) -> TextError:
        """What is wrong at the present position."""
        return TextError(f"not JSON: {problem}", self.line)

    def _value(self) -> Node:
        line = self.line
        match self._kind:
            case "text":
                return Node(self._string(), line)
            case "number":
                number = Number(self._lexeme) if self._of_annotation else scalars.sent_number(self._lexeme)
                return Node(number, line)
            case "word":
                return Node(_WORDS[self._lexeme], line)
            case "mark" if self._lexeme in "{[":
                return self._nested(line)
            case _:
                raise self.error(f"found {self._lexeme!r} where a value is expected")

    def _nested(self, line: int) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self.error(f"nested more than {DEPTH_MAX} levels deep")
        node = self._object(line) if self._lexeme == "{" else self._list(line)
        self._depth -= 1
        return node

    def _object(self, line: int) -> Node:
        fields: dict[str, Node] = {}
        self._advance()
        while self._lexeme != "}" or self._kind != "mark":
            if fields:
                self._expect(",", "a comma or the end of the object")
            if self._kind != "text":
                raise self.error(f"found {self._lexeme!r} where a key in double quotes is expected")
            key, key_line = self._string(), self.line
            self._advance()
            self._expect(":", f'a colon after "{key}"')
            replaced_line = fields[key].line if key in fields else 0
            fields[key] = Node(self._value().value, key_line, replaced_line)
            self._advance()
        return Node(fields, line)

    def _list(self, line: int) -> Node:
        items: list[Node] = []
        self._advance()
        while self._lexeme != "]" or self._kind != "mark":
            if items:
                self._expect(",", "a comma or the end of the list")
            items.append(self._value())
            self._advance()
        return Node(items, line)

    def _expect(self, mark: str, expected: str) -> None:
        if self._kind != "mark" or self._lexeme != mark:
            raise self.error(f"found {self._lexeme!r} where {expected} is expected")
        self._advance()

    def _string(self) -> str:
        try:
            decoded = json.loads(self._lexeme)
        except ValueError as error:
            raise self.error(f"the text {self._lexeme[:40]} has an escape that JSON does not know") from error
        # Half a surrogate pair is no character; Go puts the replacement character.
        return _SURROGATE.sub("\ufffd", str(decoded))

    def _advance(self) -> None:
        self._skip_blanks()
        matched = _TOKEN.match(self._text, self.position)
        if matched is None:
            rest = self._text[self.position : self.position + 20].partition("\n")[0]
            if rest.startswith('"'):
                raise self.error(f"the text {rest} has no closing quote on its line, or a character to be escaped")
            raise self.error(f"found {rest!r}" if rest else "it ends too early")
        self._kind, self._lexeme = matched.lastgroup, matched[0]
        self.position = matched.end()

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self._text, self.position)
        assert blank is not None  # noqa: S101 - the pattern matches nothing, too
        self.line += blank[0].count("\n")
        self.position = blank.end()
