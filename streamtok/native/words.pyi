from .pattern import Pattern
from .vocab import Vocab

def read_word_list(
    shared: bytes, rest_lengths: bytes, rests: bytes, levels: bytes, *, shift: int, least: int
) -> tuple[bytes, bytes]: ...
def chosen_words(vocab: Vocab, pattern: Pattern, words: bytes, lengths: bytes) -> tuple[bytes, bytes]: ...
