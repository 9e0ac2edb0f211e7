"""The engine under other libraries' names: transformers, tokenizers, LangChain, LlamaIndex (docs/integrations.md),
and files of ids as a data set for torch (docs/rows.md).

Each module needs the library that it is named after; nothing else imports them."""
