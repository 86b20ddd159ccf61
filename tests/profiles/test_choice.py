"""Which profile and which facts a name stands for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from turnkeep.profiles import PROFILES, _models, check_request, get_profile


@pytest.mark.parametrize(
    ("format_name", "model", "expected"),
    [
        ("openai", None, "openai"),
        ("openai", "gpt-4o", "openai"),
        ("openai", "deepseek/deepseek-chat", "deepseek"),
        ("openai", "mistral-large-latest", "mistral"),
        ("openai", "anthropic/claude-sonnet-4.6", "openai"),
        ("openai-chat", None, "openai"),
        ("claude-code", None, "anthropic"),
        ("bedrock", "us.anthropic.claude-opus-5-5-v1:0", "bedrock"),
        ("turnkeep", "claude-opus-4-8", "anthropic"),
        ("turnkeep", "gemini-3-pro", "gemini"),
        ("orion", None, "openai"),
        (None, "o3-mini", "openai"),
        ("alternating", "llama3.1:8b", "alternating/llama3"),
        ("alternating", "some-model", "alternating"),
    ],
)
def test_profiles_go_by_format_and_model(
    format_name: str | None, model: str | None, expected: str
) -> None:
    """The format decides; where it is a copy, or no provider's, the model does."""
    assert get_profile(format_name, model).name == expected


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_loads_by_name(name: str) -> None:
    """A name decides alone, and the profile says the same name."""
    profile = get_profile("openai", "gpt-4o", name)

    assert profile.name == name
    assert profile == get_profile("openai", "gpt-4o", name)
    assert profile.title
    assert profile.trims


def test_unknown_profiles_are_refused() -> None:
    """The error lists what there is."""
    with pytest.raises(ValueError, match="no profile 'openal'; there are openai, "):
        get_profile(name="openal")


def test_a_profile_can_be_given_as_it_is() -> None:
    """Checking by hand-picked rules needs no name."""
    profile = get_profile("ollama")

    found = check_request([], format="openai", profile=profile, strict=True)

    assert [violation.rule for violation in found] == ["OL-s1"]


def test_a_body_adapts_the_policy() -> None:
    """What stands beside the list decides what must be kept of reasoning."""
    claude = get_profile("anthropic", "claude-opus-5-5")
    deepseek = get_profile("deepseek", "deepseek-v4")
    enabled = {"thinking": {"type": "enabled"}}
    disabled = {"thinking": {"type": "disabled"}}
    lenient = {
        "thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    }

    assert claude.policy.binds_thinking
    assert claude.policy_for(None) is claude.policy
    assert claude.policy_for({}) == claude.policy
    assert claude.policy_for(enabled).thinking_required
    assert not claude.policy_for(lenient).binds_thinking
    assert deepseek.policy.reasoning_with_calls
    assert deepseek.policy_for({}) == deepseek.policy
    assert deepseek.policy_for(enabled).reasoning_with_calls
    assert not deepseek.policy_for(disabled).reasoning_with_calls
    assert get_profile("ollama").policy_for(enabled) == get_profile("ollama").policy


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-sonnet-4-5-20250929", ("sonnet", 4, 5)),
        ("us.anthropic.claude-opus-4-8-v1:0", ("opus", 4, 8)),
        ("anthropic/claude-sonnet-4.6", ("sonnet", 4, 6)),
        ("claude-opus-4-20250514", ("opus", 4, 0)),
        ("claude-3-5-haiku-20241022", ("haiku", 3, 5)),
        ("claude-3-opus-20240229", ("opus", 3, 0)),
        ("claude-fable-5-1", ("fable", 5, 1)),
        ("claude-sonnet-latest", None),
        ("gpt-4o", None),
    ],
)
def test_claude_names_are_read(model: str, version: object) -> None:
    """Providers in front, dates behind, dots or dashes: the version is the same."""
    assert _models.claude_version(model) == version


@pytest.mark.parametrize(
    ("model", "prefill", "bound", "system"),
    [
        ("claude-sonnet-4-5", False, False, False),
        ("claude-sonnet-4-6", True, False, False),
        ("claude-haiku-4-6", False, False, False),
        ("claude-opus-4-8", True, False, True),
        ("claude-haiku-5-5", True, True, True),
        ("claude-mythos-5-2", True, True, True),
        ("claude-fable-5", True, False, True),
        ("claude-opus-5-6", True, None, True),
        ("claude-mythos-6", True, None, True),
        ("claude-new-5", None, None, None),
        ("claude-2.1", False, False, False),
        ("gpt-4o", None, None, None),
        (None, None, None, None),
    ],
)
def test_facts_about_claude(
    model: str | None, prefill: object, bound: object, system: object
) -> None:
    """What each model refuses, binds and takes; unknown where the name says nothing."""
    assert _models.refuses_prefill(model) is prefill
    assert _models.binds_thinking(model) is bound
    assert _models.takes_system_in_list(model) is system


@pytest.mark.parametrize(
    ("model", "signatures", "model_last"),
    [
        ("gemini-2.5-pro-preview-05-06", False, False),
        ("models/gemini-3-pro", True, False),
        ("gemini-3-pro-image", False, False),
        ("google/gemini-3.6-flash", True, True),
        ("gemini-4", True, True),
        ("gemini-flash-latest", None, None),
        (None, None, None),
    ],
)
def test_facts_about_gemini(
    model: str | None, signatures: object, model_last: object
) -> None:
    """From 3 on signatures are demanded; from 3.6 on no list ends on the model."""
    assert _models.demands_signatures(model) is signatures
    assert _models.refuses_model_turn_last(model) is model_last


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("deepseek-reasoner", True),
        ("deepseek-v4-flash", True),
        ("deepseek/deepseek-v4", True),
        ("deepseek-chat", False),
        ("deepseek-v3.2", False),
        ("deepseek", None),
        ("gpt-4o", None),
        (None, None),
    ],
)
def test_deepseek_thinks_by_default(model: str | None, expected: object) -> None:
    """V4, flash, pro and the reasoner think; older ones do not."""
    assert _models.deepseek_thinks(model) is expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("google/gemma-2-9b-it", "gemma2"),
        ("gemma:7b", "gemma2"),
        ("google/gemma-7b-it", "gemma2"),
        ("gemma3:4b", None),
        ("google/gemma-3-4b-it", None),
        ("mixtral:8x7b", "mistral"),
        ("meta-llama/Llama-3.1-8B", "llama3"),
        ("Qwen/Qwen3.5-9B", "qwen"),
        (None, None),
    ],
)
def test_templates_go_by_the_models_name(model: str | None, expected: object) -> None:
    """A local model's name says whose template it has."""
    assert _models.template_of(model) == expected


def test_a_profile_loads_only_itself() -> None:
    """Asking for one provider's rules does not load the others'."""
    code = (
        "import sys; from turnkeep.profiles import get_profile; get_profile('ollama');"
        "print([m for m in sys.modules if m.startswith('turnkeep.profiles._')])"
    )

    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert "turnkeep.profiles._ollama" in loaded
    assert "turnkeep.profiles._anthropic._profile'" not in loaded
