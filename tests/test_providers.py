"""Tests for `turnkeep.providers`: one table, and one reading of model names."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from turnkeep.formats import FORMATS, get_format
from turnkeep.profiles import PROFILES, get_profile
from turnkeep.providers import (
    PROVIDERS,
    by_format,
    format_of_model,
    parse_model,
    provider_of,
)
from turnkeep.tokens import request_counter

DRESSED = [
    ("claude-sonnet-4-5", "anthropic", (4, 5)),
    ("claude-sonnet-4.5", "anthropic", (4, 5)),
    ("claude-sonnet-4-5-20250929", "anthropic", (4, 5)),
    ("claude-sonnet-4-5@20250929", "anthropic", (4, 5)),
    ("anthropic/claude-sonnet-4.5", "anthropic", (4, 5)),
    ("anthropic:claude-sonnet-4-5", "anthropic", (4, 5)),
    ("openrouter/anthropic/claude-sonnet-4.5:free", "anthropic", (4, 5)),
    ("vertex_ai/claude-sonnet-4-5@20250929", "anthropic", (4, 5)),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", (4, 5)),
    ("anthropic.claude-sonnet-4-5-v1:0", "bedrock", (4, 5)),
    ("bedrock/converse/us.anthropic.claude-sonnet-4-5-v1:0", "bedrock", (4, 5)),
    ("bedrock:eu.anthropic.claude-sonnet-4-5-v1:0", "bedrock", (4, 5)),
    (
        "arn:aws:bedrock:us-east-1:1:x/us.anthropic.claude-opus-4-8-v1",
        "bedrock",
        (4, 8),
    ),
    ("anthropic.claude-3-sonnet-20240229-v1:0:200k", "bedrock", (3, 0)),
    ("claude-3-5-haiku-latest", "anthropic", (3, 5)),
    ("claude-opus-4-20250514", "anthropic", (4, 0)),
    ("anthropic.claude-v2:1", "bedrock", (2, 0)),
    ("claude-instant-1.2", "anthropic", (1, 2)),
    ("claude-sonnet-latest", "anthropic", None),
    ("meta.llama3-1-8b-instruct-v1:0", "bedrock", None),
    ("amazon.nova-pro-v1:0", "bedrock", None),
    ("mistral.mistral-large-2402-v1:0", "bedrock", None),
    ("deepseek.r1-v1:0", "bedrock", None),
    ("open-mixtral-8x22b", "mistral", None),
    ("mistralai/Mistral-Small-24B", "mistral", None),
    ("ft:open-mistral-7b:acme:20250101:0123", "mistral", None),
    ("deepseek/deepseek-chat", "deepseek", None),
    ("models/gemini-3.1-pro-preview", "gemini", (3, 1)),
    ("publishers/google/models/gemini-2.5-flash", "gemini", (2, 5)),
    ("google-gla:gemini-3-pro", "gemini", (3, 0)),
    ("gemini-flash-latest", "gemini", None),
    ("gpt-4o-2024-08-06", "openai", None),
    ("azure/gpt-4o", "openai", None),
    ("openai/o3-mini", "openai", None),
    ("ft:gpt-4o-mini-2024-07-18:acme::id", "openai", None),
]
"""A name, whose format it speaks, and its version."""

UNKNOWN = ["llama3.1:8b", "meta-llama/Llama-3.1-8B", "qwen3:4b", "gemma3:4b", "x", ""]
"""Names of models that anyone serves, or nobody."""


@pytest.mark.parametrize(("model", "name", "version"), DRESSED)
def test_names_are_read_however_they_are_dressed(
    model: str, name: str, version: object
) -> None:
    """Format, profile and counting rule of a name always agree."""
    assert parse_model(model).version == version
    assert format_of_model(model) == name
    assert get_profile("turnkeep", model).name == name
    assert request_counter(format="turnkeep", model=model).name.split("/")[1] == name


@pytest.mark.parametrize("model", UNKNOWN)
def test_what_anyone_serves_has_no_provider(model: str) -> None:
    """It speaks what most servers speak, OpenAI's chat format."""
    assert provider_of(model) is None
    assert format_of_model(model) == "openai"
    assert get_profile("openai", model).name == "openai"


@pytest.mark.parametrize(
    ("model", "bare"),
    [
        ("openrouter/openai/GPT-4o", "gpt-4o"),
        ("azure:gpt-4o", "gpt-4o"),
        ("ft:gpt-4o:acme", "gpt-4o"),
        ("llama3.1:8b", "llama3.1"),
        ("hf.co/bartowski/Qwen2.5-7B-GGUF:Q4_K_M", "qwen2.5-7b-gguf"),
        ("us.anthropic.claude-opus-4-8-v1:0", "claude-opus-4-8"),
        ("anthropic.claude-v2:1", "claude-v2"),
    ],
)
def test_bare_names_have_nothing_around_them(model: str, bare: str) -> None:
    """Vendors, tags, owners and revisions are left off; the name itself stays."""
    assert parse_model(model).bare == bare
    assert parse_model(bare).bare == bare


def test_fine_tunes_are_told() -> None:
    """They are counted as what was tuned."""
    assert parse_model("openai/ft:gpt-4o:acme").fine_tuned
    assert not parse_model("gpt-4o").fine_tuned


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_row_has_its_parts(name: str) -> None:
    """Each reference of the table names something that calls itself like the row."""
    assert get_format(name).name == name
    assert get_profile(name=name).name == name
    assert request_counter(format=name).name.split("/")[1]
    row = by_format(name)
    assert row is not None
    assert row.name == name


def test_registries_are_made_from_the_table() -> None:
    """In its order; formats that no provider takes come behind."""
    assert FORMATS[: len(PROVIDERS)] == tuple(PROVIDERS)
    assert tuple(PROFILES)[: len(PROVIDERS)] == tuple(PROVIDERS)
    assert by_format("orion") is None


SCRIPT = """
import json
from turnkeep.providers import PROVIDERS, Family, Provider
PROVIDERS["acme"] = Provider(
    name="acme",
    codec="tests.made_up:Acme",
    profile="tests.made_up:profile",
    counting="tests.made_up:AcmeRules",
    estimate="generic",
    families=(Family("acme", "acme"),),
)
import turnkeep
from turnkeep import Budget, Conversation
asked = {"by": "robot", "ask": [["c1", "look", {"at": "x"}]]}
result = {"by": "tool", "ref": "c1", "say": "found " * 200}
chat = [{"by": "human", "say": f"hello {n} " * 30} for n in range(20)]
chat += [asked, result, {"by": "robot", "say": "Done."}, {"by": "human", "say": "?"}]
window = turnkeep.fit({"dialogue": chat, "model": "acme-1"}, 600)
live = Conversation(model="acme-1", budget=Budget(600))
live.user("hi")
print(json.dumps({
    "found": turnkeep.fit(chat, 600) == window["dialogue"],
    "kept": [entry in chat for entry in window["dialogue"]],
    "shorter": len(window["dialogue"]) < len(chat),
    "window": [v.rule for v in turnkeep.check(window)],
    "broken": [v.rule for v in turnkeep.check([*chat[:-4], *chat[-3:]])],
    "tokens": turnkeep.count(chat[:1], format="acme").messages,
    "said": live.fit().encode()["dialogue"],
}))
"""


def test_a_provider_is_its_own_files_and_one_row() -> None:
    """Detection, counting, check, fit and conversations know it from the table."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.pop("tokens") > 60
    assert all(said.pop("kept"))
    assert said == {
        "found": True,
        "shorter": True,
        "window": [],
        "broken": ["AC-03"],
        "said": [{"by": "human", "say": "hi"}],
    }
