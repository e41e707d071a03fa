"""Reads a timeline with Perfetto's own message types, and checks what its viewer needs.

The checks are those of Perfetto's trace processor that concern these files: names and tracks are
defined before they are used, slices of a track nest, and counters have their own tracks.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from perfetto.protos.perfetto.trace import (  # type: ignore[import-untyped]
    perfetto_trace_pb2 as messages,
)

_EVENT = messages.TrackEvent
_CLEARED, _NEEDS = (
    messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED,
    messages.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
)


@dataclass
class Slice:
    track: int
    name: str
    begin: int
    notes: dict[str, int | str]
    flows: tuple[int, ...]
    depth: int
    end: int = -1


@dataclass
class TrackEvents:
    """The contents of a file; times are in nanoseconds."""

    names: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    counters: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Slice] = field(default_factory=list)

    def path(self, track: int) -> str:
        """Return a track's name behind its group's, as in `core 0/regions`."""
        parent = self.parents[track]
        return f"{self.path(parent)}/{self.names[track]}" if parent else self.names[track]

    def on(self, path: str) -> list[Slice]:
        """Return the slices of all tracks of this path, of its lanes."""
        return [each for each in self.slices if self.path(each.track) == path]

    def on_any(self, begin: str) -> list[Slice]:
        return [each for each in self.slices if self.path(each.track).startswith(begin)]

    def counter(self, path: str) -> list[tuple[int, int]]:
        (values,) = [each for track, each in self.counters.items() if self.path(track) == path]
        return values


def read(path: Path) -> TrackEvents:
    """Read a file, and check it."""
    trace = messages.Trace.FromString(path.read_bytes())
    found = TrackEvents()
    event_names: dict[int, str] = {}
    note_names: dict[int, str] = {}
    events = defaultdict(list)
    first, *rest = trace.packet
    assert first.sequence_flags == _CLEARED
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == first.trusted_packet_sequence_id != 0
    for packet in rest:
        if packet.HasField("track_descriptor"):
            _add_track(found, packet.track_descriptor)
            continue
        assert packet.sequence_flags == _NEEDS
        for names, defined in (
            (event_names, packet.interned_data.event_names),
            (note_names, packet.interned_data.debug_annotation_names),
        ):
            for each in defined:
                assert each.iid not in names
                names[each.iid] = each.name
        event = packet.track_event
        assert event.track_uuid in found.names
        counts = event.type == _EVENT.TYPE_COUNTER
        assert counts == (event.track_uuid in found.counters), found.path(event.track_uuid)
        if counts:
            found.counters[event.track_uuid].append((packet.timestamp, event.counter_value))
            continue
        name = event_names[event.name_iid] if event.type != _EVENT.TYPE_SLICE_END else ""
        notes = {
            note_names[note.name_iid]: getattr(note, note.WhichOneof("value"))
            for note in event.debug_annotations
        }
        events[event.track_uuid].append((packet.timestamp, event.type, name, notes, event.flow_ids))
    for track, its in events.items():
        _add_slices(found, track, its)
    _check_flows(found)
    return found


def _add_track(found: TrackEvents, descriptor: messages.TrackDescriptor) -> None:
    assert descriptor.uuid not in found.names
    assert descriptor.name
    assert not descriptor.parent_uuid or descriptor.parent_uuid in found.names
    found.names[descriptor.uuid] = descriptor.name
    found.parents[descriptor.uuid] = descriptor.parent_uuid
    if descriptor.HasField("counter"):
        found.counters[descriptor.uuid] = []


def _add_slices(found: TrackEvents, track: int, events: list[tuple]) -> None:  # type: ignore[type-arg]
    """Add a track's slices, which nest once they are sorted by time."""
    open_: list[Slice] = []
    for when, kind, name, notes, flows in sorted(events, key=lambda event: event[0]):
        if kind == _EVENT.TYPE_SLICE_END:
            assert open_, f"{found.path(track)}: a slice ends at {when} ns, but none is open"
            open_.pop().end = when
            continue
        new = Slice(track, name, when, notes, tuple(flows), len(open_))
        if kind == _EVENT.TYPE_INSTANT:
            found.instants.append(new)
            continue
        assert len(open_) < 2, f"{found.path(track)}: slices overlap at {when} ns"
        assert not open_ or found.names[track] == "regions"
        open_.append(new)
        found.slices.append(new)
    assert not open_, f"{found.path(track)}: {open_[0]} does not end"


def _check_flows(found: TrackEvents) -> None:
    """Check that each flow leads from a persist of a core to its bank."""
    flows = defaultdict(list)
    for each in found.slices:
        for flow in each.flows:
            flows[flow].append(each)
    for ends in flows.values():
        banks = [each for each in ends if "/bank " in found.path(each.track)]
        others = [each for each in ends if each not in banks]
        assert len(banks) <= 1
        assert all(found.path(each.track).endswith("/persists") for each in others)
        assert all(each.begin <= bank.begin for each in others for bank in banks)
