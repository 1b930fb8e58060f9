# SPDX-License-Identifier: Apache-2.0
"""Statistics and stopping rule of the peers: the same as src/core/statistics.h and stopping.h.

Pure functions over lists of seconds; numpy only makes the bootstrap faster.
"""
import math
import random

try:
    import numpy
except ImportError:
    numpy = None

RESAMPLES = 400
RESAMPLES_WITHOUT_NUMPY = 100  # a check must not outlast the work queued on the GPU
MOST_POINTS = 4000


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values, q):
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def usable(samples):
    return [s for s in samples if math.isfinite(s) and s > 0]


def block_length(samples):
    """At least n^(1/3), and twice the lag at which the signs around the median stop being correlated."""
    n = len(samples)
    least = math.ceil(n ** (1 / 3))
    most = max(1, n // 4)
    middle = median(samples)
    signs = [(s > middle) - (s < middle) for s in samples]
    variance = sum(sign * sign for sign in signs)
    lag = 1
    while lag < most and variance > 0:
        if sum(a * b for a, b in zip(signs, signs[lag:])) / variance < 2 / math.sqrt(n):
            break
        lag += max(1, lag // 3)
    return min(max(least, 2 * lag), most)


def thinned(samples):
    """Medians of an odd number of neighbours, so that few points are left."""
    group = -(-len(samples) // MOST_POINTS)
    group += 1 - group % 2
    if group == 1:
        return samples
    return [median(samples[i:i + group]) for i in range(0, len(samples), group)]


def bootstrap_medians(samples, seed):
    n = len(samples)
    length = block_length(samples)
    blocks = -(-n // length)
    if numpy is not None:
        generator = numpy.random.default_rng(seed)
        begins = generator.integers(0, n, size=(RESAMPLES, blocks, 1))
        index = (begins + numpy.arange(length)) % n  # a ring: the ends are drawn as often as the middle
        return numpy.median(numpy.asarray(samples)[index.reshape(RESAMPLES, -1)], axis=1).tolist()
    generator = random.Random(seed)
    ring = list(samples) + list(samples[:length])
    medians = []
    for _ in range(RESAMPLES_WITHOUT_NUMPY):
        resample = []
        for _ in range(blocks):
            begin = generator.randrange(n)
            resample += ring[begin:begin + length]
        medians.append(median(resample))
    return medians


def median_ci95(samples, seed=1):
    """(low, high) of the median by a moving-block bootstrap, or None below 3 samples."""
    samples = thinned(usable(samples))
    if len(samples) < 3:
        return None
    medians = bootstrap_medians(samples, seed)
    return quantile(medians, 0.025), quantile(medians, 0.975)


def relative_noise(samples):
    """Half-width of the interval of the median, relative to it; infinity where there is none."""
    interval = median_ci95(samples)
    if interval is None:
        return math.inf
    return (interval[1] - interval[0]) / 2 / median(usable(samples))


def describe(samples, stop):
    """The report's time_s object, or None without a usable sample."""
    kept = usable(samples)
    if not kept:
        return None
    mean = sum(kept) / len(kept)
    stdev = None
    if len(kept) > 1:
        stdev = math.sqrt(sum((s - mean) ** 2 for s in kept) / (len(kept) - 1))
    interval = median_ci95(kept)
    return {
        "median": median(kept), "p05": quantile(kept, 0.05), "p95": quantile(kept, 0.95),
        "mean": mean, "stdev": stdev, "ci95": list(interval) if interval else None,
        "n": len(kept), "stop": stop,
    }


class StoppingRule:
    """add() takes a sample and the time sampled so far; it returns why to stop, or an empty string."""

    CHECK_GROWTH = 1.2
    MIN_SAMPLES = 30
    MOST_BAD_IN_A_ROW = 100

    def __init__(self, min_time_s, max_time_s, max_noise):
        self.min_time_s = min_time_s
        self.max_time_s = max(max_time_s, min_time_s)
        self.max_noise = max_noise
        self.samples = []
        self.dropped = 0
        self._bad_in_a_row = 0
        self._next_end_s = min_time_s

    def add(self, seconds, elapsed_s):
        if not (math.isfinite(seconds) and seconds > 0):
            self.dropped += 1
            self._bad_in_a_row += 1
            return "bad_timer" if self._bad_in_a_row >= self.MOST_BAD_IN_A_ROW else ""
        self._bad_in_a_row = 0
        self.samples.append(seconds)
        count = len(self.samples)
        # After whole multiples of min_time_s, as src/core/stopping.h says why.
        if elapsed_s >= self._next_end_s and count >= self.MIN_SAMPLES:
            step = max(self.min_time_s, 1e-3)
            self._next_end_s = math.ceil(self.CHECK_GROWTH * elapsed_s / step) * step
            if relative_noise(self.samples) <= self.max_noise:
                return "noise"
        return "max_time" if elapsed_s >= self.max_time_s else ""
