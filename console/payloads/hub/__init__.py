"""The hub helper: what a box's own `huggingface_hub` says, as data. Stdlib only at import, Python 3.8."""
