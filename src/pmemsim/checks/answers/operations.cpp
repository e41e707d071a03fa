#include "pmemsim/checks/answers/operations.hpp"

#include <algorithm>
#include <map>

#include "pmemsim/analysis/functions.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::answers {
namespace {

using trace::Functions;
using trace::MarkKind;
using trace::Operation;
using trace::SiteKind;

// The functions that a thread is executing, the outermost first.
class Calls {
 public:
  explicit Calls(const Functions& functions) : functions_(functions) {}

  // Processes an operation. Returns true if it begins a call. The call is then open().back().
  bool follow(std::uint32_t site) {
    const std::uint32_t function = functions_.of(site);
    if (function == Functions::kNone || (!open_.empty() && open_.back() == function)) return false;
    const auto found = std::ranges::find(open_, function);
    if (found != open_.end()) {
      open_.erase(found + 1, open_.end());
      return false;
    }
    open_.push_back(function);
    return true;
  }
  const std::vector<std::uint32_t>& open() const { return open_; }

 private:
  const Functions& functions_;
  std::vector<std::uint32_t> open_;
};

// A thread's calls of the chosen functions.
class ChosenCalls {
 public:
  ChosenCalls(const Functions& functions, const std::vector<bool>& chosen)
      : functions_(functions), chosen_(chosen), calls_(functions) {}

  void follow(std::uint32_t site, std::uint32_t thread, std::uint64_t number,
              std::vector<CallOrRegion>& found) {
    const bool begins = calls_.follow(site);
    const std::vector<std::uint32_t>& open = calls_.open();
    if (open.size() < depth_) depth_ = 0;
    if (begins && depth_ == 0 && chosen_[open.back()]) {
      depth_ = open.size();
      found.push_back({.thread = thread,
                       .name = std::string(functions_.name(open.back())),
                       .first = number,
                       .last = number});
    }
    if (depth_ > 0) found.back().last = number;
  }

 private:
  const Functions& functions_;
  const std::vector<bool>& chosen_;
  Calls calls_;
  std::size_t depth_ = 0;  // Depth of the chosen call in execution; 0: there is none
};

}  // namespace

std::vector<CallOrRegion> regions_of(const trace::TraceFile& trace) {
  std::vector<CallOrRegion> found;
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    trace::OperationStream stream(trace, thread);
    Operation operation{};
    for (stream.skip_to({SiteKind::kMark}); stream.next(operation);
         stream.skip_to({SiteKind::kMark})) {
      const auto kind = static_cast<MarkKind>(operation.detail);
      const bool outermost = operation.address == 1;
      const std::uint64_t number = stream.position() - 1;
      if (kind == MarkKind::kRegionBegin && outermost) {
        found.push_back({.thread = thread, .name = {}, .first = number, .last = UINT64_MAX});
      } else if (kind == MarkKind::kRegionEnd && outermost && !found.empty()) {
        found.back().last = number;
      }
    }
  }
  return found;
}

std::vector<CallOrRegion> calls_of(const trace::TraceFile& trace,
                                   const std::function<bool(std::string_view)>& is_chosen) {
  const Functions functions(trace.sites());
  std::vector<bool> chosen;
  for (std::uint32_t number = 0; number < functions.size(); ++number) {
    chosen.push_back(!functions.name(number).empty() && is_chosen(functions.name(number)));
  }
  std::vector<CallOrRegion> found;
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    trace::OperationStream stream(trace, thread);
    ChosenCalls calls(functions, chosen);
    Operation operation{};
    while (stream.next(operation)) {
      calls.follow(operation.site, thread, stream.position() - 1, found);
    }
  }
  return found;
}

std::vector<Uses> uses_of_functions(const trace::TraceFile& trace) {
  const Functions functions(trace.sites());
  trace::PmAddresses pm(trace.metadata());
  std::map<std::string_view, Uses> found;
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    trace::OperationStream stream(trace, thread);
    Calls calls(functions);
    Operation operation{};
    while (stream.next(operation)) {
      if (calls.follow(operation.site)) {
        Uses& uses = found[functions.name(calls.open().back())];
        const std::uint64_t depth = calls.open().size();
        uses.depth = uses.calls++ == 0 ? depth : std::min(uses.depth, depth);
      }
      const trace::SiteRecord& site = trace.sites().sites()[operation.site];
      if ((site.flags & trace::kSiteInlined) != 0) {
        ++found[trace.sites().string(site.function)].inlined;
      }
      if (!trace::stores_something(operation) || !pm.contains(operation.address)) continue;
      for (const std::uint32_t function : calls.open()) ++found[functions.name(function)].stores;
    }
  }
  std::vector<Uses> list;
  for (auto& [name, uses] : found) {
    if (name.empty()) continue;
    list.push_back(uses);
    list.back().name = name;
  }
  return list;
}

}  // namespace pmemsim::answers
