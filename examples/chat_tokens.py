"""How many tokens a conversation takes of a model's window.

    python examples/chat_tokens.py [FILE]

FILE holds a JSON list of messages, each {"role": ..., "content": ...} and perhaps "name". A chat model sees three
special tokens with each message: one that begins it, one between role and content, one that ends it. The prompt ends
with the beginning of the answer: "assistant" between two special tokens. These are the numbers that OpenAI publishes
for gpt-4 and gpt-4o, for messages of plain text. Tools and images cost more; the service reports how much.
"""

import json
import pathlib
import sys

import streamtok

SAMPLE = [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "name": "ada", "content": "What is a token? 🤗"},
    {"role": "assistant", "content": "A piece of text that a model has a number for."},
]
AROUND_A_MESSAGE = 3  # begin, separator, end
BEFORE_THE_ANSWER = 3  # begin, "assistant", separator
BEFORE_A_NAME = 1


def tokens_of(messages: list[dict[str, str]], encoding: streamtok.Encoding) -> int:
    """Tokens of the prompt that these messages make."""
    total = BEFORE_THE_ANSWER
    for message in messages:
        total += AROUND_A_MESSAGE + (BEFORE_A_NAME if "name" in message else 0)
        # A message may spell a special token; it is ordinary text all the same.
        total += sum(encoding.count(text, disallowed_special=()) for text in message.values())
    return total


def main() -> None:
    messages = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8")) if len(sys.argv) > 1 else SAMPLE
    encoding = streamtok.encoding_for_model("gpt-4o")
    print(f"{len(messages)} messages, {tokens_of(messages, encoding)} tokens with {encoding.name}")


if __name__ == "__main__":
    main()
