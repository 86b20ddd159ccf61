"""A chat service: any number of workers, each chat once, in PostgreSQL.

pip install '.[postgres]' fastapi uvicorn openai
DATABASE_URL=postgresql://... uvicorn --app-dir examples fastapi_chat:app --workers 2
curl -N localhost:8000/chats/team --json '"Where is my parcel?"'

Whoever writes to a chat takes part in it. Answers are passed on as they arrive. Who
hangs up meanwhile leaves the question there, and nothing of its answer.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI

from turnkeep import AsyncConversation, Budget, DuplicateIdError
from turnkeep.stores import AsyncPostgresStore

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
BUDGET = Budget(int(os.environ.get("MAX_TOKENS", "16000")), target=0.6)
RULE = "You are a support agent. Never promise a refund."


class Chats:
    """The chats that this worker has been asked for, each opened once.

    One that is here stays: a service with more of them than memory puts out those that
    were not asked for longest.
    """

    def __init__(self, store: AsyncPostgresStore) -> None:
        """Open none yet."""
        self._store = store
        self._opened: dict[str, asyncio.Task[AsyncConversation]] = {}

    async def get(self, name: str) -> AsyncConversation:
        """A chat, with what other workers have written to it by now."""
        task = self._opened.get(name)
        if task is None or (task.done() and task.exception() is not None):
            task = self._opened[name] = asyncio.create_task(self._open(name))
        # Who hangs up here must not take it away from others who wait for it.
        chat = await asyncio.shield(task)
        await chat.refresh()
        return chat

    async def _open(self, name: str) -> AsyncConversation:
        chat = await AsyncConversation.open(
            self._store, name, rebase=True, model=MODEL, budget=BUDGET
        )
        with suppress(DuplicateIdError):  # another worker was faster
            if len(chat) == 0:
                await chat.system(RULE, id="rule")
        return chat

    async def close(self) -> None:
        """Write what is still to be written."""
        for task in self._opened.values():
            with suppress(Exception):
                await (await task).flush()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One store and one client a worker."""
    dsn, schema = os.environ["DATABASE_URL"], os.environ.get("SCHEMA", "turnkeep")
    async with (
        await AsyncPostgresStore.open(dsn, schema=schema) as store,
        AsyncOpenAI() as client,
    ):
        app.state.chats, app.state.client = Chats(store), client
        yield
        await app.state.chats.close()


app = FastAPI(lifespan=lifespan)
WORKER = {"x-worker": str(os.getpid())}


@app.post("/chats/{name}")
async def ask(
    name: str, text: Annotated[str, Body()], request: Request
) -> StreamingResponse:
    """Say something in a chat; the answer comes piece by piece."""
    chat = await request.app.state.chats.get(name)
    await chat.user(text)
    window = await chat.fit()
    stream = await request.app.state.client.chat.completions.create(
        model=MODEL,
        stream=True,
        stream_options={"include_usage": True},
        **window.encode(),
    )

    async def pieces() -> AsyncIterator[str]:
        async with await chat.add_response(stream, window=window) as answer:
            async for chunk in answer:
                if chunk.choices and chunk.choices[0].delta.content:
                    yield chunk.choices[0].delta.content

    return StreamingResponse(pieces(), media_type="text/plain", headers=WORKER)


@app.get("/chats/{name}")
async def show(name: str, request: Request) -> dict[str, Any]:
    """The whole chat, as any worker sees it."""
    chat = await request.app.state.chats.get(name)
    said = [{"role": str(m.role), "text": m.text} for m in chat.messages]
    return {"worker": WORKER["x-worker"], "version": chat.version, "messages": said}
