#include "pmemsim/checks/images/design_explanation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pmemsim/checks/images/listed_losses.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {
namespace {

using Group = GuaranteedOrder::Group;
using By = ProgramHistory::GuaranteedBy;
using UnitId = ProgramHistory::UnitId;

constexpr std::size_t kMostLocations = 4;  // Locations listed of a region's stores

// Returns, by group, whether it is in the image. A group that writes nothing is in it as soon as
// all groups that it follows are.
std::vector<bool> groups_in(const GuaranteedOrder& order, const GroupValues& image) {
  std::vector<bool> there(order.groups());
  for (Group group = 0; group < order.groups(); ++group) {
    there[group] =
        order.writes(group)
            ? image.has(group)
            : order.is_complete(group) && std::ranges::all_of(order.predecessors(group),
                                                              [&](Group it) { return there[it]; });
  }
  return there;
}

class DesignExplanation {
 public:
  DesignExplanation(const trace::TraceFile& trace, const DesignGuarantees& design,
                    const ProgramHistory& history, const GuaranteedOrder& order,
                    const GroupValues& image)
      : trace_(trace),
        promises_(design.guarantees.promises),
        history_(history),
        order_(order),
        there_(groups_in(order, image)),
        happened_(happened_by(history, order, image)) {
    for (CoreId thread = 0; thread < trace.metadata().threads; ++thread) add_position(thread);
    list_lost();
    list_there();
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::string source(std::uint32_t site) const {
    return trace::text_of(trace::location_of(trace_.sites(), site));
  }
  std::string region(UnitId unit) const {
    const ProgramHistory::Unit& found = history_.unit(unit);
    return fmt::format("region {} of thread {}", found.region, found.thread);
  }
  bool is_region(UnitId unit) const { return history_.unit(unit).region != 0; }

  // Adds the latest possible position of a thread: before its first guarantee that the image does
  // not satisfy.
  void add_position(CoreId thread) {
    for (UnitId unit = 0; unit < history_.units(); ++unit) {
      const ProgramHistory::Unit& found = history_.unit(unit);
      if (found.thread != thread || found.guaranteed_by == By::kNothing) continue;
      if (there_[order_.group_of(unit)]) continue;
      lines_.push_back(fmt::format("thread {} has reached at most {}", thread, before(unit)));
      return;
    }
    lines_.push_back(fmt::format("thread {} may have executed the whole recording", thread));
  }
  std::string before(UnitId unit) const {
    const ProgramHistory::Unit& found = history_.unit(unit);
    switch (found.guaranteed_by) {
      case By::kFence:
        return fmt::format("its fence at {}, which has not completed", source(found.fence));
      case By::kRegionEnd:
        return "the end of " + region(history_.follows(unit).front());
      case By::kRegionsFence:
        return fmt::format("pm_fence_regions() after {}, which has not completed",
                           region(history_.follows(unit).front()));
      case By::kStore:
        return fmt::format("its store at {}",
                           source(history_.writes(history_.follows(unit).front()).front().site));
      default:
        return fmt::format("its synchronisation with another thread at {}", source(found.fence));
    }
  }

  struct Entry {
    Group latest = 0;
    std::uint64_t bytes = 0;
  };
  using Entries = std::map<std::string, Entry>;  // By text

  void list_lost() {
    Entries lost;
    for (const Group group : order_.writers()) {
      if (happened_[group] && !there_[group]) add(group, why_lost(group), lost);
      if (happened_[group] && !there_[group] && !first_lost_) first_lost_ = group;
    }
    list("lost in this image, although executed before the crash:", lost);
  }
  // Lists the groups in the image that are later than the first lost group.
  void list_there() {
    if (!first_lost_) return;
    const std::vector<bool> guaranteed = guaranteed_by_then();
    Entries there;
    for (const Group group : order_.writers()) {
      if (group > *first_lost_ && there_[group] && !guaranteed[group]) add(group, "", there);
    }
    list("kept in this image, although a crash may lose it:", there);
  }
  std::vector<bool> guaranteed_by_then() const {
    std::vector<bool> guaranteed(order_.groups());
    for (Group group = order_.groups(); group-- > 0;) {
      for (const UnitId unit : order_.units(group)) {
        if (there_[group] && history_.unit(unit).guaranteed_by != By::kNothing)
          guaranteed[group] = true;
      }
      if (!guaranteed[group]) continue;
      for (const Group earlier : order_.predecessors(group)) guaranteed[earlier] = true;
    }
    return guaranteed;
  }

  void add(Group group, const std::string& why, Entries& entries) const {
    for (const UnitId unit : order_.units(group)) {
      const auto writes = history_.writes(unit);
      if (writes.empty()) continue;
      std::string what =
          is_region(unit) ? fmt::format("{}, with its stores at {}", region(unit), locations(unit))
                          : fmt::format("{}, thread {}, outside regions",
                                        source(writes.front().site), history_.unit(unit).thread);
      if (!why.empty()) what += ": " + why;
      Entry& entry = entries[what];
      entry.latest = std::max(entry.latest, group);
      entry.bytes += writes.size() * sizeof(std::uint64_t);
    }
  }
  std::string locations(UnitId unit) const {
    std::vector<std::string> found;
    for (const ProgramHistory::Write& write : history_.writes(unit)) {
      const std::string at = source(write.site);
      if (std::ranges::find(found, at) == found.end()) found.push_back(at);
    }
    if (found.size() > kMostLocations) {
      found.resize(kMostLocations);
      found.emplace_back("others");
    }
    return fmt::format("{}", fmt::join(found, ", "));
  }

  std::string why_lost(Group group) const {
    if (const auto earlier = lost_before(group)) {
      return is_region(*earlier) ? fmt::format("it depends on {}, which is lost", region(*earlier))
                                 : fmt::format("it depends on the store at {}, which is lost",
                                               source(history_.writes(*earlier).front().site));
    }
    if (is_region(order_.units(group).front())) {
      return promises_.regions == RegionPromise::kAtEnd
                 ? "its end had not completed"
                 : "regions become durable some time after their end, and no pm_fence_regions() "
                   "of its thread had completed";
    }
    switch (promises_.fences) {
      case FencePromise::kFlushed:
        return "no flush of it with a following fence had completed";
      case FencePromise::kStores:
        return "no durability fence of its thread had completed; ordering fences don't make "
               "stores durable";
      default:
        return "no guarantee covers it";
    }
  }
  std::optional<UnitId> lost_before(Group group) const {
    for (const Group earlier : order_.predecessors(group)) {
      if (there_[earlier] || !order_.writes(earlier)) continue;
      for (const UnitId unit : order_.units(earlier)) {
        if (!history_.writes(unit).empty()) return unit;
      }
    }
    return {};
  }

  void list(std::string title, const Entries& entries) {
    std::vector<ListedLoss> listed;
    for (const auto& [text, entry] : entries) {
      listed.push_back({entry.latest, fmt::format("{} bytes: {}", entry.bytes, text)});
    }
    list_latest(lines_, std::move(title), std::move(listed));
  }

  const trace::TraceFile& trace_;
  const Promises promises_;
  const ProgramHistory& history_;
  const GuaranteedOrder& order_;
  const std::vector<bool> there_, happened_;
  std::optional<Group> first_lost_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<bool> happened_by(const ProgramHistory& history, const GuaranteedOrder& order,
                              const GroupValues& image) {
  const std::vector<bool> there = groups_in(order, image);
  std::vector<bool> happened(order.groups(), true);
  for (Group group = 0; group < order.groups(); ++group) {
    for (const UnitId unit : order.units(group)) {
      for (const UnitId earlier : history.follows(unit)) {
        if (history.unit(earlier).guaranteed_by == By::kNothing) continue;
        if (!there[order.group_of(earlier)]) happened[group] = false;
      }
    }
  }
  return happened;
}

std::vector<std::string> design_explanation(const trace::TraceFile& trace,
                                            const DesignGuarantees& design,
                                            const ProgramHistory& history,
                                            const GuaranteedOrder& order,
                                            const GroupValues& image) {
  return DesignExplanation(trace, design, history, order, image).take();
}

}  // namespace pmemsim
