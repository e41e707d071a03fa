#include "pmemsim/checks/images/recorded_recovery.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>

#include "pmemsim/checks/images/visible_order.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/mix.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim {
namespace {

using trace::Operation;
using trace::SiteKind;

bool may_order(const Operation& operation) {
  return operation.kind == SiteKind::kFence || operation.kind == SiteKind::kSync ||
         operation.kind == SiteKind::kAtomicUpdate;
}

// Memory during recovery, updated by each store as it is processed.
class RecoveredMemory {
 public:
  explicit RecoveredMemory(const trace::TraceFile& recovery) {
    trace::for_each_image_page(recovery, [&](std::uint64_t at, std::span<const std::byte> page) {
      image_.write(at, page.data(), page.size());
    });
  }
  // Executes the store and returns a hash of the stored and the overwritten bytes.
  std::uint64_t execute_store(const Operation& operation) {
    std::uint64_t hash = operation.size;
    for (std::size_t i = 0; i < operation.size; ++i) {
      const std::uint64_t address = operation.address + i;
      const std::byte before = image_.read(Line::of(address)).at(address % kLineBytes);
      const auto bits = [](std::byte byte) { return std::to_integer<std::uint64_t>(byte); };
      hash = mix(hash + (bits(before) << 8 | bits(operation.value[i])));
    }
    image_.write(operation.address, operation.value, operation.size);
    return hash;
  }

 private:
  Image image_;
};

// Calls visit(line, bytes) for each line of an access.
template <class Visit>
void for_each_accessed_line(const Operation& operation, Visit&& visit) {
  const std::uint64_t end = operation.address + operation.size;
  for (std::uint64_t at = operation.address; at < end;) {
    const Line line = Line::of(at);
    const std::uint64_t part = std::min(end, line.address() + kLineBytes) - at;
    visit(line, bytes_from(at % kLineBytes, part));
    at += part;
  }
}

// Calls found() for the possibly lost segments that a load of these bytes of a line depends on, the
// newest first.
template <class Found>
void find_possibly_lost(const PersistencyModel::Segments& segments, const Presence& present,
                        ByteMask bytes, Found&& found) {
  for (std::size_t i = segments.size(); i-- > 0 && bytes != 0;) {
    const ByteMask segment = bytes_from(segments[i].offset, segments[i].size);
    if ((segment & bytes) == 0) continue;
    const bool there = segments[i].guaranteed || present[i];
    if (!segments[i].guaranteed) found(segments[i].site, there);
    if (there) bytes &= ~segment;
  }
}

}  // namespace

std::optional<Line> RecoveryRanges::line_in_crashed_program(Line line) const {
  const std::uint64_t address = line.address();
  const auto range = std::ranges::find_if(
      ranges_, [&](const Range& each) { return each.begin <= address && address < each.end; });
  if (range == ranges_.end()) return {};
  return Line::of(address - range->begin + range->crashed);
}

PersistSteps persist_steps(const trace::TraceFile& recovery) {
  VisibleOrder order(recovery);
  trace::PmAddresses pm(recovery.metadata());
  RecoveredMemory memory(recovery);
  PersistSteps steps;
  const auto add = [&](std::uint64_t word) { steps.hash = mix(steps.hash + word); };
  while (order.next()) {
    const Operation& operation = order.operation();
    const bool to_pm = trace::stores_something(operation) && pm.contains(operation.address);
    const bool flushes = operation.kind == SiteKind::kFlush;
    if (!to_pm && !flushes && !may_order(operation)) continue;
    add(operation.site);
    if (to_pm || flushes) add(operation.address);
    if (!to_pm) continue;
    ++steps.stores;
    add(memory.execute_store(operation));
  }
  return steps;
}

std::set<OpenRead> open_reads(const AllowedImages& images, const trace::TraceFile& recovery,
                              const RecoveryRanges& ranges) {
  const auto& open = images.model().open();
  std::set<OpenRead> found;
  std::unordered_map<std::uint64_t, ByteMask> stored;  // By line: bytes that recovery has stored
  std::unordered_map<std::uint64_t, Presence> present;
  VisibleOrder order(recovery, {}, VisibleOrder::Loads::kAll);
  while (order.next()) {
    const Operation& operation = order.operation();
    const bool is_load = trace::loads_something(operation),
               is_store = trace::stores_something(operation);
    if (!is_load && !is_store) continue;
    for_each_accessed_line(operation, [&](Line at, ByteMask bytes) {
      const std::optional<Line> line = ranges.line_in_crashed_program(at);
      if (!line || !open.contains(line->number)) return;
      const PersistencyModel::Segments& segments = open.at(line->number);
      ByteMask& own = stored[line->number];
      if (is_load) {
        const Presence& there =
            present.try_emplace(line->number, images.present(*line, segments)).first->second;
        find_possibly_lost(segments, there, bytes & ~own, [&](std::uint32_t site, bool is_there) {
          found.insert({operation.site, site, is_there});
        });
      }
      if (is_store) own |= bytes;
    });
  }
  return found;
}

}  // namespace pmemsim
