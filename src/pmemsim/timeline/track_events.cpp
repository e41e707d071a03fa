#include "pmemsim/timeline/track_events.hpp"

namespace pmemsim {
namespace {

// Numbers of fields and values in protos/perfetto/trace of Perfetto's sources.
constexpr std::uint32_t kTracePacket = 1;
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                        kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr std::uint32_t kAnnotations = 4, kType = 9, kNameNumber = 10, kTrack = 11,
                        kCounterValue = 30, kFlow = 47;
constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
constexpr std::uint32_t kUuid = 1, kName = 2, kParent = 5, kCounterDescriptor = 8,
                        kChildOrdering = 11, kRank = 12;
constexpr std::uint64_t kExplicit = 3;  // ChildTracksOrdering: by rank
constexpr std::uint32_t kAnnotationName = 1, kUnsigned = 3, kText = 6, kPointer = 7;
constexpr std::uint32_t kInternedNumber = 1, kInternedName = 2;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
constexpr std::uint64_t kOnlySequence = 1;

constexpr std::uint64_t kPicosecondsPerTick = 1000;

}  // namespace

TrackEventFile::TrackEventFile(const std::string& path) : file_(path) {
  Message first;
  first.number(kSequence, kOnlySequence);
  first.number(kSequenceFlags, kStateCleared);
  write(first);
}

void TrackEventFile::write(const Message& packet) {
  Message framed;
  framed.message(kTracePacket, packet);
  file_.write(framed.bytes());
}

std::uint64_t TrackEventFile::describe(std::uint64_t parent, std::string_view name, int rank,
                                       bool counter) {
  Message descriptor;
  descriptor.number(kUuid, ++last_uuid_);
  descriptor.text(kName, name);
  if (parent != 0) descriptor.number(kParent, parent);
  if (counter) descriptor.message(kCounterDescriptor, {});
  descriptor.number(kChildOrdering, kExplicit);
  descriptor.number(kRank, static_cast<std::uint64_t>(rank));
  Message packet;
  packet.number(kSequence, kOnlySequence);
  packet.message(kTrackDescriptor, descriptor);
  write(packet);
  ++tracks_;
  return last_uuid_;
}

std::uint64_t TrackEventFile::group(std::string_view name, int rank) {
  return describe(0, name, rank, false);
}

std::uint64_t TrackEventFile::counter(std::uint64_t parent, std::string_view name, int rank) {
  return describe(parent, name, rank, true);
}

// Implements rule 2 (track_events.hpp).
std::uint64_t TrackEventFile::lane(SliceTrack& track, Time begin, Time end) {
  for (SliceTrack::Lane& lane : track.lanes_) {
    if (lane.end > begin) continue;
    lane.end = end;
    return lane.uuid;
  }
  track.lanes_.push_back({describe(track.parent_, track.name_, track.rank_, false), end});
  return track.lanes_.back().uuid;
}

// Implements rule 1 (track_events.hpp).
std::uint64_t TrackEventFile::intern(Names& names, std::string_view name, Message& definitions) {
  const auto [found, is_new] =
      names.numbers.try_emplace(std::string(name), names.numbers.size() + 1);
  if (is_new) {
    Message definition;
    definition.number(kInternedNumber, found->second);
    definition.text(kInternedName, name);
    definitions.message(names.field, definition);
  }
  return found->second;
}

Message TrackEventFile::named(std::uint64_t type, std::uint64_t track, std::string_view name,
                              const std::vector<Annotation>& annotations, Message& definitions) {
  Message event;
  event.number(kType, type);
  event.number(kTrack, track);
  event.number(kNameNumber, intern(event_names_, name, definitions));
  for (const Annotation& annotation : annotations) {
    Message message;
    message.number(kAnnotationName, intern(annotation_names_, annotation.name, definitions));
    if (!annotation.text.empty()) {
      message.text(kText, annotation.text);
    } else {
      message.number(annotation.address ? kPointer : kUnsigned, annotation.number);
    }
    event.message(kAnnotations, message);
  }
  return event;
}

void TrackEventFile::packet(Time when, const Message& event, const Message& definitions) {
  Message packet;
  packet.number(kTimestamp, static_cast<std::uint64_t>(when.count) / kPicosecondsPerTick);
  packet.number(kSequence, kOnlySequence);
  packet.number(kSequenceFlags, kNeedsState);
  if (!definitions.bytes().empty()) packet.message(kInternedData, definitions);
  packet.message(kTrackEvent, event);
  write(packet);
}

std::uint64_t TrackEventFile::begin(SliceTrack& track, std::string_view name, Time begin, Time end,
                                    const std::vector<Annotation>& annotations,
                                    std::uint64_t flow) {
  const std::uint64_t on = lane(track, begin, end);
  Message definitions;
  Message event = named(kSliceBegin, on, name, annotations, definitions);
  if (flow != 0) event.fixed64(kFlow, flow);
  packet(begin, event, definitions);
  ++slices_;
  return on;
}

void TrackEventFile::begin_inner(std::uint64_t lane, std::string_view name, Time begin) {
  Message definitions;
  const Message event = named(kSliceBegin, lane, name, {}, definitions);
  packet(begin, event, definitions);
  ++slices_;
}

void TrackEventFile::end(std::uint64_t lane, Time when) {
  Message event;
  event.number(kType, kSliceEnd);
  event.number(kTrack, lane);
  packet(when, event, {});
}

void TrackEventFile::instant(SliceTrack& track, std::string_view name, Time when,
                             const std::vector<Annotation>& annotations) {
  Message definitions;
  const Message event = named(kInstant, lane(track, when, when), name, annotations, definitions);
  packet(when, event, definitions);
}

void TrackEventFile::value(std::uint64_t counter, Time when, std::uint64_t value) {
  Message event;
  event.number(kType, kCounter);
  event.number(kTrack, counter);
  event.number(kCounterValue, value);
  packet(when, event, {});
  ++values_;
}

}  // namespace pmemsim
