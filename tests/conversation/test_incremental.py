"""Planning by sums gives what the engine gives, after any sequence of operations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from turnkeep import (
    AlreadyResolvedError,
    AmbiguousCallError,
    Budget,
    BudgetExceededError,
    Conversation,
    Message,
    ToolCall,
    UnknownCallError,
)
from turnkeep.conversation import Window
from turnkeep.conversation._desk import CallDesk
from turnkeep.conversation._fitting import Fitter
from turnkeep.index._sums import Sums
from turnkeep.model import Image, Opaque, Role, Text, Thinking, ToolResult
from turnkeep.strategies import (
    ClearToolResults,
    Digest,
    LargestFirst,
    OldestSteps,
    OldestTurns,
)
from turnkeep.tokens import ApproximateCounter

KINDS = (
    ("openai", "gpt-4o"),
    ("openai", "gpt-4o"),
    ("openai-responses", "gpt-5"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-8"),
    ("gemini", "gemini-2.5-pro"),
    ("bedrock", "anthropic.claude-sonnet-4-5-v1:0"),
    ("mistral", "mistral-large-latest"),
    ("deepseek", "deepseek-reasoner"),
    ("ollama", "llama3"),
)

STRATEGIES = (
    None,
    None,
    None,
    OldestTurns(),
    OldestSteps(),
    LargestFirst(),
    ClearToolResults(1) | OldestTurns() | OldestSteps(),
    Digest(0.3) | OldestTurns() | OldestSteps(),
)

sizes = st.integers(0, 30)
places = st.integers(0, 40)


def hosted(kind: str, **keys: Any) -> Opaque:
    """A block of the provider's own doing."""
    return Opaque({"type": kind, **keys}, "anthropic")


class _Plain(Fitter):
    """A fitter that always asks the engine."""

    def _by_sums(self, *_args: Any, **_kwargs: Any) -> None:
        return None

    def _by_rest(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def described(sums: Sums) -> dict[str, Any]:
    """All that sums say, for comparing."""
    return {
        "tokens": list(sums.every.values),
        "held": sums.held.values,
        "leads": list(sums.held_leads),
        "holders": {k: sorted(h.leads) for k, h in sums.holders.items()},
        "tied": dict(sums.lead),
        "added": sums.added,
        "totals": (sums.every.total, sums.held.total),
    }


class TwoWays(RuleBasedStateMachine):
    """The same operations on a conversation with sums and on one without."""

    @initialize(
        tokens=st.integers(30, 200),
        goal=st.sampled_from([0.3, 0.6, 1.0]),
        kind=st.sampled_from(KINDS),
        strategy=st.sampled_from(STRATEGIES),
        images=st.sampled_from([None, None, None, 0, 1, 2]),
    )
    def begin(
        self,
        tokens: int,
        goal: float,
        kind: tuple[str | None, str],
        strategy: Any,
        images: int | None,
    ) -> None:
        """Two empty conversations."""
        name, model = kind
        budget = Budget(tokens, target=goal, max_images=images)
        self.chats = [
            Conversation(
                budget=budget,
                model=model,
                format=name,
                strategy=strategy,
                token_counter=ApproximateCounter(),
            )
            for _ in range(2)
        ]
        plain = self.chats[1]
        plain._fitter = _Plain(plain._ledger, plain._desk)
        self.waiting: list[str] = []
        self.served: list[str] = []
        self.made = 0
        self.windows: list[tuple[Window, list[str], str]] = []

    def both(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Do the same to both; they must answer alike."""
        outcomes = []
        for chat in self.chats:
            try:
                outcome = getattr(chat, name)(*args, **kwargs)
            except (
                UnknownCallError,
                AlreadyResolvedError,
                AmbiguousCallError,
                BudgetExceededError,
            ) as error:
                outcome = (type(error), str(error))
            outcomes.append(outcome)
        return outcomes

    def pick(self, place: int) -> str | None:
        """Id of some message."""
        messages = self.chats[0].messages
        return messages[place % len(messages)].id if messages else None

    @rule(size=sizes, pinned=st.sampled_from([False, False, False, True]))
    def user(self, size: int, pinned: bool) -> None:
        """A user message."""
        self.both("append", Message.user("u", token_count=size, pinned=pinned))

    @rule(size=sizes)
    def say(self, size: int) -> None:
        """An assistant message."""
        self.both("append", Message.assistant("a", token_count=size))

    @rule(size=sizes)
    def system(self, size: int) -> None:
        """A system message."""
        self.both("append", Message.system("s", token_count=size))

    @rule(size=sizes)
    def show(self, size: int) -> None:
        """A message that is never sent."""
        self.both("append", Message.system("r", token_count=size, kind="run_summary"))

    @rule(size=sizes)
    def sum_up(self, size: int) -> None:
        """A message that stands for earlier ones."""
        self.both("append", Message.user("sum", token_count=size, kind="summary"))

    @rule(size=sizes, parallel=st.integers(1, 3), reuse=st.booleans())
    def call(self, size: int, parallel: int, reuse: bool) -> None:
        """Calls, some of a known id."""
        ids = []
        for _ in range(parallel):
            self.made += not reuse
            ids.append(f"c{self.made}")
        calls = [ToolCall(i, "f") for i in dict.fromkeys(ids)]
        self.waiting += [c.id or "" for c in calls]
        self.both("append", Message.assistant("", tool_calls=calls, token_count=size))

    @rule(
        place=places,
        size=sizes,
        how=st.sampled_from(
            ["resolve", "resolve", "resolve", "defer", "interim", "cancel", "abandon"]
        ),
    )
    def answer(self, place: int, size: int, how: str) -> None:
        """Something happens to a call."""
        if not self.waiting:
            return
        call_id = self.waiting[place % len(self.waiting)]
        if how == "abandon":
            self.both("abandon", call_id)
        elif how == "cancel":
            self.both("cancel", call_id)
        else:
            self.both(how, call_id, "x" * size)
        if how in ("resolve", "cancel"):
            self.waiting.remove(call_id)

    @rule(size=sizes, answered=st.booleans(), beside=st.booleans())
    def serve(self, size: int, answered: bool, beside: bool) -> None:
        """The provider calls a tool of its own, and answers what it had called."""
        blocks: list[Any] = [
            hosted("web_search_tool_result", tool_use_id=call_id)
            for call_id in self.served
        ]
        self.made += 1
        call_id = f"srvtoolu_{self.made}"
        blocks.append(hosted("server_tool_use", id=call_id, name="web_search"))
        self.served = [] if answered else [call_id]
        if answered:
            blocks.append(hosted("web_search_tool_result", tool_use_id=call_id))
        if beside:
            blocks.append(ToolCall(f"c{self.made}", "f"))
            self.waiting.append(f"c{self.made}")
        self.both("append", Message.assistant(blocks, token_count=size))

    @rule(
        size=sizes,
        what=st.sampled_from(["threshold", "threshold", "signed", "item", "refer"]),
        calls=st.booleans(),
    )
    def remember(self, size: int, what: str, calls: bool) -> None:
        """The provider puts a memory in place of what came before, or keeps it."""
        self.made += 1
        blocks: list[Any] = [
            {
                "threshold": hosted("compaction", content="S"),
                "signed": hosted("compaction", content="S", signature="QUJD"),
                "item": hosted("compaction", encrypted_content="E"),
                "refer": hosted("item_reference", id=f"msg_{self.made}"),
            }[what]
        ]
        if what in ("threshold", "signed") and calls:
            blocks.append(ToolCall(f"c{self.made}", "f"))
            self.waiting.append(f"c{self.made}")
        self.both("append", Message.assistant(blocks, token_count=size))

    @rule(size=sizes)
    def set_up(self, size: int) -> None:
        """Tools come."""
        blocks = [hosted("tool_addition", tool={"name": "g"})]
        self.both("append", Message.system(blocks, token_count=size))

    @rule(size=sizes)
    def think(self, size: int) -> None:
        """An assistant message that reasons."""
        blocks: list[Any] = [Thinking("hm " * size, signature="s"), Text("a")]
        self.both("append", Message.assistant(blocks, token_count=size + 3))

    @rule(size=sizes)
    def show_picture(self, size: int) -> None:
        """A picture."""
        blocks: list[Any] = [Text("see"), Image(data="aGk=")]
        self.both("append", Message.user(blocks, token_count=size + 9))

    @rule(size=sizes, how=st.sampled_from(["results", "words"]))
    def answer_all(self, size: int, how: str) -> None:
        """One message answers all that waits."""
        waiting = list(dict.fromkeys(self.waiting))[-4:]
        if not waiting:
            return
        blocks: list[Any] = [ToolResult(i, "r") for i in waiting]
        if how == "words":
            blocks.append(Text("and?"))
        self.waiting = [i for i in self.waiting if i not in waiting]
        role = Role.USER if how == "words" else Role.TOOL_RESULT
        self.both("append", Message(role, blocks, token_count=size))

    @rule(size=sizes, place=places)
    def stray(self, size: int, place: int) -> None:
        """A result that may have no call."""
        del place
        self.both("append", Message.tool_result("nobody", "r", token_count=size))

    @rule(place=places, scope=st.sampled_from(["turn", "step"]))
    def pin(self, place: int, scope: Any) -> None:
        """Pin something."""
        if (message_id := self.pick(place)) is not None:
            self.both("pin", message_id, scope)

    @rule(place=places)
    def unpin(self, place: int) -> None:
        """Unpin something."""
        if (message_id := self.pick(place)) is not None:
            self.both("unpin", message_id)

    @rule(place=places, size=sizes)
    def edit(self, place: int, size: int) -> None:
        """Change a message's content."""
        if (message_id := self.pick(place)) is not None:
            message = self.chats[0][message_id]
            if message.role in ("user", "system") and not message.tool_results:
                self.both("edit", message_id, content="y" * size)

    @rule(
        place=places,
        changes=st.sampled_from(
            [
                {"role": "assistant"},
                {"role": "user"},
                {"extra": {"name": "Bartholomew"}},
                {"token_count": None},
                {"token_count": 17},
            ]
        ),
    )
    def edit_around(self, place: int, changes: dict[str, Any]) -> None:
        """Change what is around the content."""
        if (message_id := self.pick(place)) is not None:
            message = self.chats[0][message_id]
            said = message.role in ("user", "assistant")
            if said and not message.tool_calls and not message.tool_results:
                self.both("edit", message_id, **changes)

    @rule(place=places)
    def remove(self, place: int) -> None:
        """Remove a step."""
        if (message_id := self.pick(place)) is not None:
            self.both("remove", message_id)

    @rule(place=places)
    def rewind(self, place: int) -> None:
        """Go back."""
        if place % 4 == 0 and (message_id := self.pick(place)) is not None:
            self.both("rewind", message_id)

    @rule(tokens=st.integers(30, 200))
    def change_budget(self, tokens: int) -> None:
        """Another budget from now on."""
        for chat in self.chats:
            chat.budget = Budget(tokens, target=0.5)

    @rule(open_calls=st.sampled_from(["stand-in", "stand-in", "keep"]))
    def fit(self, open_calls: Any) -> None:
        """Both windows are the same; what is not looked at now is looked at later."""
        left, right = self.both("fit", open_calls=open_calls)
        if not isinstance(left, Window):
            assert left == right
            return
        assert isinstance(right, Window)
        assert left.tokens == right.tokens
        assert left.plan.pruned == right.plan.pruned
        assert left.plan.warnings == right.plan.warnings
        ids = [m.id or m.text for m in right]
        assert str(left.plan.inserted) == str(right.plan.inserted)
        self.windows.append((left, ids, str(right.plan.runs)))
        if len(self.windows) % 2:
            self.look(-1)

    def look(self, at: int) -> None:
        """A window is what it was when it was made."""
        window, ids, runs = self.windows.pop(at)
        assert [m.id or m.text for m in window] == ids
        assert str(window.plan.runs) == runs

    @rule()
    def look_back(self) -> None:
        """At the oldest window that nobody has looked at."""
        if self.windows:
            self.look(0)

    @invariant()
    def sums_are_right(self) -> None:
        """What is kept beside the messages says the same as counting them again."""
        for chat in getattr(self, "chats", ()):
            ledger = chat._ledger
            fresh = ledger.copy()
            assert list(fresh.grouping.kinds) == list(ledger.grouping.kinds)
            assert list(fresh.counts) == list(ledger.counts)
            if ledger.sums is not None:
                desk = CallDesk(fresh, chat._desk.book)
                sums = fresh.sums_for(ledger.sums.setting, desk.awaiting())
                assert described(sums) == described(ledger.sums)


TestTwoWays = TwoWays.TestCase
TestTwoWays.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


@given(
    st.lists(st.tuples(sizes, st.booleans()), min_size=1, max_size=30),
    st.integers(20, 90),
)
def test_a_loaded_conversation_plans_like_one_that_grew(
    rows: list[tuple[int, bool]], tokens: int
) -> None:
    """Whatever has been counted by then."""
    messages = [
        (Message.user if ask else Message.assistant)("z" * size) for size, ask in rows
    ]
    grown = Conversation(
        budget=Budget(tokens), model="gpt-4o", token_counter="approximate"
    )
    grown.extend(messages)
    loaded = Conversation.from_messages(
        messages, budget=Budget(tokens), model="gpt-4o", token_counter="approximate"
    )
    for _ in range(3):
        try:
            expected = grown.fit()
        except BudgetExceededError:
            with pytest.raises(BudgetExceededError):
                loaded.fit()
            return
        window = loaded.fit()
        assert [m.content for m in window] == [m.content for m in expected]
        assert window.tokens == expected.tokens
        for chat in (grown, loaded):
            chat.user("and?")
            chat.assistant("so.")
