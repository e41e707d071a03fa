#include "pmemsim/crash/program_history.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/analysis/races.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/crash/written_words.hpp"
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
         HappensBefore& order)
      : history_(history),
        pm_(file.metadata()),
        stream_(file, number, lowering,
                {.region_fences = guarantees.after_guarantees, .allocations = true}),
        number_(number),
        guarantees_(guarantees),
        order_(order),
        left_out_(guarantees.without, number),
        first_race_object_(file.metadata().sync_objects),
        awaited_(races.awaited(number)),
        races_(races.of(number)),
        followed_guarantees_(file.metadata().threads) {
    read();
  }

  // Passes at most this number of recorded operations and those skipped behind them, until the
  // thread must wait for another one or has ended. True if it executed any operation.
  bool advance(std::uint64_t most) {
    const std::uint64_t before = executed();
    bool moved = false;
    while (executed() - before < most && more_ && order_.may_execute(operation_) &&
           passes_races()) {
      execute();
      read();
      moved = true;
    }
    if (!more_) end();
    return moved;
  }
  bool ended() const { return !more_; }
  std::uint64_t finished_operations() const {
    return region_ == kNone ? executed() : region_position_;
  }

 private:
  // The kinds of operations that execute() processes.
  static constexpr trace::KindSet kRead{
      SiteKind::kMark,        SiteKind::kSync,         SiteKind::kLoad,      SiteKind::kCopyLoad,
      SiteKind::kAtomicLoad,  SiteKind::kStore,        SiteKind::kCopyStore, SiteKind::kAtomicStore,
      SiteKind::kNonTemporal, SiteKind::kAtomicUpdate, SiteKind::kFlush,     SiteKind::kFence};

  // A thread may end inside a region, which is not guaranteed persistent then.
  void end() {
    if (region_ != kNone) history_.edit(region_).ended = false;
    finish_region();
  }
  // Returns the number of operations before the next one, including those that are not kept.
  std::uint64_t executed() const { return stream_.position() - (more_ ? 1 : 0); }

  void read() {
    do {
      stream_.skip_to(kRead);
      more_ = stream_.next(operation_);
    } while (more_ && left_out_.leaves_out(stream_.position() - 1));
    while (!awaited_.empty() && awaited_.front() <= executed()) {
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
    if (order_.forgot()) throw ForgottenVersion{};
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
        allocated_.add(operation_.address, operation_.second);
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
    Numbered& own = history_.regions_[number_];
    region_ = new_unit(own.size() + 1);
    region_position_ = executed();
    if (own.size() > 0) follows_.push_back(own.at(own.size()));
    follow_order();
    own.add(region_);
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
    for_each_word(operation_, [&](std::uint64_t address) {
      if (region_ != kNone) follow_writer(address);
      if (guarantees_.promises.reads_in_order) follow_what_was_read(address);
    });
  }

  void store() {
    if (!programs()) return;
    for_each_word(operation_, [&](std::uint64_t address) {
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

  // Returns the newest version that a unit has written; nullptr if there is none.
  const Version* last_written(std::uint64_t address) const {
    const LineWords* words = history_.line(Line::of(address));
    return words == nullptr ? nullptr
                            : last_written_word((*words)[address % kLineBytes / kWordBytes]);
  }
  const Version* last_written_word(WordId word) const {
    if (word == kNone) return nullptr;
    const Version& last = history_.words_[word].versions.back();
    return last.unit == kNone ? nullptr : &last;
  }

  // A region follows the last writer of each word that it reads or writes, if that is a region.
  void follow_writer(std::uint64_t address) {
    const Version* const last = last_written(address);
    if (last == nullptr || last->unit == region_ || last->outside) return;
    follows_.push_back(last->unit);
  }

  // Makes later operations of this thread follow the unit that it has read from, as if a fence
  // followed that unit.
  void follow_what_was_read(std::uint64_t address) {
    const Version* const last = last_written(address);
    if (last == nullptr || last->unit == read_ || last->thread == number_) return;
    if (!order_.before(last->thread, last->epoch, number_)) return;
    read_ = last->unit;
    std::vector<UnitId> follows{last->unit};
    if (fence_ != kNone) follows.push_back(fence_);
    fence_ = new_fence(follows);
    if (region_ != kNone) follows_.push_back(fence_);
  }

  // Returns a word after the current operation, which has stored to some or none of its bytes.
  std::uint64_t value_after(std::uint64_t address, std::uint64_t value) const {
    const std::uint64_t begin = std::max(address, operation_.address);
    const std::uint64_t end = std::min(address + kWordBytes, operation_.address + operation_.size);
    if (begin >= end) return value;
    std::memcpy(reinterpret_cast<std::byte*>(&value) + (begin - address),
                operation_.value + (begin - operation_.address), end - begin);
    return value;
  }

  UnitId new_unit(std::uint64_t region) {
    return history_.add_unit({.thread = number_, .epoch = order_.now(number_), .region = region});
  }

  Version version_of(UnitId unit, std::uint64_t value) const {
    const Unit& writer = history_.unit(unit);
    return {.unit = unit,
            .epoch = writer.epoch,
            .value = value,
            .thread = writer.thread,
            .outside = writer.region == 0};
  }

  Write new_version(UnitId unit, WordId word, std::uint64_t address) {
    Word& written = history_.words_[word];
    Version& before = written.versions.back();
    if (allocated_.contains(address)) before.free = true;
    written.versions.push_back(version_of(unit, value_after(address, before.value)));
    return {word, written.newest(), operation_.site};
  }

  // The region writes the whole line if a crash may leave the line unreadable before its commit.
  void store_inside_line(std::uint64_t address) {
    if (guarantees_.lines_readable || !allocated_.contains(address)) return store_inside(address);
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
      Word& written = history_.words_[word];
      Version& version = written.versions[write.version - written.first];
      write.site = operation_.site;
      version.value = value_after(address, version.value);
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
      Word& freed = history_.words_[word];
      if (freed.versions.back().unit == kNone) continue;  // Not written before
      if (freed.versions.back().unit != region_) {
        freed.versions.push_back(version_of(region_, freed.versions.back().value));
        writes_.push_back({word, freed.newest(), operation_.site});
        written_.emplace(word, writes_.size() - 1);
      }
      freed.versions.back().free = true;
    }
  }

  void store_outside(std::uint64_t address) {
    const UnitId unit = new_unit(0);
    const WordId word = history_.find_word(address);
    const Version* const before = last_written_word(word);
    if (before != nullptr && before->outside) follows_.push_back(before->unit);
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
      const Store store{unit, number_, order_.now(number_)};
      Store& last = last_of_line->try_emplace(line.number, store).first->second;
      if (last.unit != unit && order_.before(last.thread, last.epoch, number_)) {
        follows_.push_back(last.unit);
      }
      last = store;
    }
  }

  void end_region() {
    const UnitId region = region_;
    finish_region();
    if (region == kNone || guarantees_.promises.regions != RegionPromise::kAtEnd) return;
    guarantee(GuaranteedBy::kRegionEnd, {region});
  }

  // Guarantees the regions before the open one.
  void fence_regions() {
    const Numbered& own = history_.regions_[number_];
    const std::size_t ended = own.size() - (region_ != kNone ? 1 : 0);
    if (ended > 0) guarantee(GuaranteedBy::kRegionsFence, {own.at(ended)});
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
    Chunk& chunk = history_.chunk_of(number);
    Unit& unit = history_.edit(number);
    unit.finished = true;
    unit.first_write = static_cast<std::uint32_t>(chunk.writes.size());
    unit.writes = static_cast<std::uint32_t>(writes.size());
    unit.first_follows = static_cast<std::uint32_t>(chunk.follows.size());
    unit.follows = static_cast<std::uint32_t>(follows.size());
    chunk.writes.insert(chunk.writes.end(), writes.begin(), writes.end());
    chunk.follows.insert(chunk.follows.end(), follows.begin(), follows.end());
  }

  void flush() {
    if (guarantees_.promises.fences == FencePromise::kNothing) return;
    const LineWords* const words = history_.line(Line::of(operation_.address));
    if (words == nullptr) return;
    const bool with_commit = guarantees_.promises.commits_cover_flushes && written_here(*words);
    for (const WordId word : *words) {
      const Version* const last = last_written_word(word);
      if (last == nullptr || !last->outside) continue;
      if (!order_.before(last->thread, last->epoch, number_)) continue;
      (with_commit ? follows_ : flushed_).push_back(last->unit);
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
    history_.fences_[number_].add(covered_);
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
    history_.edit(unit).fence = operation_.site;
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
    history_.edit(known_guarantees_).guaranteed_by = by;
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
  Operation operation_{};
  bool more_ = false;
  UnitId region_ = kNone;              // The open region
  std::uint64_t region_position_ = 0;  // Number of operations before the open region
  UnitId fence_ = kNone;               // Latest fence unit, or the unit that represents data read
  UnitId covered_ = kNone;             // Latest fence unit that covers this thread's stores
  UnitId read_ = kNone;                // Latest unit of another thread that this one read from
  std::vector<UnitId> last_store_;     // Words of the last store outside regions
  std::vector<UnitId> storing_;        // Words so far of the store in execution
  std::vector<UnitId> stored_;         // Words stored outside regions since the last fence
  std::unordered_map<std::uint64_t, Store> last_of_line_;  // Last store outside regions, by line
  AllocatedHere allocated_;
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

// Reads the operations of all threads, in an order that respects their synchronisation.
class ProgramHistory::Reader {
 public:
  Reader(ProgramHistory& history, const trace::TraceFile& trace, const Lowering& lowering,
         const Guarantees& guarantees, std::uint32_t remembered_versions)
      : path_(trace.path()),
        races_(trace),
        order_(trace.metadata().threads, trace.metadata().sync_objects + trace.metadata().threads,
               remembered_versions) {
    for (CoreId thread = 0; thread < trace.metadata().threads; ++thread) {
      threads_.push_back(
          std::make_unique<Thread>(history, trace, thread, races_, lowering, guarantees, order_));
    }
  }

  void round(std::uint64_t most) {
    bool moved = false;
    for (auto& thread : threads_) moved = thread->advance(most) || moved;
    if (!moved && !ended()) {
      throw trace::TraceError(
          fmt::format("{}: the threads are deadlocked; record it again", path_));
    }
  }
  bool ended() const {
    return std::ranges::all_of(threads_, [](const auto& thread) { return thread->ended(); });
  }
  std::uint64_t finished_operations(CoreId thread) const {
    return threads_[thread]->finished_operations();
  }

 private:
  const std::string path_;
  const trace::Races races_;
  HappensBefore order_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

ProgramHistory::ProgramHistory(const trace::TraceFile& trace, const Lowering& lowering,
                               const Guarantees& guarantees)
    : ProgramHistory(trace, lowering, guarantees, kAllVersions) {
  while (!read()) read_round(UINT64_MAX);
}

ProgramHistory::ProgramHistory(Versions versions, const trace::TraceFile& trace,
                               const Lowering& lowering, const Guarantees& guarantees)
    : ProgramHistory(trace, lowering, guarantees,
                     versions == Versions::kAll ? kAllVersions : kLatestVersions) {
  find_words(trace, guarantees);
  before_ = Image{};  // All words are initialised now
}

ProgramHistory::ProgramHistory(const trace::TraceFile& trace, const Lowering& lowering,
                               const Guarantees& guarantees, std::uint32_t remembered_versions)
    : regions_(trace.metadata().threads),
      fences_(trace.metadata().threads),
      guarantee_units_(trace.metadata().threads),
      reader_(std::make_unique<Reader>(*this, trace, lowering, guarantees, remembered_versions)) {
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> page) {
    before_.write(address, page.data(), page.size());
  });
}

ProgramHistory::~ProgramHistory() = default;

void ProgramHistory::read_round(std::uint64_t most) {
  reader_->round(most);
  if (!reader_->ended()) return;
  reader_.reset();
  before_ = Image{};
}

std::uint64_t ProgramHistory::finished_operations(CoreId thread) const {
  return reader_->finished_operations(thread);
}

void ProgramHistory::find_words(const trace::TraceFile& trace, const Guarantees& guarantees) {
  for (CoreId thread = 0; thread < trace.metadata().threads; ++thread) {
    WrittenWords written(trace, thread, guarantees.promises.whole_regions,
                         guarantees.lines_readable);
    written.for_each([this](std::uint64_t address) { find_word(address); });
    has_regions_ = has_regions_ || written.has_regions();
  }
}

ProgramHistory::UnitId ProgramHistory::Numbered::at(std::uint64_t number) const {
  if (number <= dropped_) return last_dropped_;
  return number <= size() ? units_[number - dropped_ - 1] : kNone;
}

void ProgramHistory::Numbered::drop_to(std::uint64_t number) {
  for (; dropped_ < number && !units_.empty(); ++dropped_) {
    last_dropped_ = units_.front();
    units_.pop_front();
  }
}

ProgramHistory::UnitId ProgramHistory::add_unit(const Unit& unit) {
  if (units_ % kChunkUnits == 0) {
    chunks_.push_back(std::make_unique<Chunk>());
    chunks_.back()->units.reserve(kChunkUnits);
  }
  chunks_.back()->units.push_back(unit);
  return units_++;
}

std::uint64_t ProgramHistory::initial(std::uint64_t address) const {
  std::uint64_t value = 0;
  const LineData line = before_.read(Line::of(address));
  std::memcpy(&value, line.data() + address % kLineBytes, kWordBytes);
  return value;
}

ProgramHistory::WordId ProgramHistory::find_word(std::uint64_t address) {
  const Line line = Line::of(address);
  LineWords* words = lines_.find(line);
  if (words == nullptr) {
    words = &lines_.insert(line);
    words->fill(kNone);
  }
  WordId& id = (*words)[address % kLineBytes / kWordBytes];
  if (id == kNone) {
    id = static_cast<WordId>(words_.size());
    words_.push_back({address, {}});
    words_.back().versions.push_back(
        {.unit = kNone, .epoch = 0, .value = initial(address), .thread = 0, .outside = true});
  }
  return id;
}

}  // namespace pmemsim
