"""What a model is, from its own files, and what it costs per GPU. Pure; imports values alone."""
