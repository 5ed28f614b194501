"""gpudeck: a terminal operations console for GPU boxes that serve large language models."""

# A constant, because importlib.metadata costs 100 ms of CPU at every start.
__version__ = "0.1.0"
