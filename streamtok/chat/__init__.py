"""Conversations: chat templates, the ids of what they render, and where each message lies in it (docs/chat.md)."""
