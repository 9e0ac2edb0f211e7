"""Ids in the shapes that models take: texts in rows of one length with pads, and documents packed into rows."""

from .packing import pack as pack
