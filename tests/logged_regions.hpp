// Programs that write their own undo or redo log in the library's format (library/log.c,
// library/redo.c), so that its recovery accepts their pool. Tests crash designs with them that
// leave the log to the program.
//
// With an undo log a region first logs the lines that it will store to, in the records of its
// thread's segment. Its stores, their flushes, and the commit follow. With a redo log it first logs
// the words that it will store. The commit, its stores, their flushes, and the log's release
// follow. In random programs, threads hold the lock of shared lines from before a region's begin
// until after its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "run_trace.hpp"

extern "C" {
#include "pool_layout.h"
#include "recovery.h"
// library/internal.h, which isn't for C++.
uint64_t record_checksum(const struct record* record, uint64_t offset);
}

namespace pmemsim {

// Builds programs of regions that write their own log: the operations of such programs.
class LoggedProgram {
 public:
  trace::TraceBuilder builder;

 protected:
  using Words = std::map<std::uint64_t, std::uint64_t>;  // by address
  using Lines = std::set<std::uint64_t>;

  LoggedProgram(trace::ProgramLog log, std::uint32_t threads) : threads_(threads) {
    builder.pm_region(kPmBase, kPmBase + kPoolBytes,
                      log == trace::ProgramLog::kRedo ? trace::kRedoPool : trace::kUndoPool);
    make_pool();
    load_ = builder.site(trace::SiteKind::kLoad, 8, 1);
    store_ = builder.site(trace::SiteKind::kStore, 8, 1);
    clwb_ = detailed(trace::FlushKind::kClwb, trace::SiteKind::kFlush);
    sfence_ = detailed(trace::FenceKind::kSfence, trace::SiteKind::kFence);
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      builder.thread(thread);
      builder.mark(trace::MarkKind::kRoiBegin);
    }
  }

  // A word of the lines behind the logs.
  std::uint64_t data(std::uint64_t line, std::uint64_t word = 0) const {
    return chunk(threads_) + line * kLineBytes + word * 8;
  }
  static std::uint64_t log_of(std::uint32_t thread) {
    return chunk(thread) + log_first_line(thread) * kLineBytes;
  }

  void lock(std::uint32_t lock) {
    builder.sync(trace::SyncKind::kMutexLock, kDramBase + lock * 64, lock, versions_[lock]);
  }
  void unlock(std::uint32_t lock) {
    builder.sync(trace::SyncKind::kMutexUnlock, kDramBase + lock * 64, lock, ++versions_[lock]);
  }
  void begin() { builder.mark(trace::MarkKind::kRegionBegin, 1); }
  void end() { builder.mark(trace::MarkKind::kRegionEnd, 1); }
  void load(std::uint64_t address) { builder.access(load_, address); }
  void store(std::uint64_t address, std::uint64_t value) {
    builder.store(store_, address, value);
    words_[address] = value;
  }
  void flush(trace::Purpose why, trace::FenceMeaning meaning, const Lines& lines) {
    purpose(why);
    for (const std::uint64_t line : lines) builder.access(clwb_, line * kLineBytes);
    builder.mark(trace::MarkKind::kNextFence, static_cast<std::uint64_t>(meaning));
    builder.plain(sfence_);
    purpose(trace::Purpose::kProgram);
  }
  void purpose(trace::Purpose purpose) {
    builder.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }

  // ---- An undo log

  void log(std::uint32_t thread, const Lines& to_be_logged) {
    purpose(trace::Purpose::kLog);
    const std::vector<std::uint64_t> all(to_be_logged.begin(), to_be_logged.end());
    std::span<const std::uint64_t> lines = all;
    Lines written;
    std::uint64_t place = log_of(thread);
    while (!lines.empty()) {
      const std::size_t count = std::min<std::size_t>(lines.size(), RECORD_LINES);
      for (const std::uint64_t line : log_record(thread, place, lines.first(count))) {
        written.insert(line);
      }
      place += (1 + count) * kLineBytes;
      lines = lines.subspan(count);
    }
    flush(trace::Purpose::kLog, trace::FenceMeaning::kOrder, written);
  }
  void commit(std::uint32_t thread) {
    purpose(trace::Purpose::kCommit);
    const std::uint64_t place = kPmBase + COMMIT_OFFSET + thread * sizeof(commit_line);
    store(place, ++committed_[thread]);
    flush(trace::Purpose::kCommit, trace::FenceMeaning::kDurable, {place / kLineBytes});
  }

  // ---- A redo log

  void say_to_redo(std::uint32_t thread, trace::Purpose why, trace::FenceMeaning meaning,
                   std::uint64_t entries) {
    purpose(why);
    const std::uint64_t line = kPmBase + COMMIT_OFFSET + thread * sizeof(commit_line);
    store(line + offsetof(commit_line, to_redo), entries);
    flush(why, meaning, {line / kLineBytes});
  }

 private:
  static constexpr std::uint64_t kPoolBytes = 1 << 20;

  template <class Detail>
  std::uint32_t detailed(Detail detail, trace::SiteKind kind) {
    return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
  }
  static std::uint64_t chunk(std::uint64_t number) {
    return kPmBase + first_chunk_offset(kPoolBytes) + number * CHUNK_BYTES;
  }

  // A chunk for each thread's log; behind these come the data.
  void make_pool() {
    superblock first{};
    first.magic = POOL_MAGIC;
    first.bytes = kPoolBytes;
    first.base = kPmBase;
    first.threads = PM_MAX_THREADS;
    first.shelves = SHELVES;
    first.chunk_bytes = CHUNK_BYTES;
    first.checksum = superblock_checksum(&first);
    put_page(0, &first, sizeof first);
    std::vector<chunk_line> table(threads_);
    for (std::uint32_t thread = 0; thread < threads_; ++thread) {
      table[thread].use = chunk_use(CHUNK_LOG, 0, thread, 0);
    }
    put_page(CHUNK_TABLE_OFFSET, table.data(), table.size() * sizeof table[0]);
  }
  void put_page(std::uint64_t offset, const void* bytes, std::size_t count) {
    std::array<std::byte, Image::kPageBytes> page{};
    std::memcpy(page.data() + offset % page.size(), bytes, count);
    builder.image_page(kPmBase + offset - offset % page.size(), page);
  }

  // Writes a record and returns the lines that it occupies.
  std::vector<std::uint64_t> log_record(std::uint32_t thread, std::uint64_t place,
                                        std::span<const std::uint64_t> lines) {
    std::array<record, 1 + RECORD_LINES> bytes{};  // the header, and old contents as long
    record& header = bytes[0];
    header.region = committed_[thread] + 1;
    header.lines = static_cast<std::uint32_t>(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      header.line[i] = static_cast<std::uint32_t>(lines[i] - kPmBase / kLineBytes);
      const LineData before = contents(lines[i]);
      std::memcpy(&bytes[1 + i], before.data(), before.size());
    }
    header.checksum = record_checksum(&header, place - kPmBase);
    std::vector<std::uint64_t> taken;
    for (std::size_t i = 0; i < 1 + lines.size(); ++i) {
      std::array<std::uint64_t, 8> words{};
      std::memcpy(words.data(), &bytes[i], sizeof words);
      for (std::size_t at = 0; at < words.size(); ++at) {
        store(place + i * kLineBytes + at * 8, words[at]);
      }
      taken.push_back(place / kLineBytes + i);
    }
    return taken;
  }
  LineData contents(std::uint64_t line) const {
    LineData data{};
    for (std::size_t at = 0; at < kLineBytes; at += 8) {
      const auto found = words_.find(line * kLineBytes + at);
      if (found != words_.end()) std::memcpy(data.data() + at, &found->second, 8);
    }
    return data;
  }

  const std::uint32_t threads_;
  std::uint32_t load_ = 0, store_ = 0, clwb_ = 0, sfence_ = 0;
  std::map<std::uint32_t, std::uint32_t> versions_;   // by lock
  std::map<std::uint32_t, std::uint64_t> committed_;  // by thread
  Words words_;                                       // what PM holds
};

// Programs of random regions with a log.
class LoggedRegions : public LoggedProgram {
 public:
  // After each store, a region loads up to `loads` words and executes some instructions. Each word
  // is one that the region stores to, one that it might store to, or the one that its thread stored
  // to just before.
  LoggedRegions(trace::ProgramLog log, std::uint32_t seed, std::uint32_t threads, int regions,
                std::uint64_t loads = 0)
      : LoggedProgram(log, threads), log_(log), threads_(threads), loads_(loads), random_(seed) {
    for (int i = 0; i < regions; ++i) add_region();
  }

 private:
  static constexpr std::uint32_t kLocks = 2, kLinesEach = 4;  // lines of each lock and each thread

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void add_region() {
    const auto thread = static_cast<std::uint32_t>(below(threads_));
    const auto number = static_cast<std::uint32_t>(below(kLocks));
    builder.thread(thread);
    lock(number);
    outside_ = word(kLocks + threads_ + thread);
    if (loads_ > 0) store(outside_, ++value_);
    begin();
    Words stores;
    for (std::uint64_t i = 1 + below(8); i > 0; --i) {
      stores[word(below(2) == 0 ? number : kLocks + thread)] = ++value_;
    }
    Lines lines;
    for (const auto& [address, _] : stores) lines.insert(address / kLineBytes);
    if (log_ == trace::ProgramLog::kRedo) {
      log_new(thread, number, stores);
      say_to_redo(thread, trace::Purpose::kCommit, trace::FenceMeaning::kOrder, stores.size());
    } else {
      log(thread, lines);
    }
    for (const auto& [address, value] : stores) {
      store(address, value);
      // With a redo log, a region that stores in place has already executed its loads.
      if (log_ == trace::ProgramLog::kUndo) load_some(addresses(stores), number, thread);
    }
    flush(trace::Purpose::kDataFlush, trace::FenceMeaning::kOrder, lines);
    if (log_ == trace::ProgramLog::kRedo) {
      say_to_redo(thread, trace::Purpose::kRelease, trace::FenceMeaning::kDurable, 0);
    } else {
      commit(thread);
    }
    end();
    unlock(number);
  }
  std::uint64_t word(std::uint64_t group) {
    const std::uint64_t line = group * kLinesEach + below(kLinesEach);
    return data(line, below(8));
  }
  static std::vector<std::uint64_t> addresses(const Words& words) {
    std::vector<std::uint64_t> list;
    for (const auto& [address, _] : words) list.push_back(address);
    return list;
  }
  // Loads some of the words of `stored`, words that the region might store to, or the word that the
  // thread stored to just before the region.
  void load_some(const std::vector<std::uint64_t>& stored, std::uint32_t lock,
                 std::uint32_t thread) {
    if (loads_ == 0) return;
    for (std::uint64_t i = below(loads_ + 1); i > 0; --i) {
      builder.external(static_cast<std::uint32_t>(1 + below(400)));
      const std::uint64_t other = word(below(2) == 0 ? lock : kLocks + thread);
      load(below(4) == 0 ? outside_ : below(2) == 0 ? stored[below(stored.size())] : other);
    }
  }

  void log_new(std::uint32_t thread, std::uint32_t lock, const Words& stores) {
    purpose(trace::Purpose::kLog);
    Lines written;
    std::uint64_t place = log_of(thread);
    for (const auto& [address, value] : stores) {
      store(place + offsetof(redo_entry, offset), address - kPmBase);
      store(place + offsetof(redo_entry, value), value);
      load_some({place, place + offsetof(redo_entry, value), log_of(thread)}, lock, thread);
      written.insert(place / kLineBytes);
      place += sizeof(redo_entry);
    }
    flush(trace::Purpose::kLog, trace::FenceMeaning::kOrder, written);
  }

  const trace::ProgramLog log_;
  const std::uint32_t threads_;
  const std::uint64_t loads_;
  std::mt19937_64 random_;
  std::uint64_t outside_ = 0;  // stored to before the region
  std::uint64_t value_ = 0;
};

}  // namespace pmemsim
