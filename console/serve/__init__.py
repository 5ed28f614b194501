"""What SGLang says of itself, read: log, HTTP gauges, failures. Pure: bytes and JSON in, typed records out."""
