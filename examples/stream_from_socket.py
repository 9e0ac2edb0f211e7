"""Token ids of a text while it arrives over a socket.

    python examples/stream_from_socket.py [FILE]

A socket delivers bytes that end anywhere: inside a character, a word or a special token. A StreamEncoder takes them as
they come, returns each id as soon as no later byte can change it, and holds the rest back. All ids together are those
of the whole text. Here a thread sends FILE, or a small sample, over a connection inside this machine.
"""

import pathlib
import socket
import sys
import threading
from collections.abc import Iterator

import numpy as np

import streamtok

SAMPLE = "A socket cuts text anywhere: inside a wörd, inside 你好, even inside 🤗.\n" * 200


def ids_of(connection: socket.socket, encoding: streamtok.Encoding) -> Iterator[np.ndarray]:
    """Arrays of ids, as the bytes come in."""
    stream = encoding.stream_encoder(copy=True)  # without copy=True an array is valid until the next feed
    while chunk := connection.recv(1000):
        yield stream.feed(chunk)
    yield stream.flush()  # the sender has closed the connection: the text is complete


def send(data: bytes, address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(data)


def receive(data: bytes, encoding: streamtok.Encoding) -> np.ndarray:
    """Sends the bytes from a thread, and returns the ids of what arrives."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = threading.Thread(target=send, args=(data, server.getsockname()))
        sender.start()
        connection, _ = server.accept()
        with connection:
            ids = np.concatenate(list(ids_of(connection, encoding)))
        sender.join()
    return ids


def main() -> None:
    data = pathlib.Path(sys.argv[1]).read_bytes() if len(sys.argv) > 1 else SAMPLE.encode()
    ids = receive(data, streamtok.get_encoding("o200k_base"))
    print(f"{len(data):,} bytes arrived, {len(ids):,} ids")


if __name__ == "__main__":
    main()
