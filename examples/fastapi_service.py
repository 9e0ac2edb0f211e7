"""A web service: counts, encodes and decodes texts, and streams the text of a model as server-sent events.

    pip install fastapi uvicorn
    python examples/fastapi_service.py            # then, in another shell:
    curl -d '{"text": "How many tokens?"}' -H 'content-type: application/json' http://127.0.0.1:8000/count
    curl -N -d '{"prompt": "naïve 🤗 ", "tokens": 12}' -H 'content-type: application/json' http://127.0.0.1:8000/generate

Requests for /count, /encode and /decode share batches (MicroBatcher), and the event loop never encodes. /generate has a
model that says the ids of its prompt again and again: put your own in its place. One step gives each running request an
id, and one call of a BatchDecoder turns the ids of all of them into text, whole characters only. A reader that is slow
makes its own request wait, and no other; one that goes away frees its slot.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import cycle, islice

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

import streamtok
from streamtok.serving import MicroBatcher

SLOTS = 1024  # requests that the model runs at a time; further ones wait
STEP = 0.002  # seconds that a step of the model takes, in a thread or a process of its own
AHEAD = 16  # texts that wait for a reader before its request stands still

encoding = streamtok.get_encoding("o200k_base")


MOST_TEXT = 1 << 24  # characters of a text, ids of one
MOST_TOKENS = 1 << 14  # of an answer: its slot is free again after 33 seconds


class Text(BaseModel):
    text: str = Field(max_length=MOST_TEXT)


class Ids(BaseModel):
    ids: list[int] = Field(max_length=MOST_TEXT)


class Prompt(BaseModel):
    prompt: str = Field(max_length=MOST_TEXT)
    tokens: int = Field(100, ge=0, le=MOST_TOKENS)
    stop: list[str] = Field([], max_length=16)


class Answer:
    """A request that the model runs."""

    def __init__(self, ids: Iterator[int]) -> None:
        self.ids = ids
        self.texts: asyncio.Queue[str | None] = asyncio.Queue()  # None: the end


class Model:
    """Gives each running request an id at each step."""

    def __init__(self) -> None:
        self.decoder = encoding.batch_decoder(SLOTS)
        self.answers: dict[int, Answer] = {}
        self.free = list(range(SLOTS))
        self.has_free = asyncio.Semaphore(SLOTS)
        self.has_work = asyncio.Event()

    async def run(self) -> None:
        while True:
            await self.has_work.wait()
            self.has_work.clear()
            while self.step():
                await asyncio.sleep(STEP)

    def step(self) -> bool:
        """One id for each request whose reader keeps up. Whether there was any."""
        running = [(slot, answer) for slot, answer in self.answers.items() if answer.texts.qsize() < AHEAD]
        ids = [next(answer.ids, -1) for _, answer in running]
        texts = self.decoder.feed([slot for slot, _ in running], ids)
        stopped = set(self.decoder.stopped)
        for (slot, answer), token, text in zip(running, ids, texts):
            ends = token == -1 or slot in stopped
            if ends:
                text += self.decoder.flush(slot)
                del self.answers[slot]
            if text:
                answer.texts.put_nowait(text)
            if ends:
                answer.texts.put_nowait(None)
        return bool(running)

    async def generate(self, ids: Iterator[int], stop: list[str]) -> AsyncIterator[str]:
        async with self.has_free:
            slot = self.free.pop()
            try:
                self.decoder.reset(slot, stop)
                answer = self.answers[slot] = Answer(ids)
                self.has_work.set()
                while (text := await answer.texts.get()) is not None:
                    self.has_work.set()
                    yield text
            finally:  # also when the reader has gone
                self.answers.pop(slot, None)
                self.free.append(slot)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.model = Model()
    running = asyncio.create_task(app.state.model.run())
    async with MicroBatcher(encoding) as app.state.batcher:
        yield
    running.cancel()


app = FastAPI(lifespan=lifespan)


@app.exception_handler(RequestValidationError)
async def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
    """Without the values that were sent: JSON cannot hold all of them, as NaN, and the answer would fail."""
    known = ("type", "loc", "msg")
    return JSONResponse({"detail": [{name: each[name] for name in known} for each in error.errors()]}, 422)


@app.post("/count")
async def count(request: Text) -> dict[str, int]:
    return {"tokens": await app.state.batcher.count(request.text, disallowed_special=())}


@app.post("/encode")
async def encode(request: Text) -> dict[str, list[int]]:
    return {"ids": (await app.state.batcher.encode(request.text, disallowed_special=())).tolist()}


@app.post("/decode")
async def decode(request: Ids) -> dict[str, str]:
    try:
        return {"text": await app.state.batcher.decode(request.ids)}
    except (KeyError, OverflowError) as error:
        raise HTTPException(422, f"these are no ids of {encoding.name}: {error}") from None


@app.post("/generate")
async def generate(request: Prompt) -> StreamingResponse:
    prompt = (await app.state.batcher.encode(request.prompt, disallowed_special=())).tolist()
    try:
        encoding.batch_decoder(1).reset(0, request.stop)  # an error is of no use once the answer has begun
    except ValueError as error:
        raise HTTPException(422, str(error)) from None

    async def events() -> AsyncIterator[str]:
        async for text in app.state.model.generate(islice(cycle(prompt), request.tokens), request.stop):
            yield f"data: {json.dumps(text)}\n\n"  # JSON, because a line break would end an event
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=8000)
