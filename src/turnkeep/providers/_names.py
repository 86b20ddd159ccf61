from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import Final

import attrs

from ._table import OPEN_FAMILIES, PROVIDERS, Family, Provider, Version

_PREFIXES: Final = frozenset(
    {
        "anthropic",
        "azure",
        "azure_ai",
        "azureopenai",
        "bedrock",
        "converse",
        "deepseek",
        "fireworks",
        "fireworks_ai",
        "gemini",
        "google",
        "google-cloud",
        "google-gla",
        "google-vertex",
        "google_genai",
        "google_vertexai",
        "groq",
        "hosted_vllm",
        "litellm",
        "mistral",
        "mistralai",
        "ollama",
        "openai",
        "openai-chat",
        "openai-responses",
        "openrouter",
        "together",
        "together_ai",
        "vertex_ai",
        "vertexai",
    }
)
"""Names that stand before a colon and a model; a tag stands behind one."""

_HOSTED: Final = re.compile(
    r"(?:(?:us|us-gov|eu|apac|global|jp|au|ca|sa|me|af)\.)?"
    r"(?:ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral"
    r"|moonshot(?:ai)?|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\."
    r"(?P<model>.+)"
)
"""A model id of Bedrock: a region perhaps, the maker, a dot."""

_REVISION: Final = re.compile(r"(?:(?<!claude)(?<!instant)-v\d+)?(?::\d+(?::\w+)?)?$")
"""What stands behind Bedrock's ids: `-v1:0`, `:0:200k`; `claude-v2` is a version."""


@attrs.frozen
class ModelName:
    """A model's name taken apart. What it does not say is none, never guessed at."""

    bare: str
    """In lower case, without what stands before it, tags and revisions of hosts."""

    family: Family | None = None
    """Whose models are named like this."""

    maker: str | None = None
    """The row of the table whose models they are."""

    host: str | None = None
    """The row that serves it under this name, where that is not the maker."""

    tier: str | None = None
    """Its size or kind, where its family has them: `opus`."""

    version: Version | None = None
    """Major and minor number."""

    fine_tuned: bool = False

    @property
    def estimate(self) -> str:
        """The estimate that counts its texts; `generic` where nobody knows it."""
        if self.family is None:
            return "generic"
        return self.family.estimate_of(self.tier, self.version)


@lru_cache(maxsize=1_024)
def parse_model(model: str) -> ModelName:
    """Take a model's name apart, however it is dressed.

    Vendors in front (`openrouter/anthropic/...`, `azure:...`, `models/...`), Bedrock's
    ids and ARNs, fine-tunes (`ft:gpt-4o:acme::id`), tags behind (`llama3:8b`, `:free`),
    dates, `latest`, dots or dashes in a version.

    >>> parse_model("us.anthropic.claude-sonnet-4-5-20250929-v1:0").version
    (4, 5)
    >>> parse_model("ft:gpt-4o-mini:acme::id").bare, parse_model("llama3.1:8b").bare
    ('gpt-4o-mini', 'llama3.1')

    Raises:
        TypeError: It is no text.
    """
    if not isinstance(model, str):
        msg = f"model must be the name of a model as text, not {model!r}"
        raise TypeError(msg)
    *before, name = model.strip().lower().split("/")
    vendors = {word for part in before for word in part.split(":")}
    fine_tuned = False
    while ":" in name:
        head, _, tail = name.partition(":")
        if head == "ft":
            # `ft:gpt-4o:acme::id`: what was tuned, whose it is, and its id.
            name, fine_tuned = tail.partition(":")[0], True
        elif head in _PREFIXES:
            vendors.add(head)
            name = tail
        else:
            break
    whole = name
    hosted = _HOSTED.fullmatch(name)
    if hosted is not None:
        vendors.add("bedrock")
        name = hosted["model"]
    if "bedrock" in vendors:
        name = _REVISION.sub("", name)
    bare = name.partition(":")[0]
    host = next(
        (row.name for row in PROVIDERS.values() if vendors & {*row.vendors}), None
    )
    # The whole name last: `deepseek.r1-v1:0` says whose it is in front of the dot.
    for text, (maker, family) in product((bare, whole), _families()):
        found = family.pattern.search(text)
        if found is not None:
            tier, version = _numbers(found)
            return ModelName(bare, family, maker, host, tier, version, fine_tuned)
    return ModelName(bare, host=host, fine_tuned=fine_tuned)


def _families() -> list[tuple[str | None, Family]]:
    """All families; names of makers first, what only says whose shape it has last."""
    made: list[tuple[str | None, Family]] = [
        (row.name, family) for row in PROVIDERS.values() for family in row.families
    ]
    return [*made, *((None, family) for family in OPEN_FAMILIES)]


def _numbers(found: re.Match[str]) -> tuple[str | None, Version | None]:
    said = found.groupdict()
    major, minor = said.get("major"), said.get("minor")
    if major is None:
        major, minor = said.get("major2"), said.get("minor2")
    version = None if major is None else (int(major), int(minor or 0))
    return said.get("tier"), version


@lru_cache(maxsize=1_024)
def provider_of(model: str | None) -> Provider | None:
    """The provider that serves *model* under this name; none where it does not say.

    >>> provider_of("open-mixtral-8x22b").name
    'mistral'
    """
    if model is None:
        return None
    name = parse_model(model)
    row = name.host or name.maker
    return None if row is None else PROVIDERS[row]


def format_of_model(model: str | None) -> str:
    """The format that *model*'s provider speaks; `openai` unless its name says more.

    >>> format_of_model("claude-opus-4-8"), format_of_model("eu.anthropic.claude-v2")
    ('anthropic', 'bedrock')
    """
    row = provider_of(model)
    return "openai" if row is None else row.name
