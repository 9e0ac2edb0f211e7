"""The texts of golden vectors: what tokenizers differ on, and texts that are drawn with a generator of ours.

They never change: another set would have another name.
"""

from __future__ import annotations

SET = "1"

_GIVEN = (
    *("", " ", "  ", "a", "I", "hello", " hello", "hello world", "Hello, World!", "hello  world   again "),
    *("I'm you're it's they'll we've I'd DON'T can't 'tis o'clock", "I'M YOU'RE IT’S", "'s's 's", "x's"),
    *("0", "1", "12", "123", "1234", "12345", "1234567890" * 4, "3.14159", "1,000,000.00"),
    *("0x1F 1e-9 v2.0.1", "1a2b3c"),
    *("\n", "\n\n", "\r\n", "\t", "\t\t\tx", " \n ", "a\n\nb", "a \n\n b", "a\r\n\r\nb"),
    *("line\n  indented\n\tmore\n", "x   \n"),
    *("\u00a0x\u00a0", "\u3000x\u2003y", "\u200bzero\u200bwidth", "\ufeffmark", "a\x00b\x7fc", "\x1b[0m"),
    *("...", "!?!?", "--- *** ===", "a-b_c.d/e\\f|g", "(x)[y]{z}<w>", "#@$%^&*"),
    *("\"quoted\" 'single' `code`", "“curly” ‘quotes’"),
    *("https://example.com/a?b=c&d=%20#e", "name@example.com", "C:\\Users\\x"),
    *("/usr/lib/x.so.1", "2024-02-29T23:59:60Z"),
    'def f(x: int) -> str:\n    return f"{x!r}"  # why\n\n\nclass A(B):\n\tpass\n',
    "if (a && b || !c) { x->y[i++] += 0xFFu; } // end\n/* more */\n",
    "SELECT * FROM t WHERE a <> 'b' AND c IS NOT NULL;",
    '{"key": [1, 2.5, true, null], "\\u00e9": "\\n"}',
    "<html><body class='a b'>&nbsp;&amp;</body></html>",
    *("café", "cafe\u0301", "ﬁne ﬂuﬀ", "Å Å A\u030a", "ß ẞ SS", "İstanbul ı I", "naïve façade coöperate", "Ǆ ǅ ǆ"),
    *("Привет, мир!", "Γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "வணக்கம்", "გამარჯობა"),
    *("你好，世界！", "こんにちは世界", "カタカナ ｶﾀｶﾅ", "안녕하세요 세계", "ᄒ\u1161ᆫ글"),
    *("漢字かな交じり文。「引用」", "１２３ ４５"),
    *("😀", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪🇯🇵", "☺️ ☺", "a😀b 😀😀", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𐍈 𓀀 \U0010fffd"),
    *("\ue000\uf8ff", "\u0300\u0301x"),
    *("½ ² ³ ① Ⅷ ٣ ३", "€100 £5 ¥9", "→ ≤ ∑ √ ∞", "™ © ®", "─│┌┐", "\u202eright\u202c", "٠١٢٣٤٥٦٧٨٩"),
    *("<|endoftext|>", "<|im_start|>user\n", "</s><s>[INST] x [/INST]", "<unk><pad>", "▁word ▁▁", "Ġword Ċ"),
    *("##piece", "<0x41>"),
    *("a" * 100, "ab" * 60, " " * 100, "\n" * 30, "=" * 80, "é" * 50, "日" * 40, "aA" * 30, "x " * 40, "!" * 65),
    *("antidisestablishmentarianism", "camelCaseHTTPServer2Go", "snake_case_name", "SHOUTING"),
    *("MiXeD", "e.g. i.e. U.S.A."),
    *("The quick brown fox jumps over the lazy dog.", "Schweißgerät-Überprüfung"),
    *("L’été, à Noël, où ça?", "¿Qué tal? ¡Bien!"),
    *("To be, or not to be: that is the question.\nWhether 'tis nobler in the mind to suffer\n", "Zażółć gęślą jaźń"),
)

_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz   ETAOIN'.,",
    "0123456789 .,:-+",
    " \t\n\r\u00a0\u3000ab1.",
    "{}[]()<>=+-*/\\\"'`#;:,._ \nxyif",
    "aeéèêëßøåñçž ÀÉÎÕÜ'-",
    "абвгде жзик АБВ мир",
    "的一是在不了有和人这中大为上个国 ，。",
    "あいうえおカキク漢字ー。 A1",
    "가나다라마 한국어 ㄱㄴ",
    "אבגד ابتث नमस्त ",
    "😀👍🏽👩\u200d\ufe0f🇩🇪 aé日",
    "a\u0301e\u0308o\u0302 n\u0303'\u0327",
)

_DRAWS = 6
"""Texts of each alphabet."""


def texts() -> list[str]:
    """All texts, in their order."""
    found, state = list(_GIVEN), 1
    for alphabet in _ALPHABETS:
        for draw in range(_DRAWS):
            letters = []
            for _ in range(8 << draw):
                state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
                letters.append(alphabet[(state >> 33) % len(alphabet)])
            found.append("".join(letters))
    return found
