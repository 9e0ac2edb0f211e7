"""Vocabularies in files and in memory: tokens with their ranks, frequent words, and tables made of them."""
