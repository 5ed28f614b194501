"""The speculative algorithms, as the real module lists them."""

from enum import Enum, auto


class SpeculativeAlgorithm(Enum):
    DFLASH = auto()
    EAGLE = auto()
    EAGLE3 = auto()
    NEXTN = auto()
    STANDALONE = auto()
    NGRAM = auto()
    NONE = auto()
