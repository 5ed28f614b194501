"""One GPU: every field by itself, what it cannot tell asked once, what fails told as a state."""

from __future__ import annotations

import time
from typing import Any, Callable, Sequence

from .gpu_health import energy, health, pcie
from .gpu_processes import processes
from .machine import meminfo
from .nvml import (
    CANNOT,
    LOST,
    NOT_FOUND,
    RESET_REQUIRED,
    TIMEOUT,
    UNINITIALIZED,
    UNKNOWN_ERROR,
    XID_EVENT,
    Library,
    code_of,
)
from .wire import is_unknown, unknown

MOVED = 256 * 1024 * 1024  # bytes; somebody came or went
HUNG_S = 1.5  # a call that took longer: the driver is in trouble, the next one would take as long
BACK_OFF_S = (1.0, 2.0, 5.0, 10.0, 30.0, 45.0)
UNIFIED = ("GB10", "Orin", "Thor", "Xavier", "Tegra")  # their memory is the machine's
GONE = {
    LOST: ("lost", "the GPU has fallen off the bus"),
    RESET_REQUIRED: ("reset_required", "the GPU must be reset"),
    NOT_FOUND: ("lost", "the driver does not find the GPU"),
}
GAUGES = (
    "memory_used_bytes",
    "memory_reserved_bytes",
    "memory_free_bytes",
    "util_pct",
    "power_w",
    "temperature_c",
    "sm_clock_mhz",
    "throttle",
    "memory_util_pct",
)
THROTTLE = (  # NVML's event bits; HW thermal is both
    (0x1, "idle"),
    (0x4, "power_cap"),
    (0x20 | 0x40, "thermal"),
    (0x8 | 0x40 | 0x80, "hw_slowdown"),
    (0x10, "sync"),
    (~0xFD, "other"),
)


class Gone(Exception):
    """The GPU itself does not answer: (state, reason)."""


def silent(uuid: str, state: str, reason: str) -> dict[str, Any]:
    """Gauges of a GPU that tells nothing."""
    nothing = unknown(state)
    return dict(dict.fromkeys(GAUGES, nothing), uuid=uuid, state=state, state_reason=reason)


class Tier:
    """A part of the reading that is due every `period_s`. `value` is None until it was read."""

    def __init__(self, period_s: float, ask: Callable[[Any], Any]) -> None:
        self.value: Any = None
        self.fresh = False
        self._period_s = period_s
        self._ask = ask
        self._due = 0.0

    def hurry(self) -> None:
        self._due = 0.0

    def read(self, device: Any) -> None:
        now = time.monotonic()
        self.fresh = now >= self._due
        if self.fresh:
            self._due = now + self._period_s - 0.1
            self.value = self._ask(device)


class Device:
    """What is known of one GPU. `read` is called by a walker; the dicts are replaced whole, never changed."""

    def __init__(self, library: Library, index: int) -> None:
        self.library = library
        self.index = index
        self.handle: Any = None
        self.uuid = f"index:{index}"
        self.identity: dict[str, Any] = {}
        self.gauges: dict[str, Any] = {}
        self.memory_total: Any = unknown("not sampled yet")
        self.unified = False
        self.mig: Any = unknown("not sampled yet")
        self._used: Any = unknown("not sampled yet")
        self._cannot: dict[str, dict[str, str]] = {}
        self._trouble = ""
        self._answers = 0
        self._retry_at = 0.0
        self._failures = 0
        self._identified = False
        self.energy = Tier(5.0, energy)
        self.health = Tier(60.0, health)
        self.pcie = Tier(5.0, pcie)
        self.processes = Tier(5.0, processes)

    def hurry(self) -> None:
        """Everything is due with the next reading."""
        self._retry_at = 0.0
        for tier in (self.processes, self.energy, self.pcie, self.health):
            tier.hurry()

    def read(self) -> None:
        """One reading. Never raises; ends early when the GPU is gone or a call took too long."""
        if time.monotonic() < self._retry_at:
            return
        self._trouble, self._answers = "", 0
        try:
            if self.handle is None:
                self._connect()
            self._read()
            state, reason = ("error", self._trouble) if self._trouble else ("ok", "")
        except Gone as gone:
            self._answers = 0
            state, reason = gone.args
        except Exception as error:
            state, reason = "error", f"{type(error).__name__}: {error}"
        if state == "ok" or self._answers:
            self._failures = 0
        else:
            self.handle = None
            self._retry_at = time.monotonic() + BACK_OFF_S[min(self._failures, len(BACK_OFF_S) - 1)]
            self._failures += 1
        if state != "ok" and not self._answers:
            self.gauges = silent(self.uuid, state, reason)
        elif state != "ok":
            self.gauges = dict(self.gauges, state=state, state_reason=reason)

    def ask(self, name: str, *arguments: Any) -> Any:
        """What the binding's function says of this GPU, or unknown; raises Gone when the GPU is."""
        key = f"{name}{arguments}" if arguments else name
        if key in self._cannot:
            return self._cannot[key]
        function = getattr(self.library.nvml, name, None)
        if function is None:
            self._cannot[key] = unknown("n/a: the binding does not know the call")
            return self._cannot[key]
        started = time.monotonic()
        try:
            value = function(self.handle, *arguments)
        except Exception as error:
            self._too_long(name, started)
            return self._failed(key, name, error)
        self._too_long(name, started)
        self._answers += 1
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def ask_first(self, *questions: Sequence[Any]) -> Any:
        """The first answer of several ways to ask; the first way's reason when there is none."""
        first = self.ask(*questions[0])
        for question in questions[1:]:
            if not is_unknown(first):
                break
            answer = self.ask(*question)
            if not is_unknown(answer):
                return answer
        return first

    def _too_long(self, name: str, started: float) -> None:
        if time.monotonic() - started >= HUNG_S:
            raise Gone("hung", f"{name} took {time.monotonic() - started:.0f} s")

    def _failed(self, key: str, name: str, error: Exception) -> dict[str, str]:
        code = code_of(error)
        if code in GONE:
            raise Gone(*GONE[code]) from None
        if code == UNINITIALIZED:
            self.library.forget()
            raise Gone("error", "the driver was unloaded") from None
        if code in CANNOT:
            self._answers += 1
            self._cannot[key] = unknown(CANNOT[code])
            return self._cannot[key]
        if code in (TIMEOUT, UNKNOWN_ERROR):
            self._trouble = self._trouble or f"{name.replace('nvmlDeviceGet', '')}: {error}"
        return unknown(str(error))

    def _connect(self) -> None:
        """Get the handle. Never keep one that was not got: the library crashes on it."""
        try:
            self.handle = self.library.nvml.nvmlDeviceGetHandleByIndex(self.index)
        except Exception as error:
            code = code_of(error)
            if code == UNINITIALIZED:
                self.library.forget()
            raise Gone(*GONE.get(code, ("error", f"{error} (handle)"))) from None

    def _read(self) -> None:
        if not self._identified:
            self._identify()
        memory = self._memory()
        util = self.ask("nvmlDeviceGetUtilizationRates")
        if is_unknown(util) and self.mig is True:
            util = unknown("n/a: MIG is on")
        power = self.ask("nvmlDeviceGetPowerUsage")
        temperature = self.ask_first(("nvmlDeviceGetTemperature", 0), ("nvmlDeviceGetTemperatureV", 0))
        reasons = self.ask_first(
            ("nvmlDeviceGetCurrentClocksEventReasons",), ("nvmlDeviceGetCurrentClocksThrottleReasons",)
        )
        self.gauges = dict(
            memory,
            uuid=self.uuid,
            state="ok",
            util_pct=util if is_unknown(util) else int(util.gpu),
            memory_util_pct=util if is_unknown(util) else int(util.memory),
            power_w=watts(power),
            temperature_c=temperature,
            sm_clock_mhz=self.ask("nvmlDeviceGetClockInfo", 1),
            throttle=reasons if is_unknown(reasons) else [name for bits, name in THROTTLE if reasons & bits],
        )
        self._slow_tiers()

    def _slow_tiers(self) -> None:
        """What is not needed each second; the processes are asked at once when the memory in use moves."""
        used = self.gauges["memory_used_bytes"]
        if is_unknown(used) != is_unknown(self._used) or (not is_unknown(used) and abs(used - self._used) >= MOVED):
            self.processes.hurry()
        self._used = used
        for tier in (self.processes, self.energy, self.pcie, self.health):
            tier.read(self)
        if self.health.fresh:
            self.identity = dict(self.identity, power_limit_w=self.power_limit(), mig_devices=self.mig_devices())

    def _identify(self) -> None:
        name = self.ask("nvmlDeviceGetName")
        uuid = self.ask("nvmlDeviceGetUUID")
        pci = self.ask("nvmlDeviceGetPciInfo")
        if not is_unknown(uuid):
            self.uuid = uuid
        self.unified = not is_unknown(name) and any(word in name for word in UNIFIED)
        mig = self.ask("nvmlDeviceGetMigMode")
        self.mig = mig if is_unknown(mig) else mig[0] == 1
        self._memory()
        if not is_unknown(self.library.events):
            self.ask("nvmlDeviceRegisterEvents", XID_EVENT, self.library.events)
        self.identity = {
            "index": self.index,
            "uuid": self.uuid,
            "pci_bus_id": pci if is_unknown(pci) else _text(pci.busId),
            "name": name,
            "memory_total_bytes": self.memory_total,
            "power_limit_w": self.power_limit(),
            "power_limit_default_w": watts(self.ask("nvmlDeviceGetPowerManagementDefaultLimit")),
            "temperature_slowdown_c": self.ask("nvmlDeviceGetTemperatureThreshold", 1),
            "temperature_shutdown_c": self.ask("nvmlDeviceGetTemperatureThreshold", 0),
            "sm_clock_max_mhz": self.ask("nvmlDeviceGetMaxClockInfo", 1),
            "unified_memory": self.unified,
            "mig_enabled": self.mig,
            "mig_devices": self.mig_devices(),
        }
        self._identified = not self._trouble

    def power_limit(self) -> Any:
        """Watts; root may change it at any time."""
        return watts(self.ask_first(("nvmlDeviceGetEnforcedPowerLimit",), ("nvmlDeviceGetPowerManagementLimit",)))

    def mig_devices(self) -> list[dict[str, Any]]:
        """The MIG devices inside this GPU."""
        if self.mig is not True:
            return []
        most = self.ask("nvmlDeviceGetMaxMigDeviceCount")
        found = []
        for index in range(0 if is_unknown(most) else most):
            try:
                handle = self.library.nvml.nvmlDeviceGetMigDeviceHandleByIndex(self.handle, index)
            except Exception:  # NotFound: the slots need not be filled in order
                continue
            found.append(_mig_device(Device(self.library, index), handle))
        return found

    def _memory(self) -> dict[str, Any]:
        """v2 tells what the driver keeps for itself apart; v1 counts it as used, so then nobody knows."""
        nvml = self.library.nvml
        version = getattr(nvml, "nvmlMemory_v2", None)
        memory: Any = (
            self.ask("nvmlDeviceGetMemoryInfo", version) if version else unknown("n/a: the binding is too old")
        )
        reserved: Any = unknown("n/a: this driver counts reserved memory as used")
        if not is_unknown(memory):
            reserved = int(memory.reserved)
        elif memory["unknown"].startswith("n/a"):
            memory = self.ask("nvmlDeviceGetMemoryInfo")
        if self.unified and (is_unknown(memory) or not memory.total):
            return self._machine_memory()
        if is_unknown(memory):
            self.memory_total = memory if is_unknown(self.memory_total) else self.memory_total
            return {"memory_used_bytes": memory, "memory_reserved_bytes": memory, "memory_free_bytes": memory}
        self.memory_total = int(memory.total)
        return {
            "memory_used_bytes": int(memory.used),
            "memory_reserved_bytes": reserved,
            "memory_free_bytes": int(memory.free),
        }

    def _machine_memory(self) -> dict[str, Any]:
        machine = meminfo()
        total, free = machine.get("MemTotal"), machine.get("MemAvailable")
        nothing = unknown("n/a: unified memory")
        if total is None or free is None:
            return {"memory_used_bytes": nothing, "memory_reserved_bytes": nothing, "memory_free_bytes": nothing}
        self.memory_total = total
        return {"memory_used_bytes": total - free, "memory_reserved_bytes": nothing, "memory_free_bytes": free}


def _mig_device(part: Device, handle: Any) -> dict[str, Any]:
    part.handle = handle
    memory = part._memory()
    return {
        "uuid": part.ask("nvmlDeviceGetUUID"),
        "name": part.ask("nvmlDeviceGetName"),
        "memory_total_bytes": part.memory_total,
        "memory_used_bytes": memory["memory_used_bytes"],
    }


def watts(milliwatts: Any) -> Any:
    return milliwatts if is_unknown(milliwatts) else round(milliwatts / 1000.0, 1)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
