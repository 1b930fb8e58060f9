# SPDX-License-Identifier: Apache-2.0
"""Clocks, power and temperature of one GPU while a peer measures, where pynvml is installed."""
import statistics
import threading
import time

PERIOD_S = 0.05
MOST_READINGS = 200
# Names of the clocks event reasons, as gpubench reports them.
REASONS = {0x1: "gpu_idle", 0x2: "app_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown",
           0x10: "sync_boost", 0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake"}
SERIES_KEYS = ("t_s", "sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c", "event_reasons")


def summarize(readings):
    """The report's telemetry object; None without readings. Not supported is None, never 0."""
    if not readings:
        return None

    def known(key):
        return [reading[key] for reading in readings if reading[key] is not None]

    clocks, power, temperature = known("sm_clock_mhz"), known("power_w"), known("temperature_c")
    masks = known("event_reasons")
    throttle = {name: sum(bool(mask & bit) for mask in masks) / len(masks)
                for bit, name in REASONS.items() if any(mask & bit for mask in masks)}
    thinned = readings[::-(-len(readings) // MOST_READINGS)]
    return {
        "sm_clock_mhz": {"counted": None, "median": statistics.median(clocks) if clocks else None,
                         "min": min(clocks, default=None)},
        "power_w": statistics.median(power) if power else None, "power_by_energy_w": None,
        "energy_j_per_iteration": None,
        "temperature_c": max(temperature, default=None), "throttle": throttle if masks else None,
        "throttled_s": None, "errors": None, "gpm": None, "pcie_gen": None,
        "series": {key: [reading[key] for reading in thinned] for key in SERIES_KEYS},
    }


class Recorder:
    """A thread that reads NVML; open() returns None where that is not possible."""

    def __init__(self, nvml, handle):
        self._nvml, self._handle = nvml, handle
        self._lock = threading.Lock()
        self._readings = []
        threading.Thread(target=self._record, daemon=True).start()

    @staticmethod
    def open(pci_id):
        try:
            import pynvml
            pynvml.nvmlInit()
            return Recorder(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci_id.encode()))
        except Exception:  # any fault only costs the readings  # noqa: BLE001
            return None

    def driver_version(self):
        version = self._nvml.nvmlSystemGetDriverVersion()
        return version.decode() if isinstance(version, bytes) else version

    def _read(self):
        nvml, handle = self._nvml, self._handle

        def ask(function, *arguments):
            try:
                return function(handle, *arguments)
            except nvml.NVMLError:
                return None

        power_mw = ask(nvml.nvmlDeviceGetPowerUsage)
        return {
            "t_s": time.monotonic(),
            "sm_clock_mhz": ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            "power_w": None if power_mw is None else power_mw / 1e3,
            "temperature_c": ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            "event_reasons": ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons),
        }

    def _record(self):
        while True:
            reading = self._read()
            with self._lock:
                self._readings.append(reading)
            time.sleep(PERIOD_S)

    def window(self, begin_s, end_s):
        """What was read between two times of time.monotonic(); earlier readings are forgotten."""
        with self._lock:
            inside = [r for r in self._readings if begin_s <= r["t_s"] <= end_s]
            self._readings = [r for r in self._readings if r["t_s"] > end_s]
        return summarize([{**r, "t_s": round(r["t_s"] - begin_s, 6)} for r in inside])
