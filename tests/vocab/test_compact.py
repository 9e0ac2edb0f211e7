"""The compact form of an image, as a package has it: it opens to the same image, and damage is noticed."""

import random

import pytest

from streamtok.bundled import mapped
from streamtok.errors import VocabularyError
from streamtok.native.checksum import sum64
from streamtok.native.vocab import Vocab
from tests.vocab.test_tables import mapped_bytes, small

__all__ = ["small"]


def opened(image, **options):
    return Vocab(None, None, None, None, {}, image=image, **options)


@pytest.mark.parametrize("name", sorted(mapped.WORDS))
def test_the_package_opens_to_the_image_that_was_written(name):
    vocab = mapped.build_vocabulary(mapped.load_packed(name), {}, (b"".join([b" hello", b"zqzq"]), bytes([6, 4])))
    image, compact = vocab.to_image(), vocab.write_image(bytes, compact=True)
    assert len(compact) < len(image) / 2
    again = opened(compact)
    assert again.to_image() == image == opened(mapped_bytes(image)).to_image()
    assert again.write_image(bytes, compact=True) == compact


def test_images_of_any_size_and_numbers_of_any_bytes(small):
    """Tokens of random bytes, so that the image ends anywhere and numbers have zeros anywhere."""
    rng = random.Random(4)
    for count in (0, 1, 2, 63, 500):
        words = [bytes(rng.choices(range(256), k=rng.randrange(2, 15))) for _ in range(count)]
        packed = mapped.load_packed("r50k_base")
        vocab = mapped.build_vocabulary(packed, {}, (b"".join(words), bytes(map(len, words))))
        assert opened(vocab.write_image(bytes, compact=True)).to_image() == vocab.to_image()


def test_every_damaged_byte_of_the_compact_form_is_noticed(small):
    compact = opened(mapped_bytes(small)).write_image(bytes, compact=True)
    rng = random.Random(3)
    for at in [*range(64), *(rng.randrange(len(compact)) for _ in range(300)), len(compact) - 1]:
        damaged = bytearray(compact)
        damaged[at] ^= 1 << rng.randrange(8)
        with pytest.raises(VocabularyError):
            opened(bytes(damaged))
    for cut in (0, 7, 8, 31, 32, 300, len(compact) // 2, len(compact) - 1):
        with pytest.raises(VocabularyError):
            opened(compact[:cut])
    with pytest.raises(VocabularyError):
        opened(compact + b"\0")


def test_damage_below_a_right_checksum_is_refused_or_read_without_harm(small):
    """A checksum that is right says nothing of what is behind it: no byte outside of the image is read or written."""
    compact = opened(mapped_bytes(small)).write_image(bytes, compact=True)
    rng, refused = random.Random(5), 0
    for _ in range(400):
        damaged = bytearray(compact)
        for _ in range(rng.randrange(1, 4)):
            # The head, the first groups (the image's own header), or anywhere.
            at = rng.choice([rng.randrange(16, 32), rng.randrange(32, 1000), rng.randrange(32, len(compact))])
            damaged[at] = rng.randrange(256)
        damaged[8:16] = sum64(bytes(damaged[16:])).to_bytes(8, "little")
        try:
            opened(bytes(damaged))
        except (VocabularyError, MemoryError):
            refused += 1
    assert refused > 100


def test_what_may_come_from_anybody_is_not_compact(small):
    compact = opened(mapped_bytes(small)).write_image(bytes, compact=True)
    with pytest.raises(VocabularyError):
        opened(mapped_bytes(compact), deep=True)
