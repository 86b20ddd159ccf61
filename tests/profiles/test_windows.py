"""Every window is accepted: by property, and over recorded requests (P11)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import turnkeep
from tests.paths import needs_corpus, read_corpus
from tests.profiles.histories import Json, Talk, talks
from turnkeep.errors import BudgetExceededError
from turnkeep.model import PENDING, mark
from turnkeep.profiles import check_request
from turnkeep.strategies import DEFAULT

IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


def summary(messages: Sequence[Any]) -> str:
    """A summary that is small enough for most histories."""
    return f"{len(messages)} messages"


@attrs.frozen
class Shelf:
    """Keeps no text: these tests look at windows."""

    def put_text(self, conversation_id: str, name: str, text: str) -> None:
        """Take it."""

    def read_text(self, conversation_id: str, name: str) -> str | None:
        """There is none."""


BLOCKS: dict[str, Json] = {
    "anthropic": {"type": "compaction", "content": "They met.", "signature": "s"},
    "openai-responses": {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
}
"""What providers' own compactors return."""

STRATEGIES: dict[str, Any] = {
    "default": None,
    "oldest steps": turnkeep.OldestSteps(),
    "largest first": turnkeep.LargestFirst(),
    "clear": turnkeep.ClearToolResults(keep=1) | DEFAULT,
    "clear inputs": turnkeep.ClearToolResults(keep=0, clear_tool_inputs=True)
    | turnkeep.OldestSteps(),
    "strip": turnkeep.StripThinking() | turnkeep.OldestSteps(),
    "truncate": turnkeep.TruncateToolResults(max_tokens=20) | turnkeep.LargestFirst(),
    "ends": turnkeep.KeepEnds(1, 1) | turnkeep.OldestSteps(),
    "priority": turnkeep.LowestPriority(),
    "relevance": turnkeep.Relevance() | turnkeep.LeastRecentlyReferenced(),
    "digest": turnkeep.Digest() | turnkeep.OldestSteps(),
    "offload": turnkeep.Offload(Shelf(), 200, 60) | DEFAULT,
    "summarise": turnkeep.Summarize(summary, max_tokens=50),
}


@attrs.frozen
class Scene:
    """What a generated request has besides its turns."""

    talks: tuple[Talk, ...]
    ends: str
    """`"question"`, `"results"` (a tool round in progress) or `"answer"`."""
    systems: frozenset[int]
    """Turns whose question is followed by system text, where that is taken."""
    images: frozenset[int]
    pending: frozenset[int]
    """Calls, by their number, whose result is a placeholder."""
    mode: str | None
    """Whether thinking is on, where a request says so."""
    model: str | None


def text_of(call: int, scene: Scene) -> str:
    """A result: a placeholder where the call is pending."""
    long = "a line of what the tool found\n" * (40 if call == 5 else call % 4 * 4)
    return (
        mark(PENDING, "started") if call in scene.pending else f"found {call}\n{long}"
    )


class Writer:
    """Writes a scene in one format."""

    key = "messages"
    model_key = "model"
    takes_systems = False

    def __init__(self, scene: Scene) -> None:
        """Write *scene*."""
        self.scene = scene
        self.out: list[Json] = []
        self.calls = 0

    def body(self) -> Json:
        """The whole request."""
        scene = self.scene
        for nth, talk in enumerate(scene.talks):
            self.user(f"question {nth} " + "and more words " * (nth % 3), nth)
            if nth in scene.systems and self.takes_systems:
                self.system("Mind the rules.")
            for place, each in enumerate(talk.rounds):
                made = list(range(self.calls, self.calls + each.calls))
                self.calls += each.calls
                mark = f"{nth}.{place}"
                self.call(made, mark, says=each.says, thinks=each.thinks)
            last = nth + 1 == len(scene.talks)
            if not (last and scene.ends == "results" and talk.rounds):
                self.answer(f"answer {nth}", str(nth), thinks=talk.thinks)
        if scene.ends == "question":
            self.user("last question", -1)
        body: Json = {self.key: self.out}
        if scene.model:
            body[self.model_key] = scene.model
        body |= self.around()
        return body

    def around(self) -> Json:
        """What stands beside the list."""
        return {}

    def user(self, text: str, nth: int) -> None:
        """A question."""
        raise NotImplementedError

    def system(self, text: str) -> None:
        """System text in the list."""
        self.out.append({"role": "system", "content": text})

    def call(self, calls: list[int], mark: str, *, says: bool, thinks: bool) -> None:
        """A message with calls, and their results."""
        raise NotImplementedError

    def answer(self, text: str, mark: str, *, thinks: bool) -> None:
        """What the model says in the end."""
        raise NotImplementedError


class OpenAI(Writer):
    """Chat Completions."""

    takes_systems = True
    reasons = False

    def around(self) -> Json:
        """See `Writer`."""
        self.out.insert(0, {"role": "system", "content": "You are a helper."})
        return {}

    def user(self, text: str, nth: int) -> None:
        """See `Writer`."""
        content: Any = text
        if nth in self.scene.images and not self.reasons:
            url = {"url": f"data:image/png;base64,{IMAGE}"}
            content = [
                {"type": "text", "text": text},
                {"type": "image_url", "image_url": url},
            ]
        self.out.append({"role": "user", "content": content})

    def call(self, calls: list[int], mark: str, *, says: bool, thinks: bool) -> None:
        """See `Writer`."""
        del thinks
        made = [
            {
                "id": f"call{nth:05d}",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at": "somewhere else"}'},
            }
            for nth in calls
        ]
        said = "I look." if says else None
        entry: Json = {"role": "assistant", "content": said, "tool_calls": made}
        if self.reasons:
            entry |= {"reasoning_content": f"Let me see {mark}.", "content": said or ""}
        self.out.append(entry)
        self.out += [
            {
                "role": "tool",
                "tool_call_id": f"call{nth:05d}",
                "content": text_of(nth, self.scene),
            }
            for nth in calls
        ]

    def answer(self, text: str, mark: str, *, thinks: bool) -> None:
        """See `Writer`."""
        entry: Json = {"role": "assistant", "content": text}
        if self.reasons and thinks:
            entry["reasoning_content"] = f"So it is {mark}."
        self.out.append(entry)


class DeepSeek(OpenAI):
    """With the reasoning that thinking mode wants back."""

    reasons = True


class Mistral(OpenAI):
    """OpenAI's shape, judged by Mistral's rules."""


class Responses(Writer):
    """Items, with stored reasoning in front of calls and answers."""

    key = "input"
    takes_systems = True

    def user(self, text: str, nth: int) -> None:
        """See `Writer`."""
        content: Any = text
        if nth in self.scene.images:
            url = f"data:image/png;base64,{IMAGE}"
            content = [
                {"type": "input_text", "text": text},
                {"type": "input_image", "image_url": url, "detail": "auto"},
            ]
        self.out.append({"role": "user", "content": content})

    def reason(self, mark: str) -> None:
        """See `Writer`."""
        item = {"type": "reasoning", "id": f"rs_{mark.replace('.', '_')}"}
        self.out.append({**item, "summary": []})

    def call(self, calls: list[int], mark: str, *, says: bool, thinks: bool) -> None:
        """See `Writer`."""
        if thinks:
            self.reason(mark)
        if says:
            self.out.append({"role": "assistant", "content": "I look."})
        for nth in calls:
            item: Json = {"type": "function_call", "name": "look", "arguments": "{}"}
            if thinks:
                item["id"] = f"fc_{nth}"
            self.out.append({**item, "call_id": f"call_{nth}"})
        for nth in calls:
            said = text_of(nth, self.scene)
            item = {"type": "function_call_output", "output": said}
            self.out.append({**item, "call_id": f"call_{nth}"})

    def answer(self, text: str, mark: str, *, thinks: bool) -> None:
        """See `Writer`."""
        if thinks:
            self.reason(f"a{mark}")
            said = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "id": f"msg_{mark}", "role": "assistant"}
            self.out.append({**item, "status": "completed", "content": [said]})
        else:
            self.out.append({"role": "assistant", "content": text})


class Anthropic(Writer):
    """Results in one user message, thinking in front."""

    @property
    def takes_systems(self) -> bool:  # type: ignore[override]
        """See `Writer`."""
        return self.scene.model == "claude-opus-5-5"

    def around(self) -> Json:
        """See `Writer`."""
        made: Json = {"system": "You are a helper.", "max_tokens": 4096}
        tool = {"name": "look", "input_schema": {"type": "object"}}
        made["tools"] = [tool]
        if self.scene.mode:
            made["thinking"] = {"type": self.scene.mode}
            if self.scene.mode == "enabled":
                made["thinking"]["budget_tokens"] = 2048
        return made

    def user(self, text: str, nth: int) -> None:
        """See `Writer`."""
        content: Any = text
        if nth in self.scene.images:
            source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
            content = [
                {"type": "text", "text": text},
                {"type": "image", "source": source},
            ]
        self.out.append({"role": "user", "content": content})

    def think(self, mark: str, *, thinks: bool) -> list[Json]:
        """See `Writer`."""
        if not thinks and self.scene.mode != "enabled":
            return []
        words = f"thought {mark} " + "hm " * 20
        return [{"type": "thinking", "thinking": words, "signature": f"sign {mark}"}]

    def call(self, calls: list[int], mark: str, *, says: bool, thinks: bool) -> None:
        """See `Writer`."""
        blocks = self.think(mark, thinks=thinks)
        if says:
            blocks.append({"type": "text", "text": "I look."})
        blocks += [
            {"type": "tool_use", "id": f"toolu_{n}", "name": "look", "input": {"n": n}}
            for n in calls
        ]
        self.out.append({"role": "assistant", "content": blocks})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": f"toolu_{nth}",
                "content": text_of(nth, self.scene),
            }
            for nth in calls
        ]
        self.out.append({"role": "user", "content": results})

    def answer(self, text: str, mark: str, *, thinks: bool) -> None:
        """See `Writer`."""
        said = {"type": "text", "text": text}
        blocks = [*self.think(f"a{mark}", thinks=thinks), said]
        self.out.append({"role": "assistant", "content": blocks})


class Bedrock(Writer):
    """Strictly alternating, results in one message."""

    model_key = "modelId"

    def around(self) -> Json:
        """See `Writer`."""
        spec = {"name": "look", "inputSchema": {"json": {"type": "object"}}}
        return {
            "system": [{"text": "You are a helper."}],
            "toolConfig": {"tools": [{"toolSpec": spec}]},
        }

    def user(self, text: str, nth: int) -> None:
        """See `Writer`."""
        content: list[Json] = [{"text": text}]
        if nth in self.scene.images:
            content.append({"image": {"format": "png", "source": {"bytes": IMAGE}}})
        self.out.append({"role": "user", "content": content})

    def think(self, mark: str, *, thinks: bool) -> list[Json]:
        """See `Writer`."""
        if not thinks:
            return []
        text = {"text": "hm " * 20, "signature": f"sign {mark}"}
        return [{"reasoningContent": {"reasoningText": text}}]

    def call(self, calls: list[int], mark: str, *, says: bool, thinks: bool) -> None:
        """See `Writer`."""
        blocks = self.think(mark, thinks=thinks)
        if says:
            blocks.append({"text": "I look."})
        blocks += [
            {
                "toolUse": {
                    "toolUseId": f"tooluse_{n}",
                    "name": "look",
                    "input": {"n": n},
                }
            }
            for n in calls
        ]
        self.out.append({"role": "assistant", "content": blocks})
        results = []
        for nth in calls:
            content = [{"text": text_of(nth, self.scene)}]
            inner = {"toolUseId": f"tooluse_{nth}", "content": content}
            results.append({"toolResult": inner})
        self.out.append({"role": "user", "content": results})

    def answer(self, text: str, mark: str, *, thinks: bool) -> None:
        """See `Writer`."""
        blocks = [*self.think(f"a{mark}", thinks=thinks), {"text": text}]
        self.out.append({"role": "assistant", "content": blocks})


class Gemini(Writer):
    """A signature on the first call of each step."""

    key = "contents"

    def around(self) -> Json:
        """See `Writer`."""
        return {"systemInstruction": {"parts": [{"text": "You are a helper."}]}}

    def user(self, text: str, nth: int) -> None:
        """See `Writer`."""
        parts: list[Json] = [{"text": text}]
        if nth in self.scene.images:
            parts.append({"inlineData": {"mimeType": "image/png", "data": IMAGE}})
        self.out.append({"role": "user", "parts": parts})

    def call(self, calls: list[int], mark: str, *, says: bool, thinks: bool) -> None:
        """See `Writer`."""
        parts: list[Json] = [{"text": "hm", "thought": True}] if thinks else []
        if says:
            parts.append({"text": "I look."})
        made: list[Json] = [
            {"functionCall": {"name": "look", "args": {"n": nth}, "id": f"c{nth}"}}
            for nth in calls
        ]
        made[0]["thoughtSignature"] = f"sign{mark}"
        self.out.append({"role": "model", "parts": parts + made})
        results = []
        for nth in calls:
            response = {"output": text_of(nth, self.scene)}
            inner = {"name": "look", "id": f"c{nth}", "response": response}
            results.append({"functionResponse": inner})
        self.out.append({"role": "user", "parts": results})

    def answer(self, text: str, mark: str, *, thinks: bool) -> None:
        """See `Writer`."""
        del mark
        parts: list[Json] = [{"text": "hm", "thought": True}] if thinks else []
        self.out.append({"role": "model", "parts": [*parts, {"text": text}]})


WRITERS: dict[str, tuple[type[Writer], tuple[str | None, ...]]] = {
    "openai": (OpenAI, (None, "gpt-4o")),
    "openai-responses": (Responses, ("gpt-5.2",)),
    "anthropic": (
        Anthropic,
        (None, "claude-sonnet-4-5", "claude-opus-5-5", "claude-opus-4-6"),
    ),
    "gemini": (Gemini, (None, "gemini-3-pro-preview", "gemini-3.6-flash")),
    "bedrock": (
        Bedrock,
        (None, "anthropic.claude-opus-5-5", "anthropic.claude-sonnet-4-5", "nova-pro"),
    ),
    "mistral": (Mistral, ("mistral-large-latest",)),
    "deepseek": (DeepSeek, ("deepseek-v4", "deepseek-chat", None)),
}


@st.composite
def scenes(draw: DrawFn, name: str) -> Scene:
    """What a request of format *name* may hold."""
    told = draw(st.lists(talks, min_size=1, max_size=5))
    some = st.frozensets(st.integers(0, 5), max_size=2)
    _, models = WRITERS[name]
    return Scene(
        tuple(told),
        draw(st.sampled_from(["question", "results", "answer"])),
        draw(some),
        draw(some),
        draw(some),
        draw(st.sampled_from([None, "enabled", "adaptive"])),
        draw(st.sampled_from(models)),
    )


def hard(body: Any, name: str, original: Any = None) -> list[Any]:
    """The hard violations of a request."""
    return check_request(body, format=name, original=original)


@pytest.mark.long
@pytest.mark.parametrize("name", WRITERS)
@given(data=st.data())
def test_any_window_of_a_valid_request_is_accepted(
    name: str, data: st.DataObject
) -> None:
    """At any budget, under any strategy, with any pins: no hard rule is broken."""
    write, _ = WRITERS[name]
    body = write(data.draw(scenes(name))).body()
    if hard(body, name):
        return  # such as a list that ends on an answer where that is refused
    entries = body[write.key]
    counted = turnkeep.count(body, format=name)
    total = counted.total
    strategy = STRATEGIES[data.draw(st.sampled_from(list(STRATEGIES)))]
    pins = data.draw(st.lists(st.integers(0, len(entries) - 1), max_size=2))
    options: dict[str, Any] = {
        "format": name,
        "strategy": strategy,
        "pinned": pins,
        "pin_scope": data.draw(st.sampled_from(["turn", "step"])),
        "pending": data.draw(st.sampled_from([None, ()])),
        "budget": turnkeep.Budget(
            total * data.draw(st.integers(10, 180)) // 100 + 1,
            target=data.draw(st.sampled_from([None, 0.7])),
        ),
    }
    limit = options["budget"].max_tokens

    try:
        plan = turnkeep.plan(body, **options)
    except BudgetExceededError:
        return
    window = plan.apply(body)

    assert hard(window, name, body) == [], str(plan)
    assert plan.tokens <= limit
    assert turnkeep.count(window, format=name).total <= plan.tokens
    if limit >= total * (1 + counted.margin) + 1 and options["budget"].target is None:
        assert window == body
    again = dict(options, pinned=(), budget=options["budget"])
    if not pins and not plan.inserted:
        assert turnkeep.fit(window, **again) == window


@pytest.mark.long
@pytest.mark.parametrize("name", BLOCKS)
@given(data=st.data())
def test_any_window_with_a_providers_block_is_accepted(
    name: str, data: st.DataObject
) -> None:
    """It stands where its provider wants it, whatever else is held; once.

    Only where nobody demands reasoning back: that a window which lost its summary
    again sends that is none of a block's.
    """
    write, _ = WRITERS[name]
    scene = attrs.evolve(data.draw(scenes(name)), mode=None)
    body = write(scene).body()
    if hard(body, name):
        return
    total = turnkeep.count(body, format=name).total
    limit = total * data.draw(st.integers(10, 95)) // 100 + 1
    pins = data.draw(st.lists(st.integers(0, len(body[write.key]) - 1), max_size=2))
    whole = data.draw(st.booleans()) and name == "openai-responses"

    def compact(_asked: Any) -> Json:
        if whole:
            return {"object": "response.compaction", "output": [BLOCKS[name]]}
        return BLOCKS[name]

    strategy = turnkeep.Summarize(compact, max_tokens=50)
    try:
        plan = turnkeep.plan(body, limit, format=name, strategy=strategy, pinned=pins)
    except BudgetExceededError:
        return
    window = plan.apply(body)

    assert hard(window, name, body) == [], str(plan)
    assert plan.tokens <= limit
    assert turnkeep.count(window, format=name).total <= plan.tokens
    assert json.dumps(window).count(json.dumps(BLOCKS[name])) == len(
        [item for item in plan.inserted if item.cause == "summary"]
    )


RECORDED = ("openai", "openai-responses", "anthropic", "gemini", "bedrock")


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("name", RECORDED)
def test_windows_of_recorded_requests_are_accepted(name: str) -> None:
    """Every valid recording, cut to five sizes under six strategies."""
    fitted = 0
    strategies = (
        "default",
        "oldest steps",
        "largest first",
        "strip",
        "summarise",
        "offload",
    )
    for record in read_corpus(name):
        body = record["body"]
        if hard(body, name):
            continue
        total = turnkeep.count(body, format=name).total
        assert turnkeep.fit(body, 3 * total + 100, format=name) == body
        for share in (20, 35, 50, 65, 80):
            for strategy in strategies[: 1 if len(str(body)) > 100_000 else None]:
                limit = total * share // 100 + 1
                try:
                    plan = turnkeep.plan(
                        body, limit, format=name, strategy=STRATEGIES[strategy]
                    )
                except BudgetExceededError:
                    continue
                window = plan.apply(body)
                assert hard(window, name, body) == [], (record["name"], share, strategy)
                assert plan.tokens <= limit
                fitted += 1
    assert fitted > 20


@pytest.mark.parametrize("model", ["claude-opus-6", "claude-fable-5-3", "claude-x"])
def test_reasoning_that_may_be_bound_goes_with_the_first_change(model: str) -> None:
    """An unnamed or newer Claude gets the form that is valid either way."""
    thought = {"type": "thinking", "thinking": "hm " * 20, "signature": "s"}
    said = {"type": "text", "text": "so it is " * 20}
    talk: list[Any] = []
    for nth in range(8):
        talk += [
            {"role": "user", "content": f"q{nth}"},
            {
                "role": "assistant",
                "content": [{**thought, "signature": str(nth)}, said],
            },
        ]
    body = {"model": model, "messages": [*talk, {"role": "user", "content": "z"}]}
    known = {**body, "model": "claude-opus-4-8"}

    window = turnkeep.fit(body, 900)

    assert len(window["messages"]) < len(body["messages"])
    assert not [
        violation.rule
        for violation in check_request(
            window, format="anthropic", strict=True, original=body
        )
        if violation.rule.startswith("AE")
    ]
    assert turnkeep.fit(body, 100_000) == body
    assert '"thinking"' in json.dumps(turnkeep.fit(known, 900))


def test_the_round_in_progress_keeps_reasoning_that_may_be_bound() -> None:
    """Those that do not bind it want it back; what is older is left out."""
    talk: list[Any] = [{"role": "user", "content": "old " * 400}]
    for nth in range(2):
        call = {"type": "tool_use", "id": f"t{nth}", "name": "f", "input": {}}
        thought = {"type": "thinking", "thinking": "hm", "signature": str(nth)}
        result = {"type": "tool_result", "tool_use_id": f"t{nth}", "content": "r"}
        talk += [
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [result]},
        ]
        if not nth:
            talk += [
                {"role": "assistant", "content": "Well."},
                {"role": "user", "content": "go on"},
            ]

    window = turnkeep.fit(talk, 300, format="anthropic", model="claude-opus-6")

    assert len(window) < len(talk)
    kinds = [
        block["type"]
        for entry in window
        if not isinstance(entry["content"], str)
        for block in entry["content"]
    ]
    assert kinds.count("thinking") == 1
    assert window[-2]["content"][0]["signature"] == "1"
