"""Pure checks: from what is known to a verdict with its arithmetic and its way out."""
