// A file of Perfetto's TrackEvent packets
// (https://perfetto.dev/docs/reference/synthetic-track-event).
//
//   1  All packets are on one sequence. Names are interned: the first packet that uses a name
//      defines its number.
//   2  Slices of a track never overlap. Overlapping slices of one name are on lanes: tracks of the
//      same name and parent, which Perfetto draws as one track of several lines.
//   3  Perfetto counts nanoseconds. Times are rounded down, which keeps the order of times.
//
// Protobuf is written here, because its encoding of these few messages is 30 lines of code, and an
// object for each message would take longer than the simulation of the event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/timeline/output_file.hpp"

namespace pmemsim {

// One protobuf message.
class Message {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::uint32_t field, std::string_view text) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(text.size());
    bytes_.append(text);
  }
  void message(std::uint32_t field, const Message& inner) { text(field, inner.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

// The annotations of an event: names and values that Perfetto shows when the event is selected.
struct Annotation {
  std::string_view name;
  std::string_view text{};
  std::uint64_t number = 0;
  bool address = false;  // shows the number as an address
};

// A track of slices, with its lanes.
class SliceTrack {
 public:
  SliceTrack(std::uint64_t parent, std::string name, int rank)
      : parent_(parent), name_(std::move(name)), rank_(rank) {}

 private:
  friend class TrackEventFile;
  struct Lane {
    std::uint64_t uuid;
    Time end;
  };
  std::uint64_t parent_;
  std::string name_;
  int rank_;
  std::vector<Lane> lanes_;
};

class TrackEventFile {
 public:
  // Throws Error if the file can't be written.
  explicit TrackEventFile(const std::string& path);

  // Returns the identity of a group of tracks, which can be the parent of tracks.
  std::uint64_t group(std::string_view name, int rank);
  std::uint64_t counter(std::uint64_t parent, std::string_view name, int rank);

  // Begins a slice on a lane of the track that is free from `begin` to `end`. Returns the lane.
  // Slices of a lane must be given in the order of time.
  std::uint64_t begin(SliceTrack& track, std::string_view name, Time begin, Time end,
                      const std::vector<Annotation>& annotations = {}, std::uint64_t flow = 0);
  // Begins a slice within one that has begun on this lane.
  void begin_inner(std::uint64_t lane, std::string_view name, Time begin);
  void end(std::uint64_t lane, Time when);
  void instant(SliceTrack& track, std::string_view name, Time when,
               const std::vector<Annotation>& annotations = {});
  void value(std::uint64_t counter, Time when, std::uint64_t value);
  // Writes what is left, and closes the file.
  void close() { file_.close(); }

  std::uint64_t slices() const { return slices_; }
  std::uint64_t values() const { return values_; }
  std::uint64_t tracks() const { return tracks_; }

 private:
  // The numbers of interned names of one kind.
  struct Names {
    std::uint32_t field;
    std::unordered_map<std::string, std::uint64_t> numbers{};
  };

  std::uint64_t intern(Names& names, std::string_view name, Message& definitions);
  std::uint64_t lane(SliceTrack& track, Time begin, Time end);
  std::uint64_t describe(std::uint64_t parent, std::string_view name, int rank, bool counter);
  Message named(std::uint64_t type, std::uint64_t track, std::string_view name,
                const std::vector<Annotation>& annotations, Message& definitions);
  void packet(Time when, const Message& event, const Message& definitions);
  void write(const Message& packet);

  OutputFile file_;
  Names event_names_{2}, annotation_names_{3};
  std::uint64_t last_uuid_ = 0;
  std::uint64_t slices_ = 0, values_ = 0, tracks_ = 0;
};

}  // namespace pmemsim
