"""The first program on the box: constant text, Python 3.8, given to `python3 -c`.

It reads the bundle from standard input byte-exactly and hands over to the bundle's own `boot`. Its length matters:
it is part of the one constant line that a login shell sees.
"""

from __future__ import annotations

import binascii

_SOURCE = b"""\
import binascii, json, os, sys, zlib
def take(count):
    pieces = []
    while count:
        piece = os.read(0, min(count, 65536))
        if not piece:
            sys.exit(98)
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
size = b""
while size[-1:] != b"\\n":
    size += take(1)
bundle = json.loads(zlib.decompress(binascii.a2b_base64(take(int(size)))).decode())
exec(compile(bundle["boot"], "<gpudeck boot>", "exec"), {"bundle": bundle})
"""

# base64 has none of the characters that some login shell treats specially inside single quotes
# (newline and ! in csh, backslash in fish).
STAGE0 = 'import binascii;exec(binascii.a2b_base64("' + binascii.b2a_base64(_SOURCE, newline=False).decode() + '"))'

BOOT = """\
import sys
if sys.version_info < (3, 8):
    sys.stderr.write("gpudeck: python %d.%d is older than 3.8\\n" % sys.version_info[:2])
    sys.exit(96)
from importlib.machinery import ModuleSpec


class Importer:
    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        inside = name + "."
        package = any(other.startswith(inside) for other in self.sources)
        spec = ModuleSpec(name, self, origin="<gpudeck>/" + name, is_package=package)
        if package:
            spec.submodule_search_locations = []
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        exec(compile(self.sources[name], "<gpudeck>/" + name, "exec"), module.__dict__)

    def get_source(self, name):
        return self.sources[name]


root = bundle["root"]
sources = {root: ""}
for relative, text in bundle["modules"].items():
    sources[root + "." + relative if relative else root] = text
for name, text in bundle["extra"].items():
    sources[name] = text
sys.meta_path.insert(0, Importer(sources))
try:
    code = __import__(root + ".main", fromlist=["main"]).main(bundle["config"])
except Exception:
    import traceback  # unlike the interpreter's own report, it finds our source lines

    traceback.print_exc()
    code = 1
sys.exit(code)
"""
