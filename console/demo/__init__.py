"""A box to try everything on: a real SSH server on loopback, played GPUs, a Hub and a server with real protocols."""
