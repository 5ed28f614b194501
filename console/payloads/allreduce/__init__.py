"""A short all-reduce over the GPUs of a recipe: does NCCL talk at all, and how fast. Python ≥ 3.8; `torch` is
imported inside functions, from the recipe's own interpreter."""
