"""Tests for `turnkeep.plans.telemetry`: logs and traces tell figures, no text."""

import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from turnkeep import Budget, Conversation
from turnkeep.plans import Plan
from turnkeep.plans.telemetry import logger, prune_event

WORDS = "the launch code is 1234"


def talk(chat: Conversation, turns: int = 12) -> Plan:
    """Say *turns* secrets, fit, and return the plan."""
    for nth in range(turns):
        chat.user(f"{nth}: {WORDS} " + "and so on " * 10)
        chat.assistant(f"Noted: {WORDS}")
    chat.user("And now?")
    return chat.fit().plan


def test_a_prune_is_logged_with_its_figures(caplog: pytest.LogCaptureFixture) -> None:
    """One line at INFO, with the event beside it; no message text in either."""
    chat = Conversation(budget=Budget(300), model="gpt-4o")

    with caplog.at_level(logging.INFO, "turnkeep"):
        plan = talk(chat)
        chat.fit()

    (record,) = caplog.records
    assert record.name == "turnkeep"
    line = record.getMessage()
    assert line.startswith(f"pruned to {plan.tokens} of ")
    assert f"{len(plan.dropped)} dropped (age {len(plan.dropped)})" in line
    assert record.__dict__["turnkeep"] == prune_event(plan)
    assert "launch" not in line + repr(record.__dict__["turnkeep"])


def test_nothing_is_logged_without_a_prune(caplog: pytest.LogCaptureFixture) -> None:
    """Nor below INFO."""
    with caplog.at_level(logging.INFO, "turnkeep"):
        talk(Conversation(budget=Budget(90_000), model="gpt-4o"))
    with caplog.at_level(logging.WARNING, "turnkeep"):
        talk(Conversation(budget=Budget(300), model="gpt-4o"))

    assert caplog.records == []


def test_a_library_does_not_print() -> None:
    """A handler that does nothing keeps Python's own from writing to stderr."""
    assert any(isinstance(h, logging.NullHandler) for h in logger.handlers)


def test_an_event_is_flat_numbers_that_add_up() -> None:
    """What OpenTelemetry takes as attributes, and every message in it once."""
    plan = talk(Conversation(budget=Budget(300), model="gpt-4o"))

    event = prune_event(plan)

    assert all(type(value) in (bool, int, float) for value in event.values())
    parts = {name: event[f"turnkeep.messages.{name}"] for name in ("kept", "dropped")}
    assert sum(parts.values()) == 25
    for name, size in parts.items():
        prefix = f"turnkeep.messages.{name}."
        assert sum(v for k, v in event.items() if k.startswith(prefix)) == size


def test_prunes_are_events_of_the_current_span() -> None:
    """The recipe of the documentation, with the real SDK."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")

    def tell(plan: Plan) -> None:
        from opentelemetry import trace

        trace.get_current_span().add_event("turnkeep.prune", prune_event(plan))

    chat = Conversation(budget=Budget(300), model="gpt-4o", on_prune=tell)
    with tracer.start_as_current_span("chat"):
        plan = talk(chat)

    (span,) = exporter.get_finished_spans()
    (event,) = span.events
    assert event.name == "turnkeep.prune"
    assert event.attributes is not None
    assert dict(event.attributes) == prune_event(plan)
    assert WORDS not in span.to_json()
    provider.shutdown()
