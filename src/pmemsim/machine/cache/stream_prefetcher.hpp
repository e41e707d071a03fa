// A core's prefetcher. It finds streams of lines, up or down, and selects the lines to request
// ahead.
//
// It observes lines that miss in the private caches, and the first use of prefetched lines. A line
// within kWindow lines of a stream's last line belongs to that stream. The third line of a stream
// in one direction confirms the stream; from then on each line moves the stream's end. At first the
// end is two lines ahead. Each used line doubles this distance, up to `distance` lines. Streams
// cross pages, like those of processors with a next-page prefetcher. A new stream replaces the
// least recently used one. No machine of a paper has a prefetcher.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct PrefetchParameters {
  std::uint32_t streams = 0;
  std::uint32_t distance = 16;
  std::uint32_t registers = 16;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("streams", streams, {.least = 0, .most = 256},
          "Streams of lines that a core's prefetcher follows; 0: no prefetcher");
    visit("distance", distance, {.least = 1, .most = 256},
          "Largest distance, in lines, between a used line and a prefetched one");
    visit("registers", registers, {.least = 1, .most = 256},
          "Largest number of outstanding prefetches, in addition to core.mshrs");
  }
};

class StreamPrefetcher {
 public:
  explicit StreamPrefetcher(const PrefetchParameters& parameters)
      : streams_(parameters.streams), distance_(parameters.distance) {}

  bool present() const { return !streams_.empty(); }

  // Records that the core has used the line. Calls request(line) for each line to prefetch, nearest
  // first, until it returns false because no register is free. The next call continues with the
  // refused line.
  template <class Request>
  void used(Line line, Request request) {
    Stream* stream = find(line);
    if (stream == nullptr) {
      start(line);
      return;
    }
    stream->used = ++time_;
    if (!advance(*stream, line)) return;
    for (std::int64_t ahead = 1; ahead <= stream->ahead; ++ahead) {
      const std::int64_t next = static_cast<std::int64_t>(stream->last) + ahead * stream->direction;
      if (next < 0) return;
      const bool requested = (next - stream->requested) * stream->direction <= 0;
      if (requested) continue;
      if (!request(Line{static_cast<std::uint64_t>(next)})) return;
      stream->requested = next;
    }
  }

 private:
  static constexpr std::int64_t kWindow = 16;
  static constexpr std::uint32_t kConfirmed = 2;  // number of steps

  struct Stream {
    std::int64_t last = 0;       // the foremost line that was used
    std::int64_t requested = 0;  // the foremost line that was requested
    std::int64_t direction = 0;
    std::int64_t ahead = 1;
    std::uint32_t steps = 0;
    std::uint64_t used = 0;  // order number of its last use; 0: unused entry
  };

  Stream* find(Line line) {
    for (Stream& stream : streams_) {
      if (stream.used != 0 &&
          std::abs(static_cast<std::int64_t>(line.number) - stream.last) <= kWindow) {
        return &stream;
      }
    }
    return nullptr;
  }

  void start(Line line) {
    Stream& oldest =
        *std::min_element(streams_.begin(), streams_.end(),
                          [](const Stream& a, const Stream& b) { return a.used < b.used; });
    const auto number = static_cast<std::int64_t>(line.number);
    oldest = {.last = number, .requested = number, .used = ++time_};
  }

  // Updates the stream. True if it is confirmed and the line moves its end.
  bool advance(Stream& stream, Line line) {
    const std::int64_t step = static_cast<std::int64_t>(line.number) - stream.last;
    if (step == 0) return false;
    const std::int64_t direction = step > 0 ? 1 : -1;
    if (stream.steps < kConfirmed && direction != stream.direction) {
      stream.direction = direction;
      stream.steps = 0;
      stream.requested = stream.last;
    }
    if (direction != stream.direction) return false;  // an access that the processor has reordered
    stream.last += step;
    if ((stream.last - stream.requested) * direction > 0) stream.requested = stream.last;
    if (++stream.steps < kConfirmed) return false;
    stream.ahead = std::min<std::int64_t>(stream.ahead * 2, distance_);
    return true;
  }

  std::vector<Stream> streams_;
  std::int64_t distance_;
  std::uint64_t time_ = 0;
};

}  // namespace pmemsim
