"""A web service that turns token ids into text while they come, as server-sent events.

    pip install fastapi uvicorn
    python examples/fastapi_decode.py             # then, in another shell:
    curl -N -d '{"ids": [24912, 2375, 93643, 245]}' -H 'content-type: application/json' http://127.0.0.1:8000/decode

A model yields one id after another, and a character can take several ids. A StreamDecoder returns whole characters
only, so no event ends inside one. The ids of a request stand for the model here: put your own loop in their place. The
data of each event is a JSON string, because a line break would end an event.
"""

import json
from collections.abc import Iterable, Iterator

from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

import streamtok

app = FastAPI()
encoding = streamtok.get_encoding("o200k_base")


class Request(BaseModel):
    ids: list[int]


def events(ids: Iterable[int]) -> Iterator[str]:
    decoder = encoding.stream_decoder()
    for token in ids:
        if text := decoder.feed(token):
            yield f"data: {json.dumps(text)}\n\n"
    if text := decoder.flush():  # the last character was cut off: U+FFFD takes its place
        yield f"data: {json.dumps(text)}\n\n"
    yield "data: [DONE]\n\n"


@app.post("/decode")
def decode(request: Request) -> StreamingResponse:
    try:
        encoding.decode_bytes(request.ids)  # an error is of no use once the answer has begun
    except (KeyError, OverflowError) as error:
        raise HTTPException(422, f"these are no ids of {encoding.name}: {error}") from None
    return StreamingResponse(events(request.ids), media_type="text/event-stream")


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=8000)
