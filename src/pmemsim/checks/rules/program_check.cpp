#include "pmemsim/checks/rules/program_check.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/analysis/race_table.hpp"
#include "pmemsim/analysis/turns.hpp"
#include "pmemsim/checks/rules/allocations.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/flushed_later.hpp"
#include "pmemsim/checks/rules/late_stores.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/never_flushed.hpp"
#include "pmemsim/checks/rules/race_check.hpp"
#include "pmemsim/checks/rules/read_check.hpp"
#include "pmemsim/checks/rules/read_values.hpp"
#include "pmemsim/checks/rules/redo_copies.hpp"
#include "pmemsim/checks/rules/region_check.hpp"
#include "pmemsim/checks/rules/reply_check.hpp"
#include "pmemsim/checks/rules/stored_references.hpp"
#include "pmemsim/checks/rules/touched.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim::check {
namespace {

using trace::CallStack;
using trace::MarkKind;
using trace::Operation;
using trace::Purpose;
using trace::SiteKind;

constexpr std::string_view kHeap = "--pm-heap";
// Bits of a pointer to 8 B that its address doesn't need.
constexpr std::uint64_t kTagBits = ~(trace::kMaxAddress - kWordBytes);

bool has_replies(const trace::TraceFile& file) {
  const trace::SiteRecord& site = file.sites().sites()[trace::mark_site(MarkKind::kReply)];
  return site.kind == static_cast<std::uint8_t>(SiteKind::kMark);
}

bool is_heap_pm(const trace::Metadata& metadata) {
  const auto is_heap = [](const trace::PmRegion& region) { return region.source == kHeap; };
  return std::ranges::any_of(metadata.pm_regions, is_heap);
}

// State shared by all threads.
struct Program {
  Program(const trace::TraceFile& file, const Options& options)
      : trace(file),
        call_marks(file.sites()),
        findings(file.sites()),
        order(file.metadata().threads, file.metadata().sync_objects),
        whole_heap(is_heap_pm(file.metadata())),
        allocations(findings, order, file.metadata(), whole_heap),
        logged(file.metadata()),
        references(file.metadata().pm_regions, file.sites().sites().size()),
        redo(file.metadata().log() == trace::ProgramLog::kRedo),
        follows_values(file.metadata().threads > 1 || has_replies(file)),
        checks_replies(has_replies(file) && !options.eadr),
        waits(trace::stored_races(file).value_or(trace::RaceWaits(file.metadata().threads))),
        finds_races(file.metadata().threads > 1 && !options.eadr) {
    flushes.eadr = options.eadr;
    flushes.memory = &memory;
    flushes.redo_copies = &redo_copies;
    trace::for_each_image_page(file, [&](std::uint64_t address, std::span<const std::byte> page) {
      memory.write(address, page.data(), page.size());
    });
  }

  const trace::TraceFile& trace;
  CallMarks call_marks;
  Findings findings;
  HappensBefore order;
  // The whole heap is persistent: the program was not written for persistent memory.
  bool whole_heap;
  Allocations allocations;
  LoggedBytes logged;
  FlushCheck::Shared flushes;
  RegionCheck::Shared regions;
  FlushedLater flushed_later{findings, flushes.lines};
  RaceCheck::Shared races;
  Image memory;
  LateStores::Shared late_stores{findings, flushed_later, flushes.lines, allocations, memory};
  std::vector<FlushCheck*> threads;  // By number
  LineTable<bool> log_lines;         // Lines that a software log has written
  Touched touched;                   // Volatile memory that the program has accessed
  Touched loaded;                    // PM that the program has loaded from
  StoredReferences references;
  RedoCopies redo_copies{trace.metadata().pm_regions, order, memory};
  bool redo;
  bool follows_values;  // The data flow from PM is known
  bool checks_replies;
  trace::RaceWaits waits;
  bool finds_races;
  Report report;
};

// Processes one thread's operations.
class Thread {
 public:
  Thread(Program& program, CoreId number)
      : program_(program),
        pm_(program.trace.metadata()),
        stream_(program.trace, number),
        calls_(program.findings.contexts(), program.trace.sites(), program.call_marks),
        flushes_(program.findings, program.flushes, program.allocations, program.order, number),
        regions_(program.findings, program.regions, program.order, number, program.redo,
                 program.logged),
        values_(program.flushes.lines, program.trace.sites(), program.order, number,
                program.checks_replies),
        reads_(program.flushed_later, program.flushes.lines, flushes_, values_),
        replies_(program.flushed_later, program.flushes.lines, flushes_, values_,
                 program.late_stores, program.order, number),
        races_(program.findings, program.races, program.order, program.trace, number),
        number_(number) {
    program.threads.push_back(&flushes_);
    await_next();
    more_ = stream_.next(operation_);
  }

  // Executes operations until the thread must wait, has ended, or has executed `most` operations.
  // Returns their number.
  std::uint64_t advance(std::uint64_t most) {
    std::uint64_t count = 0;
    while (more_ && count < most && program_.order.may_execute(operation_)) {
      execute();
      if (position() == next_wait_) end_waits();
      more_ = stream_.next(operation_);
      ++count;
    }
    return count;
  }
  // Returns the number of the current operation; nothing if the thread has ended.
  std::optional<std::uint64_t> next() const {
    return more_ ? std::optional(position()) : std::nullopt;
  }
  // Call it when all threads have ended: until then, another thread may execute a fence after this
  // thread's flushes.
  void end() {
    flushes_.end(at());
    reads_.end();
    replies_.stores().end();
  }

 private:
  std::uint64_t position() const { return stream_.position() - 1; }

  // Notes the waits of the executed operation.
  void end_waits() {
    const std::vector<trace::RaceWait>& waits = program_.waits[number_];
    for (; waited_ < waits.size() && waits[waited_].number == next_wait_; ++waited_) {
      if (program_.finds_races) races_.wait(at(), waits[waited_].thread, waits[waited_].count);
    }
    await_next();
  }
  void await_next() {
    const std::vector<trace::RaceWait>& waits = program_.waits[number_];
    next_wait_ = waited_ < waits.size() ? waits[waited_].number : UINT64_MAX;
  }

  void synchronise() {
    if (program_.finds_races) races_.acquire(at(), operation_);
    program_.order.synchronise(number_, operation_);
  }

  // Returns the current operation, or the last one that has a source location.
  At at() const { return {number_, calls_.last(), calls_.context(), position()}; }
  bool by_program() const { return purpose_ == Purpose::kProgram; }
  bool by_program_itself() const {
    return by_program() && !program_.findings.in_library(operation_.site);
  }

  void execute() {
    if (operation_.site >= trace::kBuiltinSites) calls_.follow(operation_.site);
    program_.report.instructions += operation_.instructions;
    switch (operation_.kind) {
      case SiteKind::kLoad:
      case SiteKind::kCopyLoad:
        return load();
      case SiteKind::kAtomicLoad:
        if (is_pm_load()) find_race(at());
        synchronise();
        return load();
      case SiteKind::kStore:
      case SiteKind::kCopyStore:
      case SiteKind::kNonTemporal:
        return store();
      case SiteKind::kAtomicStore:
      case SiteKind::kAtomicUpdate:
        return atomic();
      case SiteKind::kFlush:
        return flush();
      case SiteKind::kFence:
        return fence();
      case SiteKind::kMark:
        return mark();
      case SiteKind::kSync:
        return sync();
      case SiteKind::kBranch:
      case SiteKind::kIndirectBranch:
        return branch();
      default:
        return;
    }
  }

  // The store of a locked instruction is after the instruction's fence. A thread that reads the
  // store sees all operations before the fence.
  void atomic() {
    if ((operation_.site_flags & trace::kSiteFullFence) != 0) pass_fence(false);
    if (trace::writes_atomic(operation_)) store();
    synchronise();
  }

  bool is_pm_load() { return pm_.contains(operation_.address) && by_program_itself(); }
  void find_race(const At& now) {
    if (program_.finds_races) races_.load_pm(now, operation_);
  }

  void load() {
    if (!pm_.contains(operation_.address)) {
      program_.touched.add(operation_.address);
      load_volatile();
      return;
    }
    if (!by_program_itself()) return;
    program_.loaded.add(operation_.address);
    const At now = at();
    program_.allocations.access(now, operation_.address, operation_.size, Reason::kLoaded);
    const std::uint64_t bytes =
        std::min<std::uint64_t>(operation_.size, kLineBytes - operation_.address % kLineBytes);
    if (program_.follows_values) values_.load_pm(now, operation_.address, bytes);
    if (operation_.kind != SiteKind::kAtomicLoad) find_race(now);
  }

  void load_volatile() {
    if (program_.follows_values) {
      values_.load_volatile(at(), operation_.address, operation_.size);
    }
    if (program_.finds_races)
      races_.load_volatile(calls_.last(), operation_.address, operation_.size);
  }

  void store_volatile() {
    if (program_.follows_values) {
      values_.store_volatile(at(), operation_.address, operation_.size);
    }
    if (program_.finds_races)
      races_.store_volatile(calls_.last(), operation_.address, operation_.size);
  }

  void store() {
    if (!pm_.contains(operation_.address)) {
      program_.touched.add(operation_.address);
      store_volatile();
      return;
    }
    ++program_.report.pm_stores;
    const At now = at();
    const bool lock = operation_.kind >= SiteKind::kAtomicStore &&
                      operation_.kind <= SiteKind::kAtomicUpdate &&
                      operation_.detail != static_cast<std::uint8_t>(trace::LockRole::kNone);
    const FlushCheck::By by{by_program_itself(), regions_.open(), lock};
    if (by.program) store_of_program(now, by);
    check_pointers(now, by);
    note_reference();
    store_lines(now, by);
    if (by.program && !by.in_region && !by.lock) store_outside_regions(now);
    program_.memory.write(operation_.address, operation_.value, operation_.size);
  }

  void store_outside_regions(const At& now) {
    if (program_.checks_replies) {
      replies_.stores().store(now, operation_.address, operation_.size);
    }
    if (program_.flushes.eadr) return;
    program_.redo_copies.store(now, program_.findings.place_of(now), program_.flushes.lines,
                               operation_.address,
                               {operation_.value, static_cast<std::size_t>(operation_.size)});
  }

  void store_of_program(const At& now, FlushCheck::By by) {
    program_.allocations.access(now, operation_.address, operation_.size, Reason::kStored);
    if (by.in_region) {
      regions_.store(now, operation_.address, operation_.size);
    } else if (program_.follows_values && !reads_.store_pm(now, operation_.address) &&
               program_.finds_races) {
      races_.depend(now, operation_);
    }
  }

  void store_lines(const At& now, FlushCheck::By by) {
    const FlushCheck::Change change = change_of(by);
    std::uint64_t address = operation_.address;
    const std::uint64_t end = address + operation_.size;
    while (address < end) {
      const std::uint64_t bytes = std::min(end - address, kLineBytes - address % kLineBytes);
      if (operation_.kind == SiteKind::kNonTemporal) {
        flushes_.store_past_caches(now, address, bytes, by);
      } else {
        flushes_.store(now, address, bytes, by, change);
      }
      if (program_.finds_races) note_for_races(now, address, bytes, by, change);
      if (purpose_ == Purpose::kLog && program_.log_lines.find(Line::of(address)) == nullptr) {
        program_.log_lines.insert(Line::of(address)) = true;
      }
      address += bytes;
    }
  }

  void note_for_races(const At& now, std::uint64_t address, std::uint64_t bytes, FlushCheck::By by,
                      FlushCheck::Change change) {
    if (!by.program || by.in_region || by.lock) {
      races_.ignore_store(address);
    } else if (operation_.kind == SiteKind::kNonTemporal) {
      races_.store_past_caches(now, address, bytes);
    } else {
      races_.store(now, address, bytes,
                   {.plain = operation_.kind == SiteKind::kStore,
                    .clears_tags = change == FlushCheck::Change::kTagsCleared});
    }
  }

  FlushCheck::Change change_of(FlushCheck::By by) {
    using enum FlushCheck::Change;
    const bool word =
        (operation_.size == 8 || operation_.size == 4) && operation_.address % operation_.size == 0;
    if (!by.program || by.in_region || by.lock || !word) return kOther;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    const LineData line = program_.memory.read(Line::of(operation_.address));
    std::memcpy(&before, line.data() + operation_.address % kLineBytes, operation_.size);
    std::memcpy(&after, operation_.value, operation_.size);
    if (after == 0) return kZeroed;
    if (after == before + 1) return after % 2 != 0 ? kToOdd : kToEven;
    const bool cleared = before != after && (before & after) == after;
    const bool tags_alone = ((before ^ after) & ~kTagBits) == 0;
    return cleared && tags_alone && pm_.contains(before & ~kTagBits) ? kTagsCleared : kOther;
  }

  // True if the access is one aligned word. A copy does not count: the program may never have
  // written the copied words.
  bool is_word() const {
    return operation_.size == kWordBytes && operation_.kind != SiteKind::kCopyStore &&
           operation_.address % kWordBytes == 0;
  }

  // Checks the stored words that may be pointers.
  void check_pointers(const At& now, FlushCheck::By by) {
    for (std::uint32_t i = 0; i + kWordBytes <= operation_.size; i += kWordBytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, operation_.value + i, sizeof(word));
      const std::uint64_t address = operation_.address + i;
      if (word >= trace::kMaxAddress || word < kLowestPointer) continue;
      if (pm_.contains(word)) {
        flushes_.publish(now, address, word, by);
        if (program_.follows_values) reads_.publish(address, word);
        const bool torn = operation_.kind == SiteKind::kStore && operation_.size == kWordBytes &&
                          address % kWordBytes != 0;
        if (torn && by.program && !by.in_region) {
          program_.findings.add(Kind::kTornPublish, Reason::kNone, now);
        }
      } else if (by.program && is_word() && !program_.whole_heap &&
                 program_.touched.contains(word)) {
        program_.findings.add(Kind::kVolatilePointer, Reason::kNone, now);
      }
    }
  }

  void note_reference() {
    if (operation_.size != kWordBytes || operation_.address % kWordBytes != 0) return;
    std::uint64_t word = 0;
    std::memcpy(&word, operation_.value, sizeof(word));
    program_.references.store(operation_.site, operation_.address, word, program_.flushes.lines);
  }

  void flush() {
    ++program_.report.flushes;
    if (pm_.contains(operation_.address)) {
      if (program_.finds_races) races_.flush(operation_.address);
      flushes_.flush(at(), operation_.address, static_cast<trace::FlushKind>(operation_.detail),
                     by_program());
    } else {
      flushes_.flush_outside(at(), by_program());
    }
  }

  void fence() {
    const auto kind = static_cast<trace::FenceKind>(operation_.detail);
    if (kind == trace::FenceKind::kLfence) return;
    ++program_.report.fences;
    const auto meaning = std::exchange(next_fence_, trace::FenceMeaning::kBare);
    pass_fence(kind == trace::FenceKind::kSfence && by_program() &&
               meaning == trace::FenceMeaning::kBare);
  }
  void pass_fence(bool checked) {
    const At now = at();
    flushes_.fence(now, checked);
    if (program_.checks_replies) replies_.stores().fence();
    if (program_.finds_races) races_.fence(now);
    for (FlushCheck* const other : program_.threads) {
      if (other != &flushes_) other->other_fence(now);
    }
  }

  void mark() {
    switch (static_cast<MarkKind>(operation_.detail)) {
      case MarkKind::kRoiBegin:
        return begin_measured_part();
      case MarkKind::kRegionBegin:
        if (!regions_.open()) flushes_.region_begin(at());
        return regions_.begin();
      case MarkKind::kRegionEnd:
        return end_region();
      case MarkKind::kLogRange:
        return regions_.declare(at(), operation_.address, operation_.second);
      case MarkKind::kPurpose:
        purpose_ = static_cast<Purpose>(operation_.address);
        return;
      case MarkKind::kNextFence:
        next_fence_ = static_cast<trace::FenceMeaning>(operation_.address);
        return;
      case MarkKind::kReply:
        return reply();
      case MarkKind::kRequest:
        return replies_.request(operation_.address, operation_.second);
      case MarkKind::kAllocate:
        ++program_.report.allocations;
        flushes_.allocated(operation_.address, operation_.second);
        program_.allocations.allocate(at(), operation_.address, operation_.second, regions_.open());
        return regions_.allocated(operation_.address, operation_.second);
      case MarkKind::kFree:
        return program_.allocations.free(at(), operation_.address, operation_.second,
                                         regions_.open());
      default:
        return;
    }
  }

  // Most recordings begin with this mark; some contain operations before it, too.
  void begin_measured_part() {
    if (program_.report.pm_stores > 0) return;
    program_.report.from_the_start = false;
    program_.flushes.from_the_start = false;
  }

  void end_region() {
    regions_.end();
    if (regions_.open()) return;
    ++program_.report.regions;
    flushes_.region_end(at());
    program_.allocations.region_ended(number_);
    replies_.stores().region_end();
  }

  void branch() {
    if (program_.checks_replies) replies_.branch(at());
    if (program_.finds_races) races_.branch(operation_.site, operation_.flag);
  }

  void reply() {
    const bool last = (operation_.second & trace::kReplyContinues) == 0;
    if (last) ++program_.report.replies;
    if (!program_.checks_replies) return;
    const auto to = static_cast<trace::ReplyTo>(operation_.second >> 32 & UINT8_MAX);
    replies_.reply(at(), {.address = operation_.address,
                          .bytes = operation_.second & UINT32_MAX,
                          .in_pm = pm_.contains(operation_.address),
                          .to_file = to == trace::ReplyTo::kFile,
                          .last = last});
  }

  // Releases a lock after the check of the flushes in its critical section. A thread that acquires
  // a lock sees all operations before the release.
  void sync() {
    const auto kind = static_cast<trace::SyncKind>(operation_.detail);
    const bool by_function = !operation_.flag;
    if (trace::is_unlock(kind)) flushes_.unlock(at(), by_function);
    synchronise();
    if (trace::is_lock(kind) && !trace::is_companion(kind, operation_.address)) {
      flushes_.lock(at(), by_function);
    }
  }

  Program& program_;
  trace::PmAddresses pm_;
  trace::OperationStream stream_;
  CallStack calls_;
  FlushCheck flushes_;
  RegionCheck regions_;
  ReadValues values_;
  ReadCheck reads_;
  ReplyCheck replies_;
  RaceCheck races_;
  const CoreId number_;
  Operation operation_{};
  bool more_ = false;
  std::size_t waited_ = 0;                // Number of waits for racing accesses that have ended
  std::uint64_t next_wait_ = UINT64_MAX;  // Number of the operation with the next wait
  Purpose purpose_ = Purpose::kProgram;
  trace::FenceMeaning next_fence_ = trace::FenceMeaning::kBare;
};

class Walk {
 public:
  explicit Walk(Program& program) : program_(program) {
    for (CoreId thread = 0; thread < program.trace.metadata().threads; ++thread) {
      threads_.push_back(std::make_unique<Thread>(program, thread));
      all_ += program.trace.operations(thread);
    }
  }

  void go(const std::function<bool(double)>& progress) {
    trace::Turns turns(program_.trace);
    if (turns.recorded()) {
      go_in_recorded_order(turns, progress);
    } else {
      go_in_any_order(progress);
    }
    for (const auto& thread : threads_) thread->end();
  }

 private:
  static constexpr std::uint64_t kStep = 1 << 16;  // Operations between two calls of progress()

  void go_in_recorded_order(trace::Turns& turns, const std::function<bool(double)>& progress) {
    const auto pending = [this](std::uint32_t thread) { return threads_[thread]->next(); };
    std::uint64_t reported = 0;
    while (const auto next = turns.next(pending)) {
      Thread& thread = *threads_[next->thread];
      advance(thread, next->turn.end - *thread.next());
      if (thread.next() && *thread.next() < next->turn.end) fail_deadlocked();
      if (program_.report.operations - reported < kStep) continue;
      reported = program_.report.operations;
      report(progress);
    }
  }

  void go_in_any_order(const std::function<bool(double)>& progress) {
    const auto ended = [](const auto& thread) { return !thread->next(); };
    while (!std::ranges::all_of(threads_, ended)) {
      const std::uint64_t before = program_.report.operations;
      for (const auto& thread : threads_) {
        advance(*thread, kStep);
        report(progress);
      }
      if (program_.report.operations == before) fail_deadlocked();
    }
  }

  void advance(Thread& thread, std::uint64_t most) {
    program_.report.operations += thread.advance(most);
  }
  void report(const std::function<bool(double)>& progress) const {
    if (!progress(static_cast<double>(program_.report.operations) / static_cast<double>(all_))) {
      throw Interrupted("the check was interrupted");
    }
  }
  [[noreturn]] void fail_deadlocked() const {
    throw trace::TraceError(
        fmt::format("{}: the threads are deadlocked; record it again", program_.trace.path()));
  }

  Program& program_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::uint64_t all_ = 0;
};

}  // namespace

Report check_program(const trace::TraceFile& trace, const Options& options,
                     const std::function<bool(double)>& progress) {
  Program program(trace, options);
  Walk(program).go(progress);
  FlushCheck::finish(program.findings, program.flushes);
  report_never_flushed({.findings = program.findings,
                        .lines = program.flushes.lines,
                        .allocations = program.allocations,
                        .references = program.references,
                        .redo_copies = program.redo_copies,
                        .memory = program.memory,
                        .loaded = program.loaded});
  LateStores::finish(program.late_stores);
  program.flushed_later.finish();
  RaceCheck::finish(program.findings, program.races, program.call_marks);
  if (program.allocations.any()) {
    program.allocations.find_leaks(program.memory, program.log_lines);
  }
  program.report.findings = program.findings.list(options.each_path);
  program.report.all_in_vain = program.flushes.all_in_vain;
  return std::move(program.report);
}

}  // namespace pmemsim::check
