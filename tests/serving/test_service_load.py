"""The service of examples/fastapi_service.py under load: a thousand connections, some of which go away, some slow."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import time

import oracle
import pytest

CONNECTIONS, ROUNDS = 1_000, 4
TOKENS = 80  # of an answer
TEXT = "wörds, 你好 and 🤗, it's 12345 of them\n"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not pathlib.Path("/proc/self/status").exists(), reason="reads memory from /proc, as Linux has it"
    ),
]


@pytest.fixture
def service():
    """(process, port) of the service."""
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package, reason=f"needs {package}: pip install 'streamtok[recipes]'")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "fastapi_service:app", "--port", str(port), "--log-level", "error"]
    folder = oracle.PROJECT / "examples"
    process = subprocess.Popen(
        [*command, "--app-dir", str(folder), "--backlog", "2048"],
        env={**os.environ, "PYTHONPATH": str(oracle.PROJECT)},
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield process, port
    finally:
        process.terminate()  # it ends when all answers have: none goes on for a reader that has gone
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def memory(process: subprocess.Popen) -> int:
    """Kilobytes that the process has in memory."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


async def post(port: int, path: str, content: dict[str, object]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 14)
    body = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    return reader, writer


async def client(port: int, rng: random.Random, done: dict[str, int]) -> None:
    kind = rng.choice(("whole", "whole", "slow", "gone", "gone", "count"))
    if kind == "count":
        reader, writer = await post(port, "/count", {"text": TEXT * rng.randint(1, 50)})
        answer = await reader.read()
        assert b"200 OK" in answer and b'{"tokens":' in answer
    else:
        tokens = 10**9 if kind == "gone" else TOKENS
        reader, writer = await post(port, "/generate", {"prompt": TEXT, "tokens": tokens})
        if kind == "gone":
            await reader.read(rng.choice((1, 300, 5_000)))
        else:
            events = await whole_answer(reader, kind == "slow")
            enc = oracle.ours("o200k_base")
            ids = (enc.encode(TEXT) * TOKENS)[:TOKENS]
            assert "".join(events) == enc.decode(ids)
    writer.close()
    done[kind] = done.get(kind, 0) + 1


async def whole_answer(reader: asyncio.StreamReader, is_slow: bool) -> list[str]:
    events = []
    while True:
        line = (await reader.readline()).decode()
        assert line, "the answer was cut off"
        if line == "data: [DONE]\n":
            return events
        if line.startswith("data: "):
            events.append(json.loads(line.removeprefix("data: ")))
            if is_slow and len(events) % 20 == 0:
                await asyncio.sleep(0.2)


async def load(port: int, seed: int, done: dict[str, int]) -> None:
    rng = random.Random(seed)
    async with asyncio.timeout(300) if hasattr(asyncio, "timeout") else _no_limit():
        await asyncio.gather(*(client(port, random.Random(rng.random()), done) for _ in range(CONNECTIONS)))


class _no_limit:
    async def __aenter__(self) -> None: ...
    async def __aexit__(self, *error: object) -> None: ...


def test_a_thousand_connections(service, capsys):
    process, port = service
    done: dict[str, int] = {}
    sizes = []
    for number in range(ROUNDS):
        asyncio.run(load(port, number, done))
        sizes.append(memory(process))
    with capsys.disabled():
        print(f"\n{CONNECTIONS} connections at a time: {done}; memory behind each round, KB: {sizes}", flush=True)
    assert sum(done.values()) == ROUNDS * CONNECTIONS
    assert sizes[-1] < sizes[1] * 1.1  # the first round fills caches and buffers
