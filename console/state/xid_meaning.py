"""What an Xid means: NVIDIA's catalogue in a sentence each, as far as it matters to somebody who serves a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from console.events.host import XidReported
from console.values import known

if TYPE_CHECKING:
    from console.state.model import HostState

Kind = Literal["info", "warn", "fail"]


class XidMeaning(NamedTuple):
    """`kind` says how bad it is for the GPU: info is the program's own fault."""

    kind: Kind
    sentence: str


_UNLISTED = XidMeaning("warn", "an error that this table does not know: see NVIDIA's Xid catalogue")
MEANINGS: dict[int, XidMeaning] = {
    8: XidMeaning("fail", "a kernel ran into the driver's watchdog, or the GPU stopped processing"),
    13: XidMeaning("info", "a program's kernel made a fault (out-of-bounds access or illegal instruction)"),
    31: XidMeaning("info", "a program's kernel touched memory that is not its own"),
    32: XidMeaning("warn", "the command stream was corrupted: a program, the driver, or the PCIe link"),
    38: XidMeaning("warn", "the driver's firmware failed"),
    43: XidMeaning("info", "the GPU stopped processing for one program; the program must be restarted"),
    45: XidMeaning("info", "a program's work was cleaned up after it ended or was killed"),
    46: XidMeaning("fail", "the GPU stopped processing: reset it"),
    48: XidMeaning(
        "fail", "a memory error of two bits that ECC cannot correct: programs on it are ended, reset the GPU"
    ),
    56: XidMeaning("warn", "the display engine failed"),
    61: XidMeaning("fail", "the GPU's microcontroller stopped: reset it"),
    62: XidMeaning("fail", "the GPU's microcontroller halted: reset it"),
    63: XidMeaning("warn", "a memory row is being replaced by a spare: pending until the GPU is reset"),
    64: XidMeaning("fail", "a memory row could not be replaced: reset, and replace the GPU if it comes back"),
    68: XidMeaning("warn", "the video processor failed"),
    69: XidMeaning("info", "the graphics engine's class made a fault"),
    74: XidMeaning("fail", "an NVLink error: check the links, reset the GPUs that share it"),
    79: XidMeaning("fail", "the GPU has fallen off the bus: power, heat, or the PCIe slot; the box needs a reboot"),
    92: XidMeaning("warn", "many memory errors of one bit, all corrected"),
    94: XidMeaning("warn", "a memory error that was contained: only the program that met it is ended"),
    95: XidMeaning("fail", "a memory error that was not contained: reset the GPU before anything else runs on it"),
    109: XidMeaning("info", "a context switch timed out"),
    119: XidMeaning("fail", "the GPU's system processor does not answer: calls hang 45 s each; reset or reboot"),
    120: XidMeaning("fail", "the GPU's system processor made an error: reset or reboot"),
    140: XidMeaning("warn", "an ECC error that was not recovered"),
    143: XidMeaning("fail", "the GPU did not initialise"),
    149: XidMeaning("fail", "an NVLink error: reset the GPUs that share the link"),
}


def xid_meaning(xid: int) -> XidMeaning:
    """How bad an Xid is, and what it means."""
    return MEANINGS.get(xid, _UNLISTED)


def xid_sentence(fact: XidReported, index: int | None) -> str:
    """`Xid 79 on GPU 3: the GPU has fallen off the bus …`; `index` is None for a GPU that is not listed."""
    where = f"GPU {index}" if index is not None else fact.pci_bus_id if known(fact.pci_bus_id) else "an unknown GPU"
    return f"Xid {fact.xid} on {where}: {xid_meaning(fact.xid).sentence}"


def index_of(host: HostState, fact: XidReported) -> int | None:
    """The number of the GPU that an Xid is about; None for one that is not listed."""
    gpu = host.hardware.gpu(fact.uuid) if known(fact.uuid) else None
    return gpu.identity.index if gpu else None
