"""The host gate: driver, kernels for this GPU generation, shared memory, and how the GPUs are joined."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from console.gates.arguments import Finding
from console.gates.gate import RANK, Gate, Verdict
from console.models.engine import Engine, release
from console.values import Unknown, format_bytes, known

# Lowest driver of a CUDA generation (NVIDIA's minor-version compatibility).
_DRIVER = {13: 580, 12: 525, 11: 450}
SHM_BYTES = 1 << 30  # NCCL's segments for eight ranks
_SMOKE = "run the all-reduce smoke test (--smoke)"
_PCIE_FAR = 20  # NVML topology level above which traffic leaves the PCIe switch


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """What the box answered. `nvlink`: None for fewer than two GPUs. `level`: NVML's farthest link between two of
    them (10 one switch … 50 SYS)."""

    driver: str | Unknown
    capability: tuple[tuple[int, int], ...] | Unknown
    nvlink: bool | Unknown | None
    level: int | Unknown
    iommu: bool | Unknown
    shm_bytes: int | Unknown
    smoke: Finding | None = None


def host_gate(subject: str, view: HostView, engine: Engine | Unknown, gpus: int, env: dict[str, str]) -> Gate:
    """Everything of the machine that is no GPU's memory, no port and no disk."""
    of_gpus = [*_driver(view, engine), *_kernels(view, engine)] if gpus else []
    found = [*of_gpus, *_shm(view, gpus), *_links(view, gpus, env)]
    if view.smoke is not None:
        found.append(view.smoke)
    found.sort(key=lambda finding: -RANK[finding.verdict])
    worst: Verdict = found[0].verdict if found else "pass"
    return Gate(
        name="host",
        verdict=worst,
        state=found[0].rule if found else "ok",
        subject=subject,
        sentence=" ".join(finding.sentence for finding in found)
        or "Driver, kernels, shared memory and links are in order.",
        way_out=tuple(dict.fromkeys(way for finding in found for way in finding.way_out)),
        numbers={
            "driver": view.driver,
            "shm_available_bytes": view.shm_bytes,
            "nvlink": view.nvlink,
            "level": view.level,
        },
    )


def _driver(view: HostView, engine: Engine | Unknown) -> Iterator[Finding]:
    if not known(engine) or not known(engine.torch.cuda):
        return
    cuda = release(engine.torch.cuda)
    needed = _DRIVER.get(cuda[0]) if cuda else None
    if not known(view.driver):
        sentence = f"The driver's version is not known: {view.driver.reason}."
        yield Finding(rule="driver", verdict="unknown", sentence=sentence, way_out=("gpudeck doctor HOST",))
    elif needed and (release(view.driver) or (0,))[0] < needed:
        yield Finding(
            rule="driver",
            verdict="block",
            sentence=f"torch is built for CUDA {engine.torch.cuda}: driver {needed} or newer; here is {view.driver}.",
            way_out=("a newer driver", "an interpreter whose torch is built for an older CUDA"),
        )


def _kernels(view: HostView, engine: Engine | Unknown) -> Iterator[Finding]:
    """`no kernel image is available` comes only at warm-up; it is known here."""
    if not known(view.capability) or not known(engine) or not known(engine.torch.arches):
        return
    for major, minor in sorted(set(view.capability)):
        if not _covered(engine.torch.arches, major, minor):
            yield Finding(
                rule="kernel_image",
                verdict="block",
                sentence=f"torch has no kernels for sm_{major}{minor}, only for {', '.join(engine.torch.arches)}.",
                way_out=("an interpreter whose torch is built for this GPU generation",),
            )
        if known(engine.kernels) and (major, minor) == (9, 0) and engine.kernels and "sm90" not in engine.kernels:
            sentence = "sgl_kernel has no library for sm90."
            yield Finding(
                rule="kernel_image", verdict="block", sentence=sentence, way_out=("install sglang-kernel again",)
            )


def _covered(arches: tuple[str, ...], major: int, minor: int) -> bool:
    for arch in arches:
        match = re.fullmatch(r"(sm|compute)_(\d+)(\d)[a-z]?", arch)
        if match is None:
            continue
        own_major, own_minor = int(match.group(2)), int(match.group(3))
        if own_major == major and own_minor <= minor:
            return True
        if match.group(1) == "compute" and (own_major, own_minor) <= (major, minor):
            return True
    return False


def _shm(view: HostView, gpus: int) -> Iterator[Finding]:
    if gpus < 2:
        return
    if not known(view.shm_bytes):
        yield Finding(rule="shm", verdict="warn", sentence=f"/dev/shm could not be read: {view.shm_bytes.reason}.")
    elif view.shm_bytes < SHM_BYTES:
        yield Finding(
            rule="shm",
            verdict="block",
            sentence=f"/dev/shm has {format_bytes(view.shm_bytes)} left, NCCL needs {format_bytes(SHM_BYTES)}.",
            way_out=("free /dev/shm", "a container with --shm-size 16g or --ipc=host"),
        )


def _links(view: HostView, gpus: int, env: dict[str, str]) -> Iterator[Finding]:
    if gpus < 2 or view.nvlink in (None, True):
        return
    if not known(view.nvlink):
        why = f"How the GPUs are joined is not known: {view.nvlink.reason}."
        sentence = f"{why} If PCIe alone joins them, peer copies may hang."
        yield Finding(rule="links", verdict="warn", sentence=sentence, way_out=(_SMOKE,))
        return
    far = known(view.level) and view.level > _PCIE_FAR
    sentence = "The GPUs are joined by PCIe alone: every all-reduce of tensor parallelism crosses it."
    if env.get("NCCL_P2P_DISABLE") == "1":
        return
    iommu = known(view.iommu) and view.iommu
    if iommu or far:
        why = "an IOMMU is on" if iommu else "they sit behind different host bridges"
        sentence += f" Peer-to-peer copies are known to hang on such boxes ({why})."
    yield Finding(
        rule="pcie",
        verdict="warn",
        sentence=sentence,
        way_out=(
            _SMOKE,
            'env NCCL_P2P_DISABLE = "1" if it hangs',
            "pci=noacs or IOMMU off",
        ),
    )
