"""`AsyncConversation`: the same as `Conversation`, and nothing half written, ever."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chats import call, say, user
from tests.stores.keeping import KINDS, QUICK, opened, schema
from turnkeep import (
    AsyncConversation,
    Budget,
    ConflictError,
    Conversation,
    Message,
    ToolCall,
    UnknownMessageError,
    check,
)
from turnkeep.stores import AsyncPostgresStore, AsyncStore, Store, in_thread

OPTIONS: dict[str, Any] = {"model": "gpt-4o", "budget": Budget(400, target=0.6)}

NAMES = [name for name in dir(Conversation) if name[0].islower()]

PLAIN = {"archive_tool", "from_json", "from_messages"}
"""Methods that have nothing to wait for."""

ASYNC_KINDS = [
    *KINDS,
    pytest.param("async", marks=pytest.mark.postgres),
]
"""Every kind of store in threads, and the one that needs none."""


@asynccontextmanager
async def kept(kind: str, folder: Path) -> AsyncIterator[AsyncStore]:
    """An empty store of a kind, for asyncio."""
    if kind == "async":
        async with await AsyncPostgresStore.open(QUICK, schema=schema()) as made:
            yield made
        return
    with opened(kind, folder) as store:
        yield in_thread(store)


class Gated(AsyncStore):
    """A store of which every operation waits until somebody lets it go on."""

    def __init__(self, store: AsyncStore) -> None:
        """Let everything through, until `gate` is cleared."""
        self.store = store
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = asyncio.Event()
        self.asked: list[str] = []

    async def _perform(self, operation: str, /, *args: Any, **options: Any) -> Any:
        self.asked.append(operation)
        self.waiting.set()
        await self.gate.wait()
        return await getattr(self.store, operation)(*args, **options)


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives that waits for nothing: not one step of the loop."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    work.close()
    msg = "it waits for something"
    raise AssertionError(msg)


@pytest.mark.parametrize("name", NAMES)
def test_all_that_a_conversation_has(name: str) -> None:
    """Methods as coroutines, with the same parameters; properties as properties."""
    here, there = getattr(AsyncConversation, name), getattr(Conversation, name)
    assert here.__doc__
    if isinstance(there, property):
        assert isinstance(here, property)
        assert (here.fset is None) == (there.fset is None)
        return
    assert inspect.iscoroutinefunction(here) == (name not in PLAIN)
    if name == "afit":
        return  # takes what `fit` takes, by name
    names = [list(inspect.signature(method).parameters) for method in (here, there)]
    assert [n for n in names[0] if n not in {"self", "chat"}] == [
        n for n in names[1] if n != "self"
    ]


async def live(chat: Any, done: Callable[[Any], Awaitable[Any]]) -> None:
    """Something of everything; *done* waits for what has to be waited for."""
    await done(chat.system("Be brief.", id="s", timestamp=None))
    pinned = await done(chat.user("Never promise a refund.", pinned=True))
    await done(chat.extend([user("one"), say("two " * 40)]))
    await done(chat.assistant("", tool_calls=[ToolCall("c", "f", {"a": 1})]))
    await done(chat.defer("c", "started", waits_for={"who": "Ann"}))
    for nth in range(8):
        await done(chat.append(user(f"question {nth} " * 9)))
        await done(chat.append(say(f"answer {nth} " * 9)))
        await done(chat.fit())
    await done(chat.edit("msg-3", content="two"))
    with pytest.raises(UnknownMessageError):
        await done(chat.remove("nobody"))
    await done(chat.remove("msg-7"))
    await done(chat.unpin(pinned.id))
    await done(chat.pin("msg-2"))
    assert await done(chat.set_pinned("nobody")) is False
    chat.metadata = {"host": "test"}
    await done(chat.fit())
    await done(chat.flush())


@pytest.mark.parametrize("kind", ASYNC_KINDS)
def test_the_same_as_without_asyncio(kind: str, tmp_path: Path) -> None:
    """Messages, pins, calls, versions and the cut, in memory and in the store."""

    async def now(value: Any) -> Any:
        return value

    async def later(value: Any) -> Any:
        return await value

    async def work() -> None:
        (tmp_path / "other").mkdir()
        with opened("sqlite", tmp_path / "other") as plain:
            expected = Conversation.open(plain, "a", **OPTIONS)
            await live(expected, now)
            async with kept(kind, tmp_path) as store:
                chat = await AsyncConversation.open(store, "a", **OPTIONS)
                await live(chat, later)
                assert _said(chat) == _said(expected)
                again = await AsyncConversation.open(store, "a")
                assert _said(again) == _said(expected)
                window, other = await again.fit(), expected.fit()
                assert window.tokens == other.tokens
                assert [m.id for m in window] == [m.id for m in other]

    asyncio.run(work())


def _said(chat: Any) -> list[Any]:
    return [
        [m.evolve(timestamp=None) for m in chat.messages],
        [m.id for m in chat.pinned],
        [(c.id, c.waits_for) for c in chat.pending],
        chat.metadata,
        chat.version,
    ]


# -- waiting ---------------------------------------------------------------------------


def test_a_window_waits_for_no_write(tmp_path: Path) -> None:
    """50 tasks whose store does not answer, half of them cancelled: no step is lost.

    Each window is made without a single step of the event loop, and what was cancelled
    before its turn came is nowhere; the write that had begun is everywhere.
    """

    async def work(store: Store) -> None:
        gated = Gated(in_thread(store))
        chat = await AsyncConversation.open(gated, "a", **OPTIONS)
        for nth in range(20):
            await chat.user(f"question {nth} " * 9)
        gated.gate.clear()
        gated.waiting.clear()
        tasks = [asyncio.create_task(chat.user(f"new {nth}")) for nth in range(50)]
        await gated.waiting.wait()
        for task in tasks[::2]:
            task.cancel()
        for _ in range(50):
            window = at_once(chat.fit())
            assert len(chat) == 20
            assert check(window.encode()["messages"], model="gpt-4o") == []
            await asyncio.sleep(0)
        gated.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await chat.flush()

        told = [isinstance(r, asyncio.CancelledError) for r in results]
        assert told == [nth % 2 == 0 for nth in range(50)]
        written = [0, *range(1, 50, 2)]  # the first one had begun
        texts = [m.text for m in chat.messages[20:]]
        assert texts == [f"new {nth}" for nth in written]
        there = store.read("a")
        assert [row.message for row in there.rows] == list(chat.messages)
        assert there.version == chat.version

    with opened("sqlite", tmp_path) as store:
        asyncio.run(work(store))


ANSWER: dict[str, Any] = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
}


OPERATIONS: dict[str, Callable[[AsyncConversation], Coroutine[Any, Any, Any]]] = {
    "append": lambda chat: chat.user("new"),
    "extend": lambda chat: chat.extend([user("x"), say("y"), user("z")]),
    "edit": lambda chat: chat.edit("msg-1", content="other"),
    "remove": lambda chat: chat.remove("msg-2"),
    "rewind": lambda chat: chat.rewind("msg-2"),
    "pin": lambda chat: chat.pin("msg-2"),
    "defer": lambda chat: chat.defer("c", "started"),
    "resolve": lambda chat: chat.resolve("c", "42"),
    "abandon": lambda chat: chat.abandon("c"),
    "replace": lambda chat: chat.replace_messages([user("all"), say("new")]),
    "sync": lambda chat: chat.sync([user("q"), say("regenerated"), user("and?")]),
    "answer": lambda chat: chat.add_response(ANSWER),
    "refresh": lambda chat: chat.refresh(),
    "flush": lambda chat: chat.flush(),
    "fit": lambda chat: chat.fit(60),
}


async def steps(task: asyncio.Task[Any], count: int) -> None:
    """Let a task make as many steps."""
    for _ in range(count):
        if task.done():
            return
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("async", marks=pytest.mark.postgres)]
)
def test_cancelled_at_any_await(kind: str, name: str, tmp_path: Path) -> None:
    """Memory and store say the same: all of it or nothing; and it goes on."""

    async def work() -> None:
        async with kept(kind, tmp_path) as plain:
            for nth, after in enumerate((0, 1, 2, 3, 5, 8, None)):
                gated = Gated(plain)
                chat = await AsyncConversation.open(gated, f"chat {nth}", **OPTIONS)
                await chat.extend([user("q"), say("a"), user("b"), call("c")])
                before = chat.messages
                gated.gate.clear()
                gated.waiting.clear()
                task = asyncio.create_task(OPERATIONS[name](chat))
                if after is None:  # in the middle of what the store does
                    asked = asyncio.create_task(gated.waiting.wait())
                    await asyncio.wait(
                        [task, asked], return_when=asyncio.FIRST_COMPLETED
                    )
                    asked.cancel()
                else:
                    await steps(task, after)
                task.cancel()
                await steps(task, 3)
                task.cancel()  # and again: it has begun all the same
                await steps(task, 3)
                assert chat.messages == before or task.done()
                gated.gate.set()
                await asyncio.wait([task])

                there = await plain.read(f"chat {nth}")
                assert [row.message for row in there.rows] == list(chat.messages)
                assert there.version == chat.version
                again = await AsyncConversation.open(plain, f"chat {nth}")
                assert _said(again) == _said(chat)
                assert await chat.refresh() == ()
                await chat.user("and on")
                assert [m.text for m in (await chat.fit()).messages][-1] == "and on"

    asyncio.run(work())


def test_a_timeout_is_one(tmp_path: Path) -> None:
    """`asyncio.timeout` around a write: told when it has ended; the rest goes on."""

    async def work(store: Store) -> None:
        gated = Gated(in_thread(store))
        chat = await AsyncConversation.open(gated, "a", **OPTIONS)
        gated.gate.clear()
        asyncio.get_running_loop().call_later(0.05, gated.gate.set)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await chat.user("late")
        assert [m.text for m in chat.messages] == ["late"]
        await asyncio.sleep(0)
        assert not asyncio.current_task().cancelling()  # type: ignore[union-attr] # it is one

    with opened("sqlite", tmp_path) as store:
        asyncio.run(work(store))


def test_the_loop_ends_amid_writes(tmp_path: Path) -> None:
    """What had begun is decided, as the next process sees."""

    async def work(store: Store) -> None:
        chat = await AsyncConversation.open(store, "a", **OPTIONS)
        tasks = [asyncio.create_task(chat.user(f"new {nth}")) for nth in range(9)]
        await asyncio.sleep(0)
        assert len(tasks) == 9  # and nobody waits for them

    with opened("sqlite", tmp_path) as store:
        asyncio.run(work(store))
        chat = Conversation.open(store, "a")
        texts = [m.text for m in chat.messages]
        assert texts == [f"new {nth}" for nth in range(len(texts))]
        chat.user("on")


# -- several of them -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ASYNC_KINDS)
def test_others_write_too(kind: str, tmp_path: Path) -> None:
    """Without *rebase* a conflict, with theirs here; with it, behind theirs."""

    async def work() -> None:
        async with kept(kind, tmp_path) as store:
            one = await AsyncConversation.open(store, "a", **OPTIONS)
            two = await AsyncConversation.open(store, "a", rebase=True)
            await one.user("first")
            await two.user("second")
            with pytest.raises(ConflictError):
                await one.user("third")
            assert [m.text for m in one.messages] == ["first", "second"]
            await one.user("third")
            assert len(await two.refresh()) == 1
            assert one.messages == two.messages

    asyncio.run(work())


@pytest.mark.parametrize("kind", ASYNC_KINDS)
def test_many_tasks_in_two_conversations(kind: str, tmp_path: Path) -> None:
    """Each message is there once, in the order of its task."""

    async def work() -> None:
        async with kept(kind, tmp_path) as store:
            chats = [
                await AsyncConversation.open(store, "a", rebase=True, **OPTIONS)
                for _ in range(2)
            ]
            async with asyncio.TaskGroup() as group:
                for nth in range(24):
                    group.create_task(chats[nth % 2].user(f"{nth}"))
            for chat in chats:
                await chat.refresh()
            assert chats[0].messages == chats[1].messages
            texts = [int(m.text) for m in chats[0].messages]
            assert sorted(texts) == list(range(24))
            for half in (0, 1):
                assert [t for t in texts if t % 2 == half] == list(range(half, 24, 2))

    asyncio.run(work())


# -- the rest --------------------------------------------------------------------------


def test_a_stream_is_appended_at_its_end(tmp_path: Path) -> None:
    """In the store too, before the loop ends; synchronous streams are refused."""

    def chunk(text: str) -> dict[str, Any]:
        delta = {"role": "assistant", "content": text}
        return {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta}],
        }

    async def answer() -> AsyncIterator[dict[str, Any]]:
        yield chunk("one ")
        yield chunk("two")

    async def work(store: Store) -> None:
        chat = await AsyncConversation.open(store, "a", **OPTIONS)
        await chat.user("q")
        stream = await chat.add_response(answer())
        passed = [c async for c in stream]
        assert passed == [chunk("one "), chunk("two")]
        assert [m.text for m in stream.messages] == ["one two"]
        assert store.read("a").rows[-1].message == chat.messages[-1]
        left = await chat.add_response(answer())
        async with left:
            async for _ in left:
                break
        assert len(chat) == 2
        with pytest.raises(TypeError, match="asynchronous client"):
            await chat.add_response(iter([chunk("x")]))  # type: ignore[call-overload] # refused
        with pytest.raises(TypeError, match="async for"):
            next(await chat.add_response(answer()))

    with opened("sqlite", tmp_path) as store:
        asyncio.run(work(store))


def test_only_the_newest_part(tmp_path: Path) -> None:
    """What needs the rest reads it where it can be awaited, and says so where not."""

    async def work(store: Store) -> None:
        long = await AsyncConversation.open(store, "a", **OPTIONS)
        await long.extend([user(f"question {nth}") for nth in range(60)])
        chat = await AsyncConversation.open(store, "a", tail=60)
        with pytest.raises(LookupError, match="read_rest"):
            _ = chat.messages
        await chat.user("new")
        assert not chat.is_whole
        assert len(await chat.fit(60)) < 10
        assert not chat.is_whole
        await chat.fit()
        assert chat.is_whole
        again = await AsyncConversation.open(store, "a", tail=60)
        assert len((await again.to_json())["messages"]) == 61
        third = await AsyncConversation.open(store, "a", tail=60)
        assert (await third.fork()).messages == chat.messages

    with opened("sqlite", tmp_path) as store:
        asyncio.run(work(store))


def test_without_a_store(tmp_path: Path) -> None:
    """Nothing waits; files are read and written in threads."""

    async def work() -> None:
        chat = AsyncConversation(**OPTIONS)
        at_once(chat.user("q"))
        at_once(chat.add_response(ANSWER))
        assert at_once(chat.fit()).encode()["messages"][-1]["content"] == "hi"
        assert at_once(chat.observe_overflow("rate limit")) is False
        await chat.save(tmp_path / "chat.json")
        again = await AsyncConversation.load(tmp_path / "chat.json")
        assert again.messages == chat.messages
        assert AsyncConversation.from_json(await chat.to_json()).usage == chat.usage
        assert "AsyncConversation(2 messages" in repr(again)
        other = AsyncConversation.from_messages([user("q")], model="gpt-4o", budget=99)
        other.model, other.tools = "gpt-4.1", []
        assert len(await other.refit()) == 1
        assert other["msg-1"] in list(other)

    asyncio.run(work())


def test_a_cut_is_written_behind_the_window(tmp_path: Path) -> None:
    """`flush` waits for it: the next process begins with the same prefix."""

    async def work(store: Store) -> None:
        gated = Gated(in_thread(store))
        chat = await AsyncConversation.open(gated, "a", **OPTIONS)
        await chat.extend([user(f"question {nth} " * 9) for nth in range(40)])
        gated.gate.clear()
        assert at_once(chat.fit()).pruned
        asyncio.get_running_loop().call_soon(gated.gate.set)
        await chat.flush()
        assert store.read("a").state["cut"]
        assert "put_state" in gated.asked

    with opened("sqlite", tmp_path) as store:
        asyncio.run(work(store))


def test_a_message_is_taken_as_it_is(tmp_path: Path) -> None:
    """By position too, as `Conversation` takes it."""

    async def work() -> None:
        chat = AsyncConversation(**OPTIONS)
        made = await chat.append(Message.user("q", id="mine"))
        assert made.id == "mine"
        await chat.append(message=user("r"))
        assert [m.text for m in chat] == ["q", "r"]
        assert "mine" in chat
        assert (await chat.rewind("mine"))[0].text == "r"

    asyncio.run(work())
    assert not list(tmp_path.iterdir())
