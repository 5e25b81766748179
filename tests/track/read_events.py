#!/usr/bin/env python3
"""Prints "step tag value" of every scalar that TensorBoard's own reader finds in a folder: read_events.py FOLDER."""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    for event in events.Scalars(tag):
        print(event.step, tag, repr(float(event.value)), event.wall_time > 1.6e9)
