#include "pmemsim/checks/rules/persist_calls.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/analysis/contexts.hpp"
#include "pmemsim/analysis/flush_functions.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/names.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim::check {

using trace::CallMarks;
using trace::CallStack;
using trace::Contexts;
using trace::Operation;
using trace::SiteKind;

namespace {

bool stores_ordinarily(const Operation& operation) {
  return operation.kind != SiteKind::kNonTemporal && trace::stores_something(operation);
}

std::string_view instruction_name(const trace::SiteRecord& site) {
  return static_cast<SiteKind>(site.kind) == SiteKind::kFence
             ? trace::name_of(static_cast<trace::FenceKind>(site.detail))
             : trace::name_of(static_cast<trace::FlushKind>(site.detail));
}

class Reader {
 public:
  explicit Reader(const trace::TraceFile& trace)
      : trace_(trace), marks_(trace.sites()), pm_(trace.metadata()) {
    for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) read(thread);
    for (const auto& [path, executions] : executions_) {
      functions_.add_flush({path.second, path.first});
    }
    for (const auto& [site, context] : stores_) functions_.add_store({context, site});
  }

  std::vector<PersistCall> calls() const {
    // Merges executions that are one call by rules 2 and 3, whatever calls surround it.
    std::map<Key, PersistCall> found;
    for (const auto& [path, executions] : executions_) {
      const auto& [site, context] = path;
      const Contexts::Call at = in_program({context, site});
      std::vector<trace::SourceLocation> calls = through_helpers(at);
      const PersistCall first{.name = instruction_name(sites()[site]),
                              .place = trace::location_of(trace_.sites(), at.line),
                              .calls = calls,
                              .operations = {}};
      PersistCall& call =
          found.try_emplace({site, first.place, std::move(calls)}, first).first->second;
      call.operations.resize(trace_.metadata().threads);
      for (const auto& [thread, number] : executions) call.operations[thread].push_back(number);
    }
    std::vector<PersistCall> all;
    for (auto& [key, call] : found) {
      for (std::vector<std::uint64_t>& numbers : call.operations) std::ranges::sort(numbers);
      all.push_back(std::move(call));
    }
    return all;
  }

 private:
  using Path = std::pair<std::uint32_t, Contexts::Node>;  // A site and its call path
  // A site, its location outside system headers, and the calls of helpers
  using Key = std::tuple<std::uint32_t, trace::SourceLocation, std::vector<trace::SourceLocation>>;
  struct Execution {
    std::uint32_t thread;
    std::uint64_t number;
  };

  std::span<const trace::SiteRecord> sites() const { return trace_.sites().sites(); }

  void read(std::uint32_t thread) {
    CallStack stack(contexts_, trace_.sites(), marks_);
    trace::OperationStream stream(trace_, thread);
    for (Operation operation; stream.next(operation);) {
      if (operation.site >= trace::kBuiltinSites) stack.follow(operation.site);
      if (stores_ordinarily(operation) && pm_.contains(operation.address)) {
        stores_.emplace(operation.site, stack.context());
      } else if (operation.kind == SiteKind::kFlush ? pm_.contains(operation.address)
                                                    : trace::fences_stores(operation)) {
        executions_[{operation.site, stack.context()}].push_back({thread, stream.position() - 1});
      }
    }
  }

  bool in_helper(std::uint32_t line) const { return !functions_.stores(line); }

  // Returns the calling line outside system headers for a line in one.
  Contexts::Call in_program(const Contexts::Call& at) const {
    return contexts_.outside(
        at, [this](std::uint32_t line) { return trace::in_system_header(trace_.sites(), line); });
  }

  std::vector<trace::SourceLocation> through_helpers(Contexts::Call at) const {
    std::vector<trace::SourceLocation> calls;
    while (at.parent != Contexts::kRoot && in_helper(at.line)) {
      at = in_program(contexts_[at.parent]);
      calls.push_back(trace::location_of(trace_.sites(), at.line));
    }
    return calls;
  }

  const trace::TraceFile& trace_;
  CallMarks marks_;
  trace::PmAddresses pm_;
  Contexts contexts_;
  std::map<Path, std::vector<Execution>> executions_;  // Executions of flushes and fences
  std::set<Path> stores_;
  trace::FlushFunctions functions_{trace_.sites(), contexts_};  // Implements rule 1
};

}  // namespace

std::uint64_t PersistCall::executed() const {
  std::uint64_t sum = 0;
  for (const std::vector<std::uint64_t>& numbers : operations) sum += numbers.size();
  return sum;
}

std::vector<PersistCall> persist_calls(const trace::TraceFile& trace) {
  return Reader(trace).calls();
}

const PersistCall* find_call(std::span<const PersistCall> calls, std::uint32_t thread,
                             std::uint64_t number) {
  const auto found = std::ranges::find_if(calls, [&](const PersistCall& call) {
    return std::ranges::binary_search(call.operations[thread], number);
  });
  return found == calls.end() ? nullptr : &*found;
}

}  // namespace pmemsim::check
