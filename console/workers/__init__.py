"""Workers turn the answers of a box into facts."""
