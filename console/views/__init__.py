"""Pure: state becomes rows, sentences and JSON. Panes and headless reports share them."""
