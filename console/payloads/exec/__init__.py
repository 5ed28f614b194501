"""Runs one program of the operator on the box, as `python FILE ARG …` would. Standard library, Python 3.8."""
