"""Normalizers as Python objects: what is done to a text before it is split into pieces."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from .csrc.base cimport *
from .csrc.normal cimport *
from .interrupt cimport Scope, begin, check, end as end_scope
from .pattern cimport Pattern
from .text cimport Text, borrow

import functools

from ..errors import not_a_str_error

FORMS: dict[str, int] = {"NFC": ST_NFC, "NFD": ST_NFD, "NFKC": ST_NFKC, "NFKD": ST_NFKD}
LAST_POINT: int = 0x10FFFF
TAKES: dict[str, int] = {"Lowercase": 0, "StripAccents": 0, "StripNonspacing": 0, "Replace": 2, "ReplaceClass": 3, "Prepend": 1, "PrependUnless": 2,
         "Strip": 2, "Clean": 3, "Precompiled": 1, "MarkWords": 1,
         "Sentence": 6, "ReplaceMatches": 2, "Pieces": 1, "Groups": 5, "Letters": 0}  # arguments of each step

MOST_SPLITS: int = ST_MOST_SPLITS
"""Steps of a normalizer that divide text into pieces."""

MOST_GROWTH: int = 1024
"""Bytes that a normalizer may make of one byte. Those of models make 12 at most; NFKC in front of lower case and of a mark for
each blank would make 50."""

GROWTH: dict[str, float] = {"NFC": 3.0, "NFD": 3.0, "NFKC": 11.0, "NFKD": 11.0, "Lowercase": 1.5, "StripAccents": 1.0, "StripNonspacing": 1.0, "Strip": 1.0}
"""Bytes of what a step makes of a text, by the bytes of that text, at most: those of the character that grows most. The test of
growth looks at all characters."""


cdef str content_of(object value):
    if not PyUnicode_Check(value):
        raise TypeError(f"a step's text is a str, not {type(value).__name__}")
    return value


cdef tuple checked_ranges(object ranges):
    """Ranges of code points as pairs, checked: each (first, last), ascending, apart."""
    pairs = tuple((int(first), int(last)) for first, last in ranges)
    cdef long before = -1
    for first, last in pairs:
        if not before < first <= last <= LAST_POINT:
            raise ValueError(f"({first}, {last}) is no range of code points behind {before}: give them ascending and apart")
        before = last
    if not pairs:
        raise ValueError("a class without characters changes nothing: leave the step out")
    return pairs


cdef double growth_of(str name, tuple given):
    """Bytes that a step makes of one byte at most, in the middle of a text; Prepend makes some more, once."""
    if name in GROWTH:
        return GROWTH[name]
    if name == "Clean":
        return 5 / 3 if given[1] else 1.0  # blanks around an ideograph of three bytes
    if name == "Replace":
        return max(1.0, len(given[1].encode()) / len(given[0].encode()))
    if name == "Precompiled":
        return compiled_map(given[0])[0]
    if name == "Sentence":
        return 3 * compiled_map(given[0])[0]
    if name == "ReplaceClass":
        return max(1.0, len(given[1].encode()) / len(chr(given[0][0][0]).encode("utf-8", "surrogatepass")))
    if name == "ReplaceMatches":
        return max(1.0, len(given[1].encode()))
    if name in ("Pieces", "Groups", "Letters"):
        return 2.0
    if name == "MarkWords":
        return max(1.0, len(given[0].encode()))  # of a blank
    return 1.0


@functools.lru_cache(8)
def compiled_map(data: bytes) -> tuple[float, int]:
    """(bytes that a compiled map makes of one at most, bytes of the longest text in it). ValueError: it is no such map. Looking at all
    of it takes a tenth of a second."""
    if not isinstance(data, bytes):
        raise TypeError(f"a compiled map of characters is bytes, not {type(data).__name__}")
    cdef st_charsmap map
    cdef double growth
    cdef size_t longest
    if not st_charsmap_open(&map, <const uint8_t *>PyBytes_AS_STRING(data), len(data)) or not st_charsmap_check(&map, &growth, &longest):
        raise ValueError("the compiled map of characters is damaged")
    return growth, longest


cdef bytes apart(bytes data):
    return len(data).to_bytes(4, "little") + data


def packed_table(table: object) -> bytes:
    """A patterns.compiled.CompiledPattern, or None, as csrc/compiled/reader.h reads it."""
    if table is None:
        return bytes(4)
    numbers = b"".join(number.to_bytes(4, "little") for number in (1, table.classes, table.states))
    return numbers + b"".join(map(apart, (table.class_index, table.class_blocks, table.entries, table.ops)))


cdef class Normalizer:
    """Steps that a text goes through before it is split: a sequence of tuples, which may be empty.

        ("NFC",) ("NFD",) ("NFKC",) ("NFKD",)    a normal form
        ("Lowercase",)                           each character by itself
        ("StripAccents",)                        without characters of general category M
        ("StripNonspacing",)                     without those of category Mn, which a normal form has taken apart
        ("Clean", controls, ideographs, lower)   with `controls`, without control characters and the like, and with blanks for white
                                                 space; with `ideographs`, blanks around each; with `lower`, ASCII in lower case
        ("Replace", pattern, content)            each occurrence of a str
        ("ReplaceClass", ranges, content, runs)  each character of a class, given by ranges (first, last) of code points; with
                                                 `runs`, each run of such characters at once, of at least so many
        ("Precompiled", map)                     what a compiled map of characters says, a bytes (csrc/normal/charsmap.h)
        ("Sentence", map, symbols, prefix, suffix, fewer, escaped)  what SentencePiece does: a compiled map; texts that stay as they
                                                 are, a tuple; whether a mark comes in front, or behind; whether blanks that are
                                                 more than one go; whether marks are U+2581
        ("MarkWords", character)                 white space goes, and each word behind it begins with the character, unless it does
        ("Prepend", content)                     in front of a text that is not empty
        ("PrependUnless", character, first)      the same unless the text begins with it; with `first`, only where no name of a
                                                 special token was found in front of the text
        ("Strip", left, right)                   without white space at its ends
        ("ReplaceMatches", table, content)       what a patterns.compiled.CompiledPattern drops becomes a text
        ("Letters",)                             each byte becomes GPT-2's letter for it
        ("Pieces", table)                        divided by a CompiledPattern; the steps behind it go for each piece, which is then as a
                                                 text of its own; behind Names, up to MOST_SPLITS times with Groups
        ("Groups", table, ranges, sizes, right, each)  the same; and a piece of characters of a class, or with `each` each run of them in
                                                 a piece, is divided into groups: from the left, the largest of the sizes that fits
                                                 first, or `right`: from the right, where there is one size
        ("Names",)                               nothing: late names are sought here (native/matcher.pyx), and the steps behind it
                                                 go for the text between them; once

    All is what the steps of these names do in Hugging Face's tokenizers, and the last two what its BertNormalizer does. TypeError,
    ValueError: not such a step; all of them may make more than MOST_GROWTH bytes of one. Safe to share."""

    def __cinit__(self, steps: Iterable[Iterable[Any]]):
        cdef double growth = 1.0, once = 0.0, formed = 1.0  # n bytes become growth * n + once at most
        st_normalizer_init(&self.normalizer)
        made = []
        steps = list(steps)
        self.tables = []
        if sum(1 for step in steps if tuple(step)[:1] in (("Pieces",), ("Groups",))) > MOST_SPLITS:
            raise ValueError(f"steps that divide a text into pieces are there more than {MOST_SPLITS} times")
        for number, step in enumerate(steps):
            step = tuple(step)
            if not step or not isinstance(step[0], str):
                raise TypeError(f"a step of a normalizer is a tuple that begins with its name, not {step!r}")
            if step == ("Names",):
                self._go_on_behind(steps[number + 1 :])
                break
            made.append((step[0], *self._add(step[0], step[1:])))
            factor, more = growth_of(step[0], made[-1][1:]), len(step[1].encode()) if step[0].startswith("Prepend") else 0
            if step[0] in FORMS:  # forms in turn make no more than the one that makes most
                formed, factor = max(formed, factor), max(1.0, factor / formed)
            elif not step[0].startswith("Strip"):
                formed = 1.0
            if step[0] in ("Pieces", "Groups"):
                self._go_on_behind(steps[number + 1 :])
            growth, once = growth * factor, once * factor + more
            if growth + once > MOST_GROWTH:
                raise ValueError(
                    f"with step {len(made)}, {step[0]} ({f'{more} bytes more' if more else f'{factor:.1f} times as many'}), one byte "
                    f"of a text may become {growth + once:.0f} bytes; at most {MOST_GROWTH} are supported"
                )
            if step[0] in ("Pieces", "Groups"):
                break
        self.growth = growth + once
        self.steps = tuple(made)
        if self.behind is not None:
            self.growth *= self.behind.growth
            self.steps += (*(() if self.splits else (("Names",),)), *self.behind.steps)
            if self.growth > MOST_GROWTH:
                raise ValueError(f"one byte of a text may become {self.growth:.0f} bytes; at most {MOST_GROWTH} are supported")

    def __dealloc__(self):
        st_normalizer_free(&self.normalizer)

    def __reduce__(self):
        return Normalizer, (self.steps,)

    def __repr__(self):
        return f"Normalizer({list(self.steps)!r})"

    cdef int _go_on_behind(self, list steps) except -1:
        self.behind = Normalizer(steps)
        if self.behind.behind is not None and not self.behind.splits:
            raise ValueError("late names are sought once: there are two steps of the name Names")
        self.normalizer.behind = &self.behind.normalizer
        return 0

    @property
    def splits(self) -> bool:
        """Whether the text is divided into pieces at the end, with b"\\xff" behind each in what trace() gives."""
        return self.normalizer.count > 0 and self.normalizer.steps[self.normalizer.count - 1].kind == ST_STEP_PIECES

    cdef tuple _add_table(self, tuple given, st_step *step):
        cdef Pattern pattern = Pattern(given[0])
        self.tables.append(pattern)
        step.dfa = pattern.dfa
        self._take(step, b"", content_of(given[1]).encode() if len(given) > 1 else b"", ())
        return given

    cdef tuple _add(self, str name, tuple given):
        """Adds a step; returns its arguments as they were understood."""
        cdef st_step step
        memset(&step, 0, sizeof(step))
        takes = TAKES.get(name)
        if takes is None and name not in FORMS:
            known = ", ".join([*FORMS, *TAKES])
            raise ValueError(f"no normalizer is called {name!r}; there are {known}")
        if len(given) != (takes or 0):
            raise ValueError(f"the normalizer {name} takes {takes or 0} arguments, not {len(given)}")
        if name in FORMS:
            step.kind, step.form = ST_STEP_FORM, FORMS[name]
        elif name == "Lowercase":
            step.kind = ST_STEP_LOWER
        elif name in ("StripAccents", "StripNonspacing"):
            step.kind, step.mask = ST_STEP_CLASS, ST_MASK_ACCENTS if name == "StripAccents" else ST_MASK_NONSPACING
        elif name == "Clean":
            given = bool(given[0]), bool(given[1]), bool(given[2])
            step.kind, step.clean.controls, step.clean.ideographs, step.clean.lower = ST_STEP_CLEAN, given[0], given[1], given[2]
        elif name == "Strip":
            given = bool(given[0]), bool(given[1])
            step.kind, step.left, step.right = ST_STEP_STRIP, given[0], given[1]
        elif name == "Precompiled":
            compiled_map(given[0])
            step.kind = ST_STEP_MAP
            self._take(&step, given[0], b"", ())
            return given
        elif name == "Sentence":
            return self._add_sentence(given, &step)
        elif name in ("ReplaceMatches", "Pieces"):
            step.kind = ST_STEP_PIECES if name == "Pieces" else ST_STEP_MATCHES
            return self._add_table(given, &step)
        elif name == "Groups":
            return self._add_groups(given, &step)
        elif name == "Letters":
            step.kind = ST_STEP_LETTERS
        else:
            return self._add_text(name, given, &step)
        self._take(&step, b"", b"", ())
        return given

    cdef tuple _add_groups(self, tuple given, st_step *step):
        cdef Pattern pattern = Pattern(given[0])
        sizes = tuple(map(int, given[2]))
        given = (given[0], checked_ranges(given[1]), sizes, bool(given[3]), bool(given[4]))
        if not sizes or not all(0 < size < 1 << 16 for size in sizes) or sorted(sizes, reverse=True) != list(sizes):
            raise ValueError(f"the sizes of groups are 1 to 65,535, the largest first, not {sizes}")
        if (given[3] or given[4]) and len(sizes) != 1:
            raise ValueError(f"groups from the right, or of each run, have one size, not {len(sizes)}")
        self.tables.append(pattern)
        step.kind, step.dfa, step.right, step.runs = ST_STEP_PIECES, pattern.dfa, given[3], given[4]
        self._take(step, b"".join(size.to_bytes(2, "little") for size in sizes), b"", given[1])
        return given

    cdef tuple _add_sentence(self, tuple given, st_step *step):
        symbols = tuple(sorted({content_of(symbol) for symbol in given[1]}))
        given = (given[0], symbols, *map(bool, given[2:]))
        sizes = [len(symbol.encode()) for symbol in symbols]
        if sizes and not 0 < min(sizes) <= max(sizes) < 1 << 16:
            raise ValueError("a symbol is empty, or has more than 65,535 bytes")
        step.kind, step.left, step.right, step.runs, step.unless = ST_STEP_SENTENCE, given[2], given[3], given[4], given[5]
        step.least = max(compiled_map(given[0])[1], 4, *sizes)
        self._take(step, given[0], b"".join(n.to_bytes(2, "little") + symbol.encode() for n, symbol in zip(sizes, symbols)), ())
        return given

    cdef tuple _add_text(self, str name, tuple given, st_step *step):
        """Adds a step that puts a text in place of another."""
        if name == "Prepend":
            step.kind = ST_STEP_PREPEND
            self._take(step, b"", content_of(given[0]).encode(), ())
        elif name == "PrependUnless":
            if len(content_of(given[0])) != 1:
                raise ValueError(f"PrependUnless takes one character, and {given[0]!r} has {len(given[0])}")
            given = given[0], bool(given[1])
            step.kind, step.unless, step.first = ST_STEP_PREPEND, True, given[1]
            self._take(step, b"", given[0].encode(), ())
        elif name == "MarkWords":
            if len(content_of(given[0])) != 1:
                raise ValueError(f"MarkWords takes one character, and {given[0]!r} has {len(given[0])}")
            step.kind = ST_STEP_WORDS
            self._take(step, b"", given[0].encode(), ())
        elif name == "Replace":
            step.kind = ST_STEP_REPLACE
            if not content_of(given[0]):
                raise ValueError("Replace looks for a text, and this one is empty: an empty text is everywhere")
            self._take(step, given[0].encode(), content_of(given[1]).encode(), ())
        else:
            given = checked_ranges(given[0]), content_of(given[1]), given[2] if given[2] > 1 else bool(given[2])
            step.kind, step.runs, step.least = ST_STEP_CLASS, given[2] > 0, given[2]
            self._take(step, b"", given[1].encode(), given[0])
        return given

    cdef int _take(self, st_step *step, bytes pattern, bytes content, tuple ranges) except -1:
        cdef uint32_t *points = <uint32_t *>PyMem_Malloc((2 * len(ranges) + 1) * sizeof(uint32_t))
        cdef size_t i
        cdef st_status status
        if points == NULL:
            raise MemoryError
        for i in range(<size_t>len(ranges)):
            points[2 * i], points[2 * i + 1] = ranges[i]
        step.pattern, step.pattern_size = <uint8_t *>PyBytes_AS_STRING(pattern), len(pattern)
        step.content, step.content_size = <uint8_t *>PyBytes_AS_STRING(content), len(content)
        step.ranges, step.range_count = points, len(ranges)
        if self.normalizer.count == ST_MOST_STEPS:
            PyMem_Free(points)
            raise ValueError(f"a normalizer has at most {ST_MOST_STEPS} steps")
        status = st_normalizer_add(&self.normalizer, step)
        PyMem_Free(points)
        if status:
            raise MemoryError
        return 0

    def packed(self) -> bytes:
        """The steps as csrc/compiled/steps.c reads them."""
        cdef st_step *step
        cdef size_t i
        made = [self.normalizer.count.to_bytes(4, "little")]
        for i in range(self.normalizer.count):
            step = &self.normalizer.steps[i]
            numbers = (step.kind, step.form, step.left, step.right, step.unless, step.first, step.runs, step.least, step.mask,
                       step.clean.controls, step.clean.ideographs, step.clean.lower, step.range_count,
                       *[step.ranges[k] for k in range(2 * step.range_count)])
            made += [number.to_bytes(4, "little") for number in numbers]
            made += [apart(PyBytes_FromStringAndSize(<const char *>step.pattern, <Py_ssize_t>step.pattern_size)),
                     apart(PyBytes_FromStringAndSize(<const char *>step.content, <Py_ssize_t>step.content_size))]
            made.append(packed_table(self.steps[i][1] if step.dfa != NULL else None))
        made.append(bytes(4) if self.behind is None else (1).to_bytes(4, "little") + self.behind.packed())
        return b"".join(made)

    def normalize(self, text: str, begun: int | None = None) -> str:
        """What the steps make of a str. begun: as trace() has it."""
        if not self.splits:
            stream = NormalStream(self)
            made = (stream.feed(text) + stream.flush()).decode()
            return made if self.behind is None else self.behind.normalize(made)
        return "".join([self.behind.normalize(piece, first) for piece, _, first in self.pieces(text, begun)])

    def trace(self, text: str, begun: int | None = None) -> tuple[bytes, memoryview[int]]:
        """(UTF-8 of the normalized str, and for each of its bytes the place where the character that it comes from begins, in
        bytes of the given text's UTF-8, as a memoryview of the format "N"). Without what `behind` does.

        begun: how many bytes of the text come from the first character of one that it is a piece of, in which no name was found
        in front of it; None: those of its first character do."""
        if begun is None:
            begun = len(text[:1].encode(errors="surrogatepass"))
        cdef NormalStream stream = NormalStream(self, True, not begun)
        stream.begun = begun
        made = stream._run(text, True)  # at once: a map may move a place by what follows
        return made, memoryview(stream.sources()).cast("N")

    def pieces(self, text: str, begun: int | None = None) -> list[tuple[str, list[int], int]]:
        """The pieces that a normalizer which splits makes of a text: of each its text, the places of its bytes as trace() has
        them, and its `begun`."""
        made, traced = self.trace(text, begun)
        places = traced.tolist()
        cdef Py_ssize_t at = 0, size, first = 0, n = len(places)
        while first < n and begun != 0 and places[first] == 0:
            first += 1
        found = []
        for piece in made.split(b"\xff")[:-1]:
            size = len(piece)
            found.append((piece.decode(), places[at : at + size], min(max(first - at, 0), size)))
            at += size + 1
        return found


def first_bytes(form: str) -> int:
    """A bit for the low six bits of each first byte of characters, none of them ASCII, that a form may change, or that are marks."""
    return sum(1 << byte for byte in range(64) if st_normal_filters[128 * FORMS[form] + byte])


def changes_of(Normalizer normalizer not None) -> bytes | None:
    """A bit for each code point, from the lowest on: 0 if no step changes the character, alone and for what stands in front of it. None:
    there is a step whose characters do not stand for themselves."""
    cdef uint8_t[4] text
    cdef uint32_t point
    cdef size_t i
    for i in range(normalizer.normalizer.count):
        if normalizer.normalizer.steps[i].kind not in (ST_STEP_FORM, ST_STEP_LOWER, ST_STEP_CLEAN, ST_STEP_CLASS) or \
                normalizer.normalizer.steps[i].runs:
            return None
    if normalizer.behind is not None:
        return None
    made = bytearray((LAST_POINT + 1) // 8)
    cdef uint8_t *bits = <uint8_t *><char *>made
    for point in range(<uint32_t>LAST_POINT + 1):
        st_utf8_write(text, point)
        bits[point >> 3] |= (not st_normalizer_leaves(&normalizer.normalizer, text)) << (point & 7)
    return bytes(made)


cdef st_status collect(void *context, const uint8_t *text, const size_t *source, size_t n) noexcept nogil:
    cdef st_bytes *out = <st_bytes *>context
    cdef st_status status = st_bytes_append(out, text, n)
    if status == ST_OK and source != NULL:
        status = st_bytes_append(out + 1, source, n * sizeof(size_t))
    return status


cdef class NormalStream:
    """A text on its way through a normalizer, part by part. One thread at a time."""
    cdef readonly Normalizer normalizer
    cdef st_flow flow
    cdef Py_ssize_t begun  # -1: what begins the text is from its first character; else as Normalizer.trace() has it
    cdef st_bytes[2] out  # text, sources
    cdef size_t taken

    def __cinit__(self, Normalizer normalizer not None, bint traced=False, bint later=False):
        self.normalizer = normalizer
        st_flow_init(&self.flow, &normalizer.normalizer)
        self.flow.sink = collect
        self.flow.context = self.out
        self.flow.traced = traced
        self.flow.later = later
        self.begun = -1

    def __dealloc__(self):
        st_flow_free(&self.flow)
        st_bytes_free(&self.out[0])
        st_bytes_free(&self.out[1])

    def feed(self, text: str) -> bytes:
        """UTF-8 of what no later part can change. text: a str."""
        return self._run(text, False)

    def flush(self) -> bytes:
        """The rest: the text ends. The stream is then at the start of the next one."""
        return self._run("", True)

    @property
    def held(self) -> int:
        """Bytes that wait for the next part."""
        return st_flow_held(&self.flow)

    def sources(self) -> bytes:
        """As bytes, the numbers of size_t that belong to all that was returned."""
        return PyBytes_FromStringAndSize(<const char *>self.out[1].data, <Py_ssize_t>self.out[1].size)

    cdef bytes _run(self, object source, bint final):
        if not PyUnicode_Check(source):
            raise not_a_str_error(source)
        cdef st_flow_marks marks
        cdef st_status status
        cdef Scope scope
        cdef Text text
        cdef size_t sources = self.out[1].size
        alive = borrow(source, &text)
        st_flow_mark(&self.flow, &marks)
        self.out[0].size = 0
        begin(&scope, NULL)
        with nogil:
            if self.begun < 0:
                status = st_flow_feed(&self.flow, text.data, text.n, final)
            else:
                status = st_flow_feed_piece(&self.flow, text.data, text.n, <size_t>self.begun, final)
        end_scope(&scope)
        if status:
            st_flow_roll_back(&self.flow, &marks)
            self.out[1].size = sources
            check(&scope)
            raise MemoryError
        st_flow_commit(&self.flow)
        return PyBytes_FromStringAndSize(<const char *>self.out[0].data, <Py_ssize_t>self.out[0].size)
