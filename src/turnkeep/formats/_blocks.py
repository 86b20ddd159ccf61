"""What formats whose entries are made of blocks share: how an entry is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from turnkeep.model import (
    Block,
    Message,
    Opaque,
    Role,
    Text,
    ToolResult,
    trusted_message,
    trusted_text,
)
from turnkeep.model._layout import Layout, layout_text

from ._outline import Outline, OutlineReader
from ._shape import MARKS, as_array, as_object, real_id
from ._split import split_results
from ._wire import kind_of, rest


class BlockFormat(ABC):
    """A format of messages with blocks, of which each is told by its one member.

    Each names its roles and its keys, and reads its own blocks.
    """

    name: ClassVar[str]
    roles: ClassVar[Mapping[str, Role]]
    usual_roles: ClassVar[frozenset[str]]
    """Those that a layout need not tell."""
    content_key: ClassVar[str]
    """The key of an entry's blocks."""
    entry_name: ClassVar[str]
    """What an entry is called."""
    reader: ClassVar[type[OutlineReader]]
    """Reads its lists."""

    @abstractmethod
    def read_role(self, entry: dict[str, Any], path: str) -> tuple[str, str]:
        """The role of an entry, and the flags for how it was spelled.

        Raises:
            FormatError: It is none of `roles`.
        """

    @abstractmethod
    def read_content(self, entry: dict[str, Any], path: str) -> tuple[Any, str]:
        """The blocks of an entry, not checked, and the flags for how they were spelled.

        Raises:
            FormatError: They must be there and are not.
        """

    @abstractmethod
    def read_block(self, block: Any, path: str, role: str) -> tuple[Block, str]:
        """A block, and its code for the layout.

        Raises:
            FormatError: With the path of the offending value.
        """

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if type(entry) is dict and len(entry) == 2 and (quick := self._texts(entry)):
            return (quick,)
        as_object(entry, self.entry_name, path)
        role, flag = self.read_role(entry, path)
        content, more = self.read_content(entry, path)
        flag += more
        blocks, codes = self.read_blocks(content, f"{path}.{self.content_key}", role)
        fields: dict[str, Any] = {}
        known = frozenset({"role", self.content_key})
        if extra := rest(entry, known, path):
            fields["extra"] = extra
            if identity := real_id(extra.get("id")):
                fields["id"] = identity
        if any(type(block) is ToolResult for block in blocks):
            layout = Layout(self.name, codes="".join(codes), flag=flag)
            theirs = self.is_theirs
            return split_results(blocks, codes, layout, fields, is_theirs=theirs)
        said = trusted_message(
            self.roles[role],
            tuple(blocks),
            kind=kind_of(blocks),
            layout=layout_text(self.name, codes, flag),
            **fields,
        )
        return (said,)

    def is_theirs(self, block: Opaque) -> bool:
        """Whether a block beside results that we do not know is the user's own."""
        del block
        return False

    def read_blocks(
        self, content: Any, path: str, role: str
    ) -> tuple[list[Block], list[str]]:
        """The blocks of an entry, and their codes.

        Raises:
            FormatError: With the path of the offending value.
        """
        blocks: list[Block] = []
        codes: list[str] = []
        for nth, block in enumerate(as_array(content, f"{self.content_key!r}", path)):
            if (
                type(block) is dict
                and len(block) == 1
                and type(text := block.get("text")) is str
            ):
                blocks.append(trusted_text(text))
                codes.append("0")
                continue
            made, code = self.read_block(block, f"{path}[{nth}]", role)
            blocks.append(made)
            codes.append(code)
        return blocks, codes

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return self.reader(entries, self.decode, path).read()

    def _texts(self, entry: dict[str, Any]) -> Message | None:
        """The message of an entry that is nothing but texts; none for any other."""
        role, blocks = entry.get("role"), entry.get(self.content_key)
        if type(blocks) is not list or not blocks or type(role) is not str:
            return None
        texts = []
        for block in blocks:
            if type(block) is not dict or len(block) != 1:
                return None
            text = block.get("text")
            if type(text) is not str:
                return None
            texts.append(trusted_text(text))
        if role not in self.usual_roles or texts[0].text.startswith(MARKS):
            return None
        return trusted_message(self.roles[role], tuple(texts), layout=self.name)


def write_texts(content: Sequence[Block]) -> list[Any] | None:
    """The wire blocks of content that is nothing but texts; none for any other."""
    blocks = []
    for block in content:
        if type(block) is not Text or block.extra:
            return None
        blocks.append({"text": block.text})
    return blocks
