"""The load worker: measures a running SGLang from the box itself. Standard library only, Python 3.8."""
