#include "pmemsim/checks/rules/logged_regions.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/analysis/contexts.hpp"
#include "pmemsim/analysis/flush_functions.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::check {

using trace::CallMarks;
using trace::CallStack;
using trace::Contexts;
using trace::MarkKind;
using trace::Operation;
using trace::Purpose;
using trace::SiteKind;

namespace {

struct DeclaredRange {
  std::uint64_t address, bytes;
};

std::vector<Line> lines_of(const DeclaredRange& range) {
  std::vector<Line> lines;
  if (range.bytes == 0) return lines;
  const Line last = Line::of(range.address + range.bytes - 1);
  for (Line line = Line::of(range.address); line.number <= last.number; ++line.number) {
    lines.push_back(line);
  }
  return lines;
}

// State shared by all threads.
struct LoggingProgram {
  explicit LoggingProgram(const trace::TraceFile& file)
      : trace(file), marks(file.sites()), helpers(file.sites(), contexts) {}

  bool in_library(std::uint32_t line) const {
    const trace::SiteTable& sites = trace.sites();
    return sites.string(sites.line(line).file).starts_with("library/");
  }
  std::string_view function_of(std::uint32_t line) const {
    return trace.sites().string(trace.sites().line(line).function);
  }

  const trace::TraceFile& trace;
  CallMarks marks;
  Contexts contexts;
  trace::FlushFunctions helpers;                              // Implements rule 1
  std::set<std::pair<std::uint32_t, Contexts::Node>> stores;  // Sites of the program's stores
  std::vector<Contexts::Call> logs;                           // By execution
  std::vector<LoggedRegion> regions;
};

// An execution while it is read.
struct OpenExecution {
  LogExecution log;
  std::vector<DeclaredRange> declared;
  std::set<std::uint64_t> stored;               // Words that the library stores to next
  std::map<std::uint64_t, std::size_t> copies;  // Line of the copy, index of the logged line
  int fences = 0;
};

// Reads the regions of one thread.
class LoggingThread {
 public:
  LoggingThread(LoggingProgram& program, std::uint32_t number)
      : program_(program),
        pm_(program.trace.metadata()),
        stream_(program.trace, number),
        calls_(program.contexts, program.trace.sites(), program.marks),
        number_(number) {}

  void read() {
    for (Operation operation; stream_.next(operation);) {
      if (operation.site >= trace::kBuiltinSites) follow(operation.site);
      if (operation.kind == SiteKind::kMark) {
        mark(operation);
      } else if (is_pm(operation)) {
        access(operation);
      } else if (trace::fences_stores(operation)) {
        fence();
      }
    }
  }

 private:
  std::uint64_t position() const { return stream_.position() - 1; }
  LogExecution& current() { return execution_->log; }
  bool logs() const { return execution_ && purpose_ == Purpose::kLog; }

  bool is_pm(const Operation& operation) {
    return (trace::stores_something(operation) || trace::loads_something(operation) ||
            operation.kind == SiteKind::kFlush) &&
           pm_.contains(operation.address);
  }

  void follow(std::uint32_t site) {
    calls_.follow(site);
    in_library_ = program_.in_library(site);
    if (!in_library_ && execution_ && !declares_) end_execution();
  }

  void mark(const Operation& operation) {
    switch (static_cast<MarkKind>(operation.detail)) {
      case MarkKind::kRegionBegin:
        if (depth_++ == 0) region_ = {.thread = number_, .operations = {position(), 0}};
        return;
      case MarkKind::kRegionEnd:
        if (depth_ > 0 && --depth_ == 0) end_region();
        return;
      case MarkKind::kLogRange:
        return declare({operation.address, operation.second});
      case MarkKind::kPurpose:
        return change_purpose(static_cast<Purpose>(operation.address));
      case MarkKind::kAllocate:
        if (depth_ > 0) allocate({operation.address, operation.second});
        return;
      default:
        return;
    }
  }

  void declare(const DeclaredRange& range) {
    if (depth_ == 0) return;
    if (!declares_) begin_execution();
    execution_->declared.push_back(range);
  }

  // Blocks of pm_alloc are whole lines.
  void allocate(const DeclaredRange& range) {
    const DeclaredRange whole{range.address, std::max<std::uint64_t>(range.bytes, 1)};
    region_.allocated.push_back({.number = position(),
                                 .first = Line::of(whole.address),
                                 .last = Line::of(whole.address + whole.bytes - 1)});
  }

  void begin_execution() {
    end_execution();
    execution_.emplace();
    current().operations.first = position();
    declares_ = true;
    begin_ = {calls_.context(), calls_.last()};
  }

  // A change from the log to the flush of data is within an execution, which notes what its region
  // flushes at its end.
  void change_purpose(Purpose purpose) {
    const Purpose before = std::exchange(purpose_, purpose);
    if (depth_ == 0) return;
    if (purpose == Purpose::kLog && !declares_) begin_execution();
    if (declares_ && purpose != Purpose::kLog && purpose != Purpose::kDataFlush) {
      current().operations.last = position();
      declares_ = false;
    }
    if (declares_) return;
    if (purpose == Purpose::kDataFlush) flushed_ = {position(), 0};
    if (before == Purpose::kDataFlush && flushed_.first != OperationRange::kNone)
      flushed_.last = position();
    if (purpose == Purpose::kCommit) region_.commit.first = position();
    if (before == Purpose::kCommit) region_.commit.last = position();
    if (before == Purpose::kDataFlush && region_.data_fence != OperationRange::kNone &&
        region_.data.empty()) {
      region_.data = flushed_;
    }
  }

  void access(const Operation& operation) {
    if (logs()) return log_access(operation);
    if (purpose_ == Purpose::kDataFlush && operation.kind == SiteKind::kFlush && !declares_) {
      region_.data_flushes.emplace_back(position(), Line::of(operation.address));
    }
    if (!trace::stores_something(operation) || purpose_ != Purpose::kProgram) return;
    if (!in_library_) {
      program_.stores.emplace(operation.site, calls_.context());
    } else if (execution_ && !declares_) {
      execution_->stored.insert(operation.address);
    }
  }

  void log_access(const Operation& operation) {
    OpenExecution& execution = *execution_;
    const Line line = Line::of(operation.address);
    if (operation.kind == SiteKind::kCopyLoad) {
      std::vector<LoggedLine>& logged = current().logged;
      if (logged.empty() || logged.back().line != line) logged.push_back({line, {}});
      logged.back().copies.push_back(position());
    } else if (operation.kind == SiteKind::kCopyStore && !current().logged.empty()) {
      execution.copies.try_emplace(line.number, current().logged.size() - 1);
      current().logged.back().copies.push_back(position());
    } else if (operation.kind == SiteKind::kFlush) {
      const auto copy = execution.copies.find(line.number);
      if (copy != execution.copies.end()) {
        current().logged[copy->second].copies.push_back(position());
      }
    }
  }

  void fence() {
    if (logs()) {
      ++execution_->fences;
      current().fence = position();
    } else if (depth_ > 0 && purpose_ == Purpose::kDataFlush) {
      region_.data_fence = position();
    }
  }

  void end_execution() {
    if (!execution_) return;
    OpenExecution execution = std::move(*execution_);
    execution_.reset();
    declares_ = false;
    LogExecution& log = execution.log;
    log.known = execution.fences == (log.logged.empty() ? 0 : 1);
    const auto by_library = [&](const DeclaredRange& range) {
      return range.bytes == kWordBytes && execution.stored.contains(range.address);
    };
    std::size_t own = execution.declared.size();
    while (own > 0 && by_library(execution.declared[own - 1])) --own;
    for (std::size_t i = 0; i < execution.declared.size(); ++i) {
      std::vector<Line> lines = lines_of(execution.declared[i]);
      if (i < own) {
        log.ranges.push_back(std::move(lines));
      } else {
        log.of_library.insert(log.of_library.end(), lines.begin(), lines.end());
      }
    }
    add_undeclared(log);
    if (own > 0 && is_of_program()) {
      log.call = static_cast<std::uint32_t>(program_.logs.size());
      program_.logs.push_back(begin_);
      program_.helpers.add_flush(begin_);
    }
    region_.log.push_back(std::move(log));
  }

  // Adds lines that are logged, but were not declared.
  static void add_undeclared(LogExecution& log) {
    std::set<std::uint64_t> declared;
    for (const std::vector<Line>& range : log.ranges) {
      for (const Line line : range) declared.insert(line.number);
    }
    for (const LoggedLine& logged : log.logged) {
      if (!declared.contains(logged.line.number)) log.of_library.push_back(logged.line);
    }
  }

  // True if the program has called pm_log or pm_log_ranges; the allocator logs, too.
  bool is_of_program() const {
    Contexts::Call at = begin_;
    for (; program_.in_library(at.line); at = program_.contexts[at.parent]) {
      const std::string_view function = program_.function_of(at.line);
      if (function != "pm_log" && function != "pm_log_ranges" && function != "region_log" &&
          function != "mark") {
        return false;
      }
      if (at.parent == Contexts::kRoot) return false;
    }
    return true;
  }

  void end_region() {
    end_execution();
    region_.operations.last = position();
    if (!region_.log.empty()) program_.regions.push_back(std::move(region_));
    region_ = {};
    flushed_ = {};
  }

  LoggingProgram& program_;
  trace::PmAddresses pm_;
  trace::OperationStream stream_;
  CallStack calls_;
  const std::uint32_t number_;
  LoggedRegion region_{};
  std::optional<OpenExecution> execution_;
  Contexts::Call begin_{};  // Line and call path of the execution
  OperationRange flushed_;
  Purpose purpose_ = Purpose::kProgram;
  int depth_ = 0;
  bool in_library_ = false;
  bool declares_ = false;  // The execution has not ended
};

// Gives calls their numbers (rule 1).
class LogCalls {
 public:
  explicit LogCalls(LoggingProgram& program) : program_(program) {
    for (const auto& [site, context] : program.stores) program.helpers.add_store({context, site});
  }

  void number(LoggedRegions& all) {
    std::map<std::vector<std::uint32_t>, std::vector<LogExecution*>> found;  // By lines
    std::map<std::vector<trace::SourceLocation>, std::vector<std::uint32_t>> first;
    for (LoggedRegion& region : all.regions) {
      for (LogExecution& execution : region.log) {
        if (execution.call == LogExecution::kLibrary) continue;
        std::vector<std::uint32_t> lines = lines_to(program_.logs[execution.call]);
        const auto same = first.try_emplace(places_of(lines), lines).first;
        found[same->second].push_back(&execution);
      }
    }
    for (const auto& [lines, executions] : found) {
      std::vector<trace::SourceLocation> places = places_of(lines);
      const Contexts::Call& begin = program_.logs[executions.front()->call];
      LogCall call{.name = name_of(begin), .place = places.front(), .calls = {}};
      call.calls.assign(places.begin() + 1, places.end());
      for (LogExecution* execution : executions) {
        execution->call = static_cast<std::uint32_t>(all.calls.size());
      }
      all.calls.push_back(std::move(call));
    }
  }

 private:
  Contexts::Call in_program(const Contexts::Call& at) const {
    return program_.contexts.outside(at, [this](std::uint32_t line) {
      return program_.in_library(line) || trace::in_system_header(program_.trace.sites(), line);
    });
  }

  std::vector<std::uint32_t> lines_to(const Contexts::Call& begin) const {
    Contexts::Call at = in_program(begin);
    std::vector<std::uint32_t> lines = {at.line};
    while (at.parent != Contexts::kRoot && !program_.helpers.stores(at.line)) {
      at = in_program(program_.contexts[at.parent]);
      lines.push_back(at.line);
    }
    return lines;
  }

  std::vector<trace::SourceLocation> places_of(const std::vector<std::uint32_t>& lines) const {
    std::vector<trace::SourceLocation> places;
    for (const std::uint32_t line : lines) {
      places.push_back(trace::location_of(program_.trace.sites(), line));
    }
    return places;
  }

  std::string_view name_of(Contexts::Call at) const {
    for (; program_.in_library(at.line); at = program_.contexts[at.parent]) {
      if (program_.function_of(at.line) == "pm_log") return "pm_log";
    }
    return "pm_log_ranges";
  }

  LoggingProgram& program_;
};

}  // namespace

LoggedRegions logged_regions(const trace::TraceFile& trace) {
  LoggingProgram program(trace);
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    LoggingThread(program, thread).read();
  }
  LoggedRegions all{.calls = {}, .regions = std::move(program.regions)};
  LogCalls(program).number(all);
  return all;
}

}  // namespace pmemsim::check
