"""Stands in for SGLang on a demo box."""

__version__ = "0.5.23"
