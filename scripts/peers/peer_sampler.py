# SPDX-License-Identifier: Apache-2.0
"""The protocol of src/measure/sampler for a PyTorch workload: warm-up until flat, then an unbroken
chain of batches between events, with several batches queued ahead so that the GPU never waits."""
import collections
import math
import time

import peer_stats

# As in src/measure/sampler.cpp; the queue is longer because Python is slower between two samples.
GRAPH_BELOW_S = 50e-6
GRAPH_ABOVE_HOST_SHARE = 0.4
QUEUE_AHEAD_S = 60e-3
MOST_GRAPH_NODES = 16384
SAMPLE_S = 1e-3
WINDOW_S = 0.15
FLAT_WINDOWS = 7  # as in src/measure/sampler.cpp
FLAT_WITHIN = 0.005


def batch_for(iteration_s):
    return min(max(math.ceil(SAMPLE_S / iteration_s), 1), 10**6) if iteration_s > 0 else 4096


def graph_nodes(iterations, sets):
    """Whole rotations through the buffer sets, about twice a sample's length."""
    nodes = max(2 * iterations, sets)
    return min(-(-nodes // sets) * sets, max(MOST_GRAPH_NODES // sets * sets, sets))


class SampleStream:
    """next() returns the seconds of the next sample and keeps the queue full."""

    def __init__(self, torch, launch, iterations, iteration_s):
        self._torch, self._launch = torch, launch
        self.iterations = iterations
        sample_s = max(iteration_s * iterations, 1e-6)
        self._depth = min(max(math.ceil(QUEUE_AHEAD_S / sample_s), 2), 64) + 1
        self._queued = collections.deque()
        self._spare = []
        self._previous = self._event()
        self._previous.record()
        self.starved = 0

    def _event(self):
        return self._spare.pop() if self._spare else self._torch.cuda.Event(enable_timing=True)

    def next(self):
        if self._queued and self._queued[-1].query():
            self.starved += 1
        while len(self._queued) < self._depth:
            self._launch()
            event = self._event()
            event.record()
            self._queued.append(event)
        while not self._queued[0].query():
            time.sleep(50e-6)
        event = self._queued.popleft()
        seconds = self._previous.elapsed_time(event) / 1e3
        self._spare.append(self._previous)
        self._previous = event
        return seconds


def estimate(torch, job):
    """(seconds per iteration on the GPU, seconds to enqueue one)"""
    job.enqueue(0)  # first call: module load stays out of the estimate
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    count = 1
    while True:
        begin.record()
        host_begin = time.monotonic()
        for i in range(count):
            job.enqueue(i)
        host_end = time.monotonic()
        end.record()
        torch.cuda.synchronize()
        total = begin.elapsed_time(end) / 1e3
        if total > 2e-3 or count >= 4096:
            return total / count, (host_end - host_begin) / count
        count *= 2


def capture(torch, stream, job, nodes):
    """A CUDA graph of `nodes` iterations, or None where this work can't be captured."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream):
            for i in range(nodes):
                job.enqueue(i)
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    return graph


def plan(torch, stream, job):
    """(SampleStream, kind)"""
    iteration_s, host_s = estimate(torch, job)
    iterations = batch_for(iteration_s)
    if iteration_s < GRAPH_BELOW_S or host_s > GRAPH_ABOVE_HOST_SHARE * iteration_s:
        nodes = graph_nodes(iterations, job.sets)
        graph = capture(torch, stream, job, nodes)
        if graph is not None:
            return SampleStream(torch, graph.replay, nodes, iteration_s), "graph"
    counter = iter(range(1 << 62))

    def launch():
        for _ in range(iterations):
            job.enqueue(next(counter))

    return SampleStream(torch, launch, iterations, iteration_s), "stream"


def warm_up(samples, most_s):
    """Load until FLAT_WINDOWS in a row agree; returns its seconds."""
    begin = time.monotonic()
    windows = collections.deque(maxlen=FLAT_WINDOWS)
    seconds, count = 0.0, 0
    while time.monotonic() - begin < most_s:
        seconds += samples.next()
        count += 1
        if seconds < WINDOW_S:
            continue
        windows.append(seconds / count)
        seconds, count = 0.0, 0
        if len(windows) == FLAT_WINDOWS and max(windows) - min(windows) <= FLAT_WITHIN * min(windows):
            break
    return time.monotonic() - begin


def measure(torch, stream, job, policy):
    """What peer_report.add_measurement takes, with begin_s and end_s of time.monotonic()."""
    samples, kind = plan(torch, stream, job)
    warmup_s = warm_up(samples, policy["warmup_s"])
    rule = peer_stats.StoppingRule(policy["min_time_s"], policy["max_time_s"], policy["max_noise"])
    starved_before = samples.starved
    begin_s = time.monotonic()
    stop = ""
    while not stop:
        seconds = samples.next() / samples.iterations
        stop = rule.add(seconds, time.monotonic() - begin_s)
    end_s = time.monotonic()
    torch.cuda.synchronize()
    taken = max(len(rule.samples), 1)
    return {"samples_s": rule.samples, "time_s": peer_stats.describe(rule.samples, stop),
            "kind": kind, "batch": samples.iterations, "warmup_s": warmup_s,
            "duration_s": end_s - begin_s, "dropped": rule.dropped, "begin_s": begin_s,
            "end_s": end_s, "launch_bound": samples.starved - starved_before > 0.05 * taken}
