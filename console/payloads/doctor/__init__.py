"""A look at the box's system, for `gpudeck doctor`."""
