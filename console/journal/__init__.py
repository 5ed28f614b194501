"""The recording: the only room that knows the file format."""

from console.journal.header import SCHEMA, Header, RecordingError, new_header
from console.journal.reader import Recording
from console.journal.recorder import Recorder
from console.journal.retention import make_room

__all__ = ["SCHEMA", "Header", "Recorder", "Recording", "RecordingError", "make_room", "new_header"]
