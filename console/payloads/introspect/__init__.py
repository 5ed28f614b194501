"""Questions about the SGLang of one interpreter of the box, answered by itself. Python ≥ 3.8, standard library;
`sglang`, `torch` and `pynvml` are imported inside functions and may be missing or broken."""
