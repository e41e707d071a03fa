#include "pmemsim/checks/images/image_explanation.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "pmemsim/checks/images/listed_losses.hpp"
#include "pmemsim/checks/rules/program_lines.hpp"
#include "pmemsim/trace/names.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {
namespace {

using Segment = PersistencyModel::Segment;
using trace::Operation;
using trace::SiteKind;

using Position = PersistencyModel::Position;

std::string name_of(const Operation& operation) {
  switch (operation.kind) {
    case SiteKind::kFlush:
      return std::string(trace::name_of(static_cast<trace::FlushKind>(operation.detail)));
    case SiteKind::kFence:
      return std::string(trace::name_of(static_cast<trace::FenceKind>(operation.detail)));
    case SiteKind::kAtomicUpdate:
    case SiteKind::kAtomicStore:
      return "locked instruction";
    case SiteKind::kSync:
      return "acquisition of a lock";
    default:
      return "store";
  }
}

// By line: the first flush of it after the crash.
using LaterFlushes = std::unordered_map<std::uint64_t, Position>;

LaterFlushes later_flushes(const trace::TraceFile& trace, const PersistencyModel& model,
                           const Variation& variation) {
  LaterFlushes found;
  if (model.at_end()) return found;
  const VisibleOrder& crash = model.next_operation();
  VisibleOrder order(trace, variation);
  bool later = false;
  while (order.next()) {
    later = later || (order.thread() == crash.thread() && order.number() == crash.number());
    const Operation& operation = order.operation();
    if (!later || operation.kind != SiteKind::kFlush) continue;
    found.try_emplace(Line::of(operation.address).number,
                      Position{operation.site, order.thread(), order.number()});
  }
  return found;
}

class ExplanationBuilder {
 public:
  ExplanationBuilder(const trace::TraceFile& trace, const AllowedImages& images,
                     std::span<const check::PersistCall> calls)
      : trace_(trace),
        calls_(calls),
        model_(images.model()),
        flushes_(later_flushes(trace, model_, images.variation())),
        lines_of_headers_(lines_of_headers()) {
    where();
    Stores lost, there;
    for (const auto& [number, segments] : model_.open()) {
      const Line line{number};
      const Presence present = images.present(line, segments);
      for (std::size_t i = 0; i < segments.size(); ++i) {
        const bool survives = images.variation().failure.survives(segments[i].thread);
        if (segments[i].guaranteed || (survives && present[i])) continue;
        Stores& stores = present[i] ? there : lost;
        stores[{source_of(segments[i]), segments[i].thread, why(line, segments[i])}].add(
            line, segments[i]);
      }
    }
    list("lost in this image, although visible at the crash:", lost);
    list("kept in this image, although a crash may lose it:", there);
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  struct Extent {
    std::map<std::uint64_t, std::uint64_t> stored;  // By line: a bit for each byte
    std::set<std::uint64_t> operations;
    std::uint64_t order = 0;

    void add(Line line, const Segment& segment) {
      stored[line.number] |= ~std::uint64_t{0} >> (64 - segment.size) << segment.offset;
      operations.insert(segment.number);
      order = std::max(order, segment.order);
    }
    std::uint64_t first() const {
      const auto& [line, bytes] = *stored.begin();
      return Line{line}.address() + static_cast<std::uint64_t>(std::countr_zero(bytes));
    }
    int bytes() const {
      int sum = 0;
      for (const auto& [line, bytes] : stored) sum += std::popcount(bytes);
      return sum;
    }
    std::string text() const {
      const std::string lines = stored.size() > 1 ? fmt::format(" in {} lines", stored.size()) : "";
      const std::string times =
          operations.size() > 1 ? fmt::format(", by {} stores", operations.size()) : "";
      const int count = bytes();
      return fmt::format("{} byte{}{} from {:#x}{}", count, count == 1 ? "" : "s", lines, first(),
                         times);
    }
  };
  // By source line, thread and reason.
  using Stores = std::map<std::tuple<std::string, std::uint32_t, std::string>, Extent>;

  // Returns, for each store in a system header, the program's line that led to it.
  check::ProgramLines lines_of_headers() const {
    std::set<check::OperationNumber> wanted;
    for (const auto& [number, segments] : model_.open()) {
      for (const Segment& segment : segments) {
        const std::uint32_t line = trace::program_line(trace_.sites(), segment.site);
        if (segment.guaranteed || !trace::in_system_header(trace_.sites(), line)) continue;
        wanted.emplace(segment.thread, segment.number);
      }
    }
    return check::program_lines(trace_, wanted);
  }

  std::string source_of(const Segment& segment) const {
    const auto found = lines_of_headers_.find({segment.thread, segment.number});
    return trace::text_of(found != lines_of_headers_.end()
                              ? found->second
                              : trace::location_of(trace_.sites(), segment.site));
  }

  std::string text_of(const Position& position) const {
    const check::PersistCall* call = check::find_call(calls_, position.thread, position.number);
    if (call == nullptr) return trace::text_of(trace::location_of(trace_.sites(), position.site));
    std::string text = trace::text_of(call->place);
    for (const trace::SourceLocation& caller : call->calls) {
      text += ", called at " + trace::text_of(caller);
    }
    return text;
  }

  void where() {
    if (model_.at_end()) {
      lines_.emplace_back("the crash is at the end of the recording");
    } else {
      const VisibleOrder& next = model_.next_operation();
      lines_.push_back(fmt::format("the crash is immediately before the {} of thread {} at {}",
                                   name_of(next.operation()), next.thread(),
                                   text_of({next.operation().site, next.thread(), next.number()})));
    }
    for (std::uint32_t thread = 0; thread < model_.last_positions().size(); ++thread) {
      const Position& last = model_.last_positions()[thread];
      lines_.push_back(last.site == PersistencyModel::kNone
                           ? fmt::format("thread {} has executed nothing yet", thread)
                           : fmt::format("thread {} has reached {}", thread, text_of(last)));
    }
  }

  std::string why(Line line, const Segment& segment) const {
    if (segment.non_temporal) return "non-temporal, without a fence of its thread before the crash";
    if (model_.rules() == PersistencyRules::kEadr) return "the last visible store";
    if (const Position flush = model_.flushed_at(line, segment);
        flush.site != PersistencyModel::kNone) {
      return fmt::format("flushed at {}, without a fence of that thread before the crash",
                         text_of(flush));
    }
    const auto later = flushes_.find(line.number);
    if (later == flushes_.end()) return "never flushed";
    return fmt::format("not flushed yet ({} flushes it)", text_of(later->second));
  }

  void list(std::string title, const Stores& stores) {
    std::vector<ListedLoss> listed;
    for (const auto& [key, extent] : stores) {
      const auto& [source, thread, why] = key;
      listed.push_back(
          {extent.order, fmt::format("{}, thread {}: {}: {}", source, thread, extent.text(), why)});
    }
    list_latest(lines_, std::move(title), std::move(listed));
  }

  const trace::TraceFile& trace_;
  const std::span<const check::PersistCall> calls_;
  const PersistencyModel& model_;
  const LaterFlushes flushes_;
  const check::ProgramLines lines_of_headers_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> explain_image(const trace::TraceFile& trace, const AllowedImages& images,
                                       std::span<const check::PersistCall> calls) {
  return ExplanationBuilder(trace, images, calls).take();
}

}  // namespace pmemsim
