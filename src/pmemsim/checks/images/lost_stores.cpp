#include "pmemsim/checks/images/lost_stores.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim {
namespace {

using Segment = PersistencyModel::Segment;
using Why = LostStore::Why;

struct LostSegment {
  Segment segment;
  Line line;
};

std::vector<LostSegment> lost_segments(const AllowedImages& images) {
  std::vector<LostSegment> lost;
  for (const auto& [number, segments] : images.model().open()) {
    const Line line{number};
    const Presence present = images.present(line, segments);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (!segments[i].guaranteed && !present[i]) lost.push_back({segments[i], line});
    }
  }
  std::ranges::sort(lost, std::ranges::greater{},
                    [](const LostSegment& each) { return each.segment.order; });
  return lost;
}

class LostStores {
 public:
  LostStores(const trace::TraceFile& trace, const AllowedImages& images,
             std::span<const check::PersistCall> calls)
      : trace_(trace), model_(images.model()), calls_(calls), segments_(lost_segments(images)) {
    for (const LostSegment& each : segments_) {
      numbers_.emplace(each.segment.thread, each.segment.number);
    }
  }

  std::vector<LostStore> take() {
    std::vector<LostStore> stores;
    std::set<std::tuple<trace::SourceLocation, std::uint32_t, Why>> seen;
    for (const auto& [segment, line] : segments_) {
      LostStore store{.place = trace::location_of(trace_.sites(), segment.site),
                      .thread = segment.thread,
                      .number = segment.number,
                      .why = segment.non_temporal ? Why::kNonTemporal : Why::kNotFlushed,
                      .flush = {},
                      .kept = {}};
      const PersistencyModel::Position flush = model_.flushed_at(line, segment);
      std::uint64_t from = store.number;
      if (!segment.non_temporal && flush.site != PersistencyModel::kNone) {
        store.why = Why::kNotFenced;
        if (flush.thread == store.thread) from = flush.number;
        const check::PersistCall* call = check::find_call(calls_, flush.thread, flush.number);
        if (call != nullptr) store.flush = *call;
      }
      if (!seen.emplace(store.place, store.thread, store.why).second) continue;
      store.kept = next_kept(store, from);
      stores.push_back(std::move(store));
    }
    return stores;
  }

 private:
  std::optional<trace::SourceLocation> next_kept(const LostStore& store,
                                                 std::uint64_t behind) const {
    const std::uint64_t last = model_.last_positions()[store.thread].number;
    trace::PmAddresses pm(trace_.metadata());
    trace::OperationStream stream(trace_, store.thread);
    stream.seek(behind + 1);
    trace::Operation operation;
    while (stream.position() <= last && stream.next(operation)) {
      if (!trace::stores_something(operation) || !pm.contains(operation.address)) continue;
      if (numbers_.contains({store.thread, stream.position() - 1})) continue;
      trace::SourceLocation place = trace::location_of(trace_.sites(), operation.site);
      if (place.file != store.place.file || place.line != store.place.line) return place;
    }
    return {};
  }

  const trace::TraceFile& trace_;
  const PersistencyModel& model_;
  const std::span<const check::PersistCall> calls_;
  const std::vector<LostSegment> segments_;                    // The latest first
  std::set<std::pair<std::uint32_t, std::uint64_t>> numbers_;  // Threads and operations
};

}  // namespace

std::string_view name_of(Why why) {
  switch (why) {
    case Why::kNotFlushed:
      return "not flushed";
    case Why::kNotFenced:
      return "not fenced";
    case Why::kNonTemporal:
      return "non-temporal";
  }
  return {};
}

std::vector<LostStore> lost_stores(const trace::TraceFile& trace, const AllowedImages& images,
                                   std::span<const check::PersistCall> calls) {
  return LostStores(trace, images, calls).take();
}

}  // namespace pmemsim
