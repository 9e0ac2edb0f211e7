"""Texts that no word list holds, made from Debian packages: languages that few speak, and novels.

    python benchmarks/support/unseen.py FOLDER        writes FOLDER/languages.txt and FOLDER/novels.txt (6 and 4 MB)

The packages are downloaded by apt-get (any Debian or Ubuntu; no root is needed) and unpacked into FOLDER. The word
lists were counted from none of them, and from none of the languages: the lists have about 60 (LISTED), so all that is
left of a package's translations are others. Text is divided by that rule alone, so what a list was built from is
never measured.

A language gives every message once, at most LANGUAGE_BYTES. Then all messages are shuffled by a fixed seed, so that
each slice has each language.
"""

from __future__ import annotations

import gettext
import io
import pathlib
import random
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator

OFFICE = "ast br gd gug kmr nr nso oc rw ss st szl tg tn ts uz ve xh".split()
PACKAGES = ("calibre", "tuxpaint-data", "r-cran-janeaustenr", *(f"libreoffice-l10n-{language}" for language in OFFICE))

LISTED = set(
    "en de fr uk ru pt zh ja it es el ca km th mr ne pl he ko nl bn cs ar sv fa ur ug tr da id hu vi eu "
    "bo dz fi ta hi sl ro ml et nb no nn ka hr kn gu gl te sk lt or pa lv is hy si af cy eo my am ga lo "
    "be bg sr mk kk mn as om zu bs sh iw in sa san".split()
)

LANGUAGE_BYTES = 300_000
SEED = 20


def download(folder: pathlib.Path) -> pathlib.Path:
    unpacked = folder / "unpacked"
    if not unpacked.exists():
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True)
        for package in sorted(folder.glob("*.deb")):
            subprocess.run(["dpkg", "-x", package, unpacked], check=True)
    return unpacked


def catalogues(unpacked: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """(language, compiled catalogue)"""
    for folder in "usr/share/locale", "usr/lib/libreoffice/program/resource":
        for path in sorted(unpacked.glob(f"{folder}/*/LC_MESSAGES/*.mo")):
            yield path.parts[-3], path.read_bytes()
    with zipfile.ZipFile(unpacked / "usr/share/calibre/localization/locales.zip") as packed:
        for name in sorted(packed.namelist()):
            if name.endswith(".mo"):
                yield name.split("/")[0], packed.read(name)


def messages(catalogue: bytes) -> Iterator[str]:
    """Translations that differ from the English message."""
    try:
        known = gettext.GNUTranslations(io.BytesIO(catalogue))._catalog  # type: ignore[attr-defined]
    except (OSError, UnicodeError):
        return
    for key, text in known.items():
        message = key[0] if isinstance(key, tuple) else key
        if message and text != message and not text.startswith("Project-Id-Version"):
            yield text


def languages(unpacked: pathlib.Path) -> str:
    own: dict[str, dict[str, None]] = {}
    for name, catalogue in catalogues(unpacked):
        language = re.split("[_@.-]", name)[0]
        if language not in LISTED:
            own.setdefault(language, {}).update(dict.fromkeys(messages(catalogue)))
    paragraphs = []
    for language, texts in sorted(own.items()):
        size = 0
        for text in texts:
            if size < LANGUAGE_BYTES:
                paragraphs.append(text + "\n")
                size += len(text.encode())
        print(f"{language} {min(size, LANGUAGE_BYTES):,}", end="; ")
    print(f"{len(own)} languages")
    random.Random(SEED).shuffle(paragraphs)
    return "".join(paragraphs)


def novels(unpacked: pathlib.Path) -> str:
    """R's packed data: blocks of a length, a stream of zlib. In it stand strings: a flag, the length, the bytes."""
    data = (unpacked / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    books = []
    while data:
        reader = zlib.decompressobj()
        books.append("\n".join(strings(reader.decompress(data[4:]))))
        data = reader.unused_data
    return "\n\n".join(books) + "\n"


def strings(raw: bytes) -> Iterator[str]:
    for found in re.finditer(rb"\x00[\x00-\x0f][\x00-\xff]\x09(?=[\x00-\xff]{4})", raw):
        size = struct.unpack_from(">i", raw, found.end())[0]
        if 0 <= size < 200:
            yield raw[found.end() + 4 : found.end() + 4 + size].decode("utf-8", "replace")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = download(folder)
    for name, text in ("languages", languages(unpacked)), ("novels", novels(unpacked)):
        data = text.encode()
        (folder / f"{name}.txt").write_bytes(data)
        print(f"{name}.txt: {len(data):,} bytes")


if __name__ == "__main__":
    main()
