"""The engine under other libraries' names: transformers, tokenizers, LangChain, LlamaIndex. See docs/integrations.md.

Each module needs the library that it is named after; nothing else imports them."""
