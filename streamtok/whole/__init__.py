"""What class Encoding does beyond a call of the core: special tokens, pieces, truncation, tiktoken's completions."""
