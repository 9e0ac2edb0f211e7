"""Normalizers that replace what a Regex matches, beside Hugging Face's tokenizers."""

from __future__ import annotations

import pytest
from small_models import Both, record, refusal, texts


@pytest.mark.parametrize("regex", [r"\s+", "[\n\r]", "[^\x00-\x7f]", "ab", r"\d+", "(?:l)+", r"\."])
@pytest.mark.parametrize("content", ["", " ", "ab"])
def test_replace_of_a_regex(tmp_path, regex, content):
    step = {"type": "Replace", "pattern": {"Regex": regex}, "content": content}
    Both.of(tmp_path, record(normalizer=step)).check(texts(30, 200, "ab", "  "))


@pytest.mark.parametrize("regex", ["a|bc", r"\s+?", "(?=a)b", "(", "a*"])
def test_replace_of_another_regex_is_refused(tmp_path, regex):
    step = {"type": "Replace", "pattern": {"Regex": regex}, "content": "x"}
    assert "Regex" in refusal(tmp_path, record(normalizer=step))
