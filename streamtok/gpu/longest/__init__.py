"""Longest match on a device: its kernels are built into this folder."""
