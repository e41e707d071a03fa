#include "pmemsim/crash/program_history.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/analysis/races.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim {

using trace::MarkKind;
using trace::Operation;
using trace::SiteKind;

// Processes one thread's operations.
class ProgramHistory::Thread {
 public:
  Thread(ProgramHistory& history, const trace::TraceFile& file, CoreId number,
         const trace::Races& races, const Lowering& lowering, const Guarantees& guarantees,
         HappensBefore& order, Image& newest)
      : history_(history),
        pm_(file.metadata()),
        stream_(file, number, lowering,
                {.region_fences = guarantees.after_guarantees, .allocations = true}),
        number_(number),
        guarantees_(guarantees),
        order_(order),
        newest_(newest),
        left_out_(guarantees.without, number),
        first_race_object_(file.metadata().sync_objects),
        awaited_(races.awaited(number)),
        races_(races.of(number)),
        followed_guarantees_(file.metadata().threads) {
    read();
  }

  // Executes operations until the thread must wait for another one or has ended. True if it
  // executed any.
  bool advance() {
    bool moved = false;
    while (more_ && order_.may_execute(operation_) && passes_races()) {
      execute();
      read();
      moved = true;
    }
    return moved;
  }
  bool ended() const { return !more_; }
  // A thread may end inside a region, which is not guaranteed persistent then.
  void end() {
    if (region_ != kNone) history_.units_[region_].ended = false;
    finish_region();
  }

 private:
  struct Allocation {
    std::uint64_t address, bytes;
  };

  void read() {
    do {
      more_ = stream_.next(operation_);
    } while (more_ && left_out_.leaves_out(stream_.position() - 1));
    const std::uint64_t executed = stream_.position() - (more_ ? 1 : 0);
    while (!awaited_.empty() && awaited_.front() <= executed) {
      order_.release(number_, race_object(number_), ++passed_points_);
      awaited_ = awaited_.subspan(1);
    }
  }

  // Racing accesses synchronise, too, in their recorded order (analysis/races.hpp).
  std::uint32_t race_object(CoreId thread) const { return first_race_object_ + thread; }
  bool passes_races() {
    while (!races_.empty() && races_.front().number < stream_.position()) {
      const trace::Races::Wait& wait = races_.front();
      const std::uint32_t object = race_object(wait.thread);
      if (order_.version(object) < wait.version) return false;
      order_.acquire(number_, object, wait.version);
      if (guarantees_.after_guarantees) follow_other_threads();
      races_ = races_.subspan(1);
    }
    return true;
  }

  void execute() {
    order_.synchronise(number_, operation_);
    if (guarantees_.after_guarantees && trace::synchronises(operation_)) follow_other_threads();
    switch (operation_.kind) {
      case SiteKind::kMark:
        return mark();
      case SiteKind::kLoad:
      case SiteKind::kCopyLoad:
      case SiteKind::kAtomicLoad:
        return load();
      case SiteKind::kStore:
      case SiteKind::kCopyStore:
      case SiteKind::kAtomicStore:
        return store();
      case SiteKind::kNonTemporal:
        store();
        return flush();
      case SiteKind::kAtomicUpdate:
        load();
        if (operation_.flag) store();
        return;
      case SiteKind::kFlush:
        return flush();
      case SiteKind::kFence:
        return fence();
      default:
        return;
    }
  }

  void mark() {
    switch (static_cast<MarkKind>(operation_.detail)) {
      case MarkKind::kRegionBegin:
        return begin_region();
      case MarkKind::kRegionEnd:
        return end_region();
      case MarkKind::kFenceRegions:
        return fence_regions();
      case MarkKind::kAllocate:
        if (region_ == kNone) return;
        allocated_.push_back({operation_.address, whole_lines(operation_.second)});
        history_.allocations_[operation_.address] = whole_lines(operation_.second);
        return;
      case MarkKind::kFree:
        return free_memory();
      default:
        return;
    }
  }

  bool programs() {
    return stream_.purpose() == trace::Purpose::kProgram && pm_.contains(operation_.address);
  }

  // The unit of a region exists from its beginning on, since other threads may read its stores
  // before its end.
  void begin_region() {
    if (!guarantees_.promises.whole_regions) return;
    std::vector<UnitId>& own = history_.regions_[number_];
    region_ = new_unit(own.size() + 1);
    if (!own.empty()) follows_.push_back(own.back());
    follow_order();
    own.push_back(region_);
  }

  // Makes later operations of this thread follow its last fence and, where stores persist in order,
  // all words of its last store. These words have no order among themselves, since a bank may tear
  // a line.
  void follow_order() {
    if (fence_ != kNone) follows_.push_back(fence_);
    if (guarantees_.promises.stores_in_order) {
      follows_.insert(follows_.end(), last_store_.begin(), last_store_.end());
    }
  }

  void load() {
    if (!programs()) return;
    for_each_word([&](std::uint64_t address) {
      if (region_ != kNone) follow_writer(address);
      if (guarantees_.promises.reads_in_order) follow_what_was_read(address);
    });
  }

  void store() {
    if (!programs()) return;
    newest_.write(operation_.address, operation_.value, operation_.size);
    for_each_word([&](std::uint64_t address) {
      if (region_ != kNone) {
        store_inside_line(address);
      } else {
        store_outside(address);
      }
    });
    if (storing_.empty()) return;
    last_store_ = std::exchange(storing_, {});
    if (guarantees_.promises.caches_persist) guarantee(GuaranteedBy::kStore, last_store_);
  }

  template <class Visit>
  void for_each_word(Visit visit) const {
    const std::uint64_t last = (operation_.address + operation_.size - 1) / kWordBytes;
    for (std::uint64_t word = operation_.address / kWordBytes; word <= last; ++word) {
      visit(word * kWordBytes);
    }
  }

  UnitId last_writer(std::uint64_t address) const {
    const LineWords* words = history_.line(Line::of(address));
    if (words == nullptr) return kNone;
    const WordId word = (*words)[address % kLineBytes / kWordBytes];
    return word == kNone ? kNone : history_.words_[word].versions.back().unit;
  }

  // A region follows the last writer of each word that it reads or writes, if that is a region.
  void follow_writer(std::uint64_t address) {
    const UnitId writer = last_writer(address);
    if (writer == kNone || writer == region_ || history_.units_[writer].region == 0) return;
    follows_.push_back(writer);
  }

  // Makes later operations of this thread follow the unit that it has read from, as if a fence
  // followed that unit.
  void follow_what_was_read(std::uint64_t address) {
    const UnitId writer = last_writer(address);
    if (writer == kNone || writer == read_ || history_.units_[writer].thread == number_) return;
    if (!happened(writer)) return;
    read_ = writer;
    std::vector<UnitId> follows{writer};
    if (fence_ != kNone) follows.push_back(fence_);
    fence_ = new_fence(follows);
    if (region_ != kNone) follows_.push_back(fence_);
  }

  std::uint64_t value(std::uint64_t address) const {
    std::uint64_t value = 0;
    const LineData line = newest_.read(Line::of(address));
    std::memcpy(&value, line.data() + address % kLineBytes, kWordBytes);
    return value;
  }

  UnitId new_unit(std::uint64_t region) {
    const auto unit = static_cast<UnitId>(history_.units_.size());
    history_.units_.push_back({.thread = number_, .epoch = order_.now(number_), .region = region});
    return unit;
  }

  static std::uint64_t whole_lines(std::uint64_t bytes) {
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  bool allocated_here(std::uint64_t address) const {
    return std::any_of(allocated_.begin(), allocated_.end(), [&](const Allocation& allocation) {
      return address - allocation.address < allocation.bytes;
    });
  }

  Write new_version(UnitId unit, WordId word, std::uint64_t address) {
    auto& versions = history_.words_[word].versions;
    if (allocated_here(address)) versions.back().free = true;
    versions.push_back({unit, value(address)});
    return {word, static_cast<std::uint32_t>(versions.size() - 1), operation_.site};
  }

  // The region writes the whole line if a crash may leave the line unreadable before its commit.
  void store_inside_line(std::uint64_t address) {
    if (guarantees_.lines_readable || !allocated_here(address)) return store_inside(address);
    const std::uint64_t line = Line::of(address).address();
    for (std::uint64_t at = 0; at < kLineBytes; at += kWordBytes) store_inside(line + at);
  }

  void store_inside(std::uint64_t address) {
    const WordId word = history_.find_word(address);
    const auto known = written_.find(word);
    if (known == written_.end()) {
      follow_writer(address);
      written_.emplace(word, writes_.size());
      writes_.push_back(new_version(region_, word, address));
    } else {
      Write& write = writes_[known->second];
      write.site = operation_.site;
      history_.words_[word].versions[write.version].value = value(address);
    }
  }

  // Freeing counts as a store of any value to each word. The size of memory allocated before the
  // recording is unknown. Such memory becomes free when it is allocated again.
  void free_memory() {
    const auto found = history_.allocations_.find(operation_.address);
    if (region_ == kNone || found == history_.allocations_.end()) return;
    const std::uint64_t end = found->first + found->second;
    for (std::uint64_t address = found->first; address < end; address += kLineBytes) {
      if (const LineWords* const words = history_.line(Line::of(address))) free_line(*words);
    }
    history_.allocations_.erase(found);
  }
  void free_line(const LineWords& words) {
    for (const WordId word : words) {
      if (word == kNone) continue;
      auto& versions = history_.words_[word].versions;
      if (versions.back().unit != region_) {
        versions.push_back({region_, versions.back().value});
        writes_.push_back({word, static_cast<std::uint32_t>(versions.size() - 1), operation_.site});
        written_.emplace(word, writes_.size() - 1);
      }
      versions.back().free = true;
    }
  }

  void store_outside(std::uint64_t address) {
    const UnitId unit = new_unit(0);
    const WordId word = history_.find_word(address);
    const UnitId before = history_.words_[word].versions.back().unit;
    if (before != kNone && history_.units_[before].region == 0) follows_.push_back(before);
    if (guarantees_.lines_whole) follow_line(Line::of(address), unit);
    follow_order();
    follow_guarantees();
    storing_.push_back(unit);
    if (guarantees_.promises.fences == FencePromise::kStores) stored_.push_back(unit);
    writes_.push_back(new_version(unit, word, address));
    finish(unit);
  }

  void follow_line(Line line, UnitId unit) {
    for (auto* const last_of_line : {&last_of_line_, &history_.last_of_line_}) {
      UnitId& last = last_of_line->try_emplace(line.number, unit).first->second;
      if (last != unit && happened(last)) follows_.push_back(last);
      last = unit;
    }
  }
  // True if the unit certainly happened before this thread's current operation.
  bool happened(UnitId unit) const {
    const Unit& found = history_.units_[unit];
    return order_.before(found.thread, found.epoch, number_);
  }

  void end_region() {
    const UnitId region = region_;
    finish_region();
    if (region == kNone || guarantees_.promises.regions != RegionPromise::kAtEnd) return;
    guarantee(GuaranteedBy::kRegionEnd, {region});
  }

  // Guarantees the regions before the open one.
  void fence_regions() {
    const std::vector<UnitId>& own = history_.regions_[number_];
    const std::size_t ended = own.size() - (region_ != kNone ? 1 : 0);
    if (ended > 0) guarantee(GuaranteedBy::kRegionsFence, {own[ended - 1]});
  }

  void finish_region() {
    if (region_ == kNone) return;
    follow_guarantees();
    std::sort(follows_.begin(), follows_.end());
    follows_.erase(std::unique(follows_.begin(), follows_.end()), follows_.end());
    finish(region_);
    written_.clear();
    allocated_.clear();
    region_ = kNone;
  }

  void finish(UnitId number) {
    finish(number, writes_, follows_);
    writes_.clear();
    follows_.clear();
  }
  void finish(UnitId number, std::span<const Write> writes, std::span<const UnitId> follows) {
    Unit& unit = history_.units_[number];
    unit.first_write = static_cast<std::uint32_t>(history_.writes_.size());
    unit.writes = static_cast<std::uint32_t>(writes.size());
    unit.first_follows = static_cast<std::uint32_t>(history_.follows_.size());
    unit.follows = static_cast<std::uint32_t>(follows.size());
    history_.writes_.insert(history_.writes_.end(), writes.begin(), writes.end());
    history_.follows_.insert(history_.follows_.end(), follows.begin(), follows.end());
  }

  void flush() {
    if (guarantees_.promises.fences == FencePromise::kNothing) return;
    const LineWords* const words = history_.line(Line::of(operation_.address));
    if (words == nullptr) return;
    const bool with_commit = guarantees_.promises.commits_cover_flushes && written_here(*words);
    for (const WordId word : *words) {
      if (word == kNone) continue;
      const UnitId last = history_.words_[word].versions.back().unit;
      if (last == kNone || history_.units_[last].region != 0 || !happened(last)) continue;
      (with_commit ? follows_ : flushed_).push_back(last);
    }
  }
  // True if the open region has written a word of the line.
  bool written_here(const LineWords& words) const {
    return region_ != kNone && std::any_of(words.begin(), words.end(), [&](WordId word) {
             return word != kNone && written_.contains(word);
           });
  }

  // Processes a fence of a kind that the design counts (Design::fence).
  void fence() {
    if (static_cast<trace::FenceKind>(operation_.detail) == trace::FenceKind::kLfence) return;
    if (guarantees_.promises.fences != FencePromise::kNothing) cover_stores();
    history_.fences_[number_].push_back(covered_);
    if (makes_durable() && covered_ != kNone) guarantee(GuaranteedBy::kFence, {covered_});
  }
  // True if the fence makes stores durable before the thread continues.
  bool makes_durable() const {
    return guarantees_.promises.fences == FencePromise::kFlushed ||
           stream_.fence_meaning() != trace::FenceMeaning::kOrder;
  }
  // A fence that covers all stores needs only the last store, where stores persist in order.
  void cover_stores() {
    if (guarantees_.promises.stores_in_order) {
      flushed_.insert(flushed_.end(), last_store_.begin(), last_store_.end());
    } else {
      flushed_.insert(flushed_.end(), stored_.begin(), stored_.end());
    }
    stored_.clear();
    if (!flushed_.empty()) add_fence();
  }
  // The fence guarantees nothing about other threads' stores. Operations after it still follow the
  // stores that this thread has read before.
  void add_fence() {
    if (covered_ != kNone) flushed_.push_back(covered_);
    const UnitId fence = new_fence(flushed_);
    flushed_.clear();
    fence_ = fence_ == covered_ ? fence : new_fence({{fence, fence_}});
    covered_ = fence;
    if (region_ != kNone) follows_.push_back(fence_);
  }
  UnitId new_fence(const std::vector<UnitId>& follows) {
    const UnitId unit = new_unit(0);
    history_.units_[unit].fence = operation_.site;
    finish(unit, {}, follows);
    return unit;
  }

  // Records that these units, and all guaranteed before, are guaranteed from now on.
  void guarantee(GuaranteedBy by, std::vector<UnitId> what) {
    if (!guarantees_.after_guarantees) return;
    note_guarantees(by, std::move(what));
    history_.guarantee_units_[number_].push_back({order_.now(number_), known_guarantees_});
  }
  void follow_other_threads() {
    std::vector<UnitId> followed;
    for (CoreId other = 0; other < followed_guarantees_.size(); ++other) {
      if (other == number_) continue;
      const std::vector<GuaranteeUnit>& made = history_.guarantee_units_[other];
      const std::size_t before = followed_guarantees_[other];
      while (followed_guarantees_[other] < made.size() &&
             order_.before(other, made[followed_guarantees_[other]].epoch, number_)) {
        ++followed_guarantees_[other];
      }
      if (followed_guarantees_[other] > before)
        followed.push_back(made[followed_guarantees_[other] - 1].unit);
    }
    if (!followed.empty()) note_guarantees(GuaranteedBy::kOthers, std::move(followed));
  }
  void note_guarantees(GuaranteedBy by, std::vector<UnitId> what) {
    if (known_guarantees_ != kNone) what.push_back(known_guarantees_);
    known_guarantees_ = new_fence(what);
    history_.units_[known_guarantees_].guaranteed_by = by;
  }
  void follow_guarantees() {
    if (known_guarantees_ != kNone) follows_.push_back(known_guarantees_);
  }

  ProgramHistory& history_;
  trace::PmAddresses pm_;
  LoweredStream stream_;
  const CoreId number_;
  const Guarantees guarantees_;
  HappensBefore& order_;
  Image& newest_;
  Operation operation_{};
  bool more_ = false;
  UnitId region_ = kNone;           // The open region
  UnitId fence_ = kNone;            // Latest fence unit, or the unit that represents data read
  UnitId covered_ = kNone;          // Latest fence unit that covers this thread's stores
  UnitId read_ = kNone;             // Latest unit of another thread that this one read from
  std::vector<UnitId> last_store_;  // Words of the last store outside regions
  std::vector<UnitId> storing_;     // Words so far of the store in execution
  std::vector<UnitId> stored_;      // Words stored outside regions since the last fence
  std::unordered_map<std::uint64_t, UnitId> last_of_line_;  // Last store outside regions, by line
  std::vector<Allocation> allocated_;
  std::vector<Write> writes_;
  std::vector<UnitId> follows_;
  std::unordered_map<WordId, std::size_t> written_;  // Index in writes_
  std::vector<UnitId> flushed_;                      // Units flushed since the last fence
  trace::LeftOutOfThread left_out_;
  const std::uint32_t first_race_object_;
  // Positions of this thread that others wait for and that it has not reached yet.
  std::span<const std::uint64_t> awaited_;
  std::uint32_t passed_points_ = 0;  // Number of awaited points that the thread has passed
  std::span<const trace::Races::Wait> races_;
  UnitId known_guarantees_ = kNone;  // Unit that represents all guarantees so far
  std::vector<std::size_t>
      followed_guarantees_;  // By thread: number of its guarantees that this thread follows
};

ProgramHistory::ProgramHistory(const trace::TraceFile& trace, const Lowering& lowering,
                               const Guarantees& guarantees) {
  Image newest;
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> page) {
    before_.write(address, page.data(), page.size());
    newest.write(address, page.data(), page.size());
  });
  const std::uint32_t count = trace.metadata().threads;
  regions_.resize(count);
  fences_.resize(count);
  guarantee_units_.resize(count);
  const trace::Races races(trace);
  HappensBefore order(count, trace.metadata().sync_objects + count);
  std::vector<std::unique_ptr<Thread>> threads;
  for (CoreId thread = 0; thread < count; ++thread) {
    threads.push_back(
        std::make_unique<Thread>(*this, trace, thread, races, lowering, guarantees, order, newest));
  }
  const auto ended = [](const auto& thread) { return thread->ended(); };
  while (!std::all_of(threads.begin(), threads.end(), ended)) {
    bool moved = false;
    for (auto& thread : threads) moved = thread->advance() || moved;
    if (!moved) {
      throw trace::TraceError(
          fmt::format("{}: the threads are deadlocked; record it again", trace.path()));
    }
  }
  for (auto& thread : threads) thread->end();
  before_ = Image{};  // All words are initialised now
}

ProgramHistory::UnitId ProgramHistory::region(CoreId thread, std::uint64_t number) const {
  const std::vector<UnitId>& regions = regions_[thread];
  return number <= regions.size() ? regions[number - 1] : kNone;
}

ProgramHistory::UnitId ProgramHistory::fence(CoreId thread, std::uint64_t number) const {
  const std::vector<UnitId>& fences = fences_[thread];
  return number <= fences.size() ? fences[number - 1] : kNone;
}

std::uint64_t ProgramHistory::initial(std::uint64_t address) const {
  std::uint64_t value = 0;
  const LineData line = before_.read(Line::of(address));
  std::memcpy(&value, line.data() + address % kLineBytes, kWordBytes);
  return value;
}

ProgramHistory::WordId ProgramHistory::find_word(std::uint64_t address) {
  const auto [line, fresh] = lines_.try_emplace(Line::of(address).number);
  if (fresh) line->second.fill(kNone);
  WordId& id = line->second[address % kLineBytes / kWordBytes];
  if (id == kNone) {
    id = static_cast<WordId>(words_.size());
    words_.push_back({address, {{kNone, initial(address)}}});
  }
  return id;
}

}  // namespace pmemsim
