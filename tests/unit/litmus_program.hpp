// Recordings of small programs of several threads. The operations become visible in the order in
// which a test lists them. Also the images that a crash may leave, by the definition in
// persistency_model.hpp: each set of segments is checked against each rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "pmemsim/checks/images/persistency_model.hpp"
#include "run_trace.hpp"

namespace pmemsim::litmus {

enum class Do : std::uint8_t {
  kStore,
  kCopy,
  kNonTemporal,
  kAtomicStore,  // without a fence
  kFencedStore,  // an atomic store with a full fence
  kExchange,     // a locked instruction that stores
  kClwb,
  kClflushopt,
  kClflush,
  kSfence,
  kMfence,
  kLfence,
  kLock,  // the acquisition of a mutex
  kLoad,
};

struct Step {
  std::uint32_t thread;
  Do what;
  std::uint64_t at = 0;     // byte of an access, counted from the first line's first byte
  std::uint64_t value = 0;  // eight bytes, repeated in wider stores
  std::uint8_t size = 8;
};
using Program = std::vector<Step>;

// The first lines' bytes.
using Bytes = std::vector<std::uint8_t>;
using Images = std::set<Bytes>;

inline bool is_store(Do what) { return what <= Do::kExchange; }

// ---- As a recording ---------------------------------------------------------------------------

class Recorder {
 public:
  explicit Recorder(const Program& program, std::uint32_t threads) {
    trace_.pm_region(kPmBase, kPmBase + (1 << 20));
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      trace_.thread(thread).plain(execute_);
    }
    std::uint32_t last = program.empty() ? 0 : program.front().thread;
    for (const Step& step : program) {
      if (step.thread != last) hand_over(last, step.thread);
      last = step.thread;
      put(step);
    }
  }
  trace::TraceBuilder& trace() { return trace_; }

 private:
  using Kind = trace::SiteKind;

  // Plain accesses to an atomic variable outside PM: they order threads, and nothing else.
  void hand_over(std::uint32_t from, std::uint32_t to) {
    ++turn_;
    trace_.thread(from).atomic(gives_, kDramBase, 0, turn_);
    trace_.thread(to).atomic(takes_, kDramBase, 0, turn_);
  }

  std::uint32_t site(Kind kind, std::uint8_t size, std::uint8_t detail = 0,
                     std::uint8_t flags = 0) {
    const auto [found, added] = sites_.try_emplace({kind, size, detail, flags}, 0);
    if (added) found->second = trace_.site(kind, size, 1, {}, {}, detail, flags);
    return found->second;
  }

  void put(const Step& step) {
    trace_.thread(step.thread);
    const std::uint64_t address = kPmBase + step.at;
    const auto flush = [&](trace::FlushKind kind) {
      trace_.access(site(Kind::kFlush, 0, static_cast<std::uint8_t>(kind)), address);
    };
    const auto fence = [&](trace::FenceKind kind) {
      trace_.plain(site(Kind::kFence, 0, static_cast<std::uint8_t>(kind)));
    };
    switch (step.what) {
      case Do::kStore:
        return trace_.store(site(Kind::kStore, step.size), address, step.value);
      case Do::kNonTemporal:
        return trace_.store(site(Kind::kNonTemporal, step.size), address, step.value);
      case Do::kCopy:
        return copy(address, step);
      case Do::kLoad:
        return trace_.access(site(Kind::kLoad, step.size), address);
      case Do::kAtomicStore:
      case Do::kFencedStore: {
        const std::uint8_t flags = step.what == Do::kFencedStore ? trace::kSiteFullFence : 0;
        return trace_.atomic(site(Kind::kAtomicStore, step.size, 0, flags), address, 1,
                             ++exchanges_, step.value);
      }
      case Do::kExchange:
        return trace_.atomic(site(Kind::kAtomicUpdate, step.size, 0, trace::kSiteFullFence),
                             address, 1, ++exchanges_, step.value, true);
      case Do::kClwb:
        return flush(trace::FlushKind::kClwb);
      case Do::kClflushopt:
        return flush(trace::FlushKind::kClflushopt);
      case Do::kClflush:
        return flush(trace::FlushKind::kClflush);
      case Do::kSfence:
        return fence(trace::FenceKind::kSfence);
      case Do::kMfence:
        return fence(trace::FenceKind::kMfence);
      case Do::kLfence:
        return fence(trace::FenceKind::kLfence);
      case Do::kLock:
        return trace_.sync(trace::SyncKind::kMutexLock, kDramBase + 64, 2, 0);
    }
  }

  // Records a copy as the recorder does.
  void copy(std::uint64_t address, const Step& step) {
    trace_.plain(execute_);
    for (std::uint64_t done = 0; done < step.size;) {
      const std::uint64_t reach = trace::kCopyBytes - (address + done) % trace::kCopyBytes;
      const auto bytes =
          static_cast<std::uint8_t>(std::min<std::uint64_t>(reach, step.size - done));
      trace_.copy(site(Kind::kCopyLoad, 0), kDramBase + 4096 + done, bytes);
      trace_.copy(site(Kind::kCopyStore, 0), address + done, bytes, step.value);
      done += bytes;
    }
  }

  trace::TraceBuilder trace_;
  std::map<std::tuple<Kind, std::uint8_t, std::uint8_t, std::uint8_t>, std::uint32_t> sites_;
  const std::uint32_t execute_ = trace_.site(Kind::kExecute);
  const std::uint32_t gives_ = trace_.site(Kind::kAtomicStore, 8);
  const std::uint32_t takes_ = trace_.site(Kind::kAtomicLoad, 8);
  std::uint32_t turn_ = 0, exchanges_ = 0;
};

// ---- By the definition ------------------------------------------------------------------------

class Definition {
 public:
  Definition(const Program& program, PersistencyRules rules, std::size_t lines,
             HostFailure failure = {})
      : program_(program), rules_(rules), bytes_(lines * 64), failure_(failure) {
    for (std::size_t step = 0; step < program.size(); ++step) {
      if (is_store(program[step].what)) cut(step);
    }
  }
  std::size_t words() const { return words_.size(); }

  Images images() const {
    Images images;
    for (std::uint64_t set = 0; set < std::uint64_t{1} << words_.size(); ++set) {
      if (allowed(set)) images.insert(image(set));
    }
    return images;
  }

 private:
  struct Word {
    std::size_t step;
    std::uint64_t at;
    std::uint8_t size;
    Bytes value;
  };

  // Rule 1.
  void cut(std::size_t number) {
    const Step& step = program_[number];
    std::uint64_t at = step.at;
    while (at < step.at + step.size) {
      const std::uint64_t end = std::min((at / 8 + 1) * 8, step.at + step.size);
      Word word{number, at, static_cast<std::uint8_t>(end - at), {}};
      for (std::uint64_t byte = at; byte < end; ++byte) word.value.push_back(byte_of(step, byte));
      words_.push_back(word);
      at = end;
    }
  }
  // A recorded segment repeats its value from its own beginning on.
  static std::uint8_t byte_of(const Step& step, std::uint64_t byte) {
    std::uint64_t begin = step.at;
    if (step.what == Do::kCopy) begin = std::max(begin, byte / 16 * 16);
    return static_cast<std::uint8_t>(step.value >> (byte - begin) % 8 * 8);
  }

  static bool has(std::uint64_t set, std::size_t word) { return (set >> word & 1) != 0; }
  Do what(std::size_t word) const { return program_[words_[word].step].what; }
  bool survives(std::size_t word) const {
    return failure_.survives(program_[words_[word].step].thread);
  }
  bool in_prefix(std::size_t word) const {
    return what(word) != Do::kNonTemporal || survives(word);
  }
  bool of_one_copy(std::size_t a, std::size_t b) const {
    return words_[a].step == words_[b].step && what(a) == Do::kCopy;
  }
  bool one_line(std::size_t a, std::uint64_t at) const { return words_[a].at / 64 == at / 64; }

  bool allowed(std::uint64_t set) const {
    return prefixes(set) && flushes(set) && non_temporal(set) && fetches(set);
  }

  // Rules 2 and 8.
  bool prefixes(std::uint64_t set) const {
    for (std::size_t later = 0; later < words_.size(); ++later) {
      if (!has(set, later)) continue;
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (has(set, earlier) || !in_prefix(earlier) || of_one_copy(earlier, later)) continue;
        if (rules_ == PersistencyRules::kEadr || survives(earlier)) return false;
        if (in_prefix(later) && one_line(earlier, words_[later].at)) return false;
      }
    }
    return true;
  }

  bool fences(std::size_t step, std::uint32_t thread) const {
    const Do kind = program_[step].what;
    return program_[step].thread == thread &&
           (kind == Do::kSfence || kind == Do::kMfence || kind == Do::kExchange ||
            kind == Do::kFencedStore || kind == Do::kLock);
  }
  // Returns the step of the thread's next fence: a store that becomes visible after this step
  // follows the fence.
  std::size_t next_fence(std::size_t step) const {
    std::size_t fence = step + 1;
    while (fence < program_.size() && !fences(fence, program_[step].thread)) ++fence;
    return fence;
  }
  bool has_any_from(std::uint64_t set, std::size_t step) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      if (has(set, word) && words_[word].step >= step) return true;
    }
    return false;
  }

  // Rules 3 and 4.
  bool flushes(std::uint64_t set) const {
    if (rules_ == PersistencyRules::kEadr) return true;
    for (std::size_t step = 0; step < program_.size(); ++step) {
      const Do kind = program_[step].what;
      if (kind != Do::kClwb && kind != Do::kClflushopt && kind != Do::kClflush) continue;
      if (!has_any_from(set, kind == Do::kClflush ? step : next_fence(step))) continue;
      for (std::size_t word = 0; word < words_.size(); ++word) {
        const bool before = words_[word].step < step && one_line(word, program_[step].at);
        if (before && in_prefix(word) && !has(set, word)) return false;
      }
    }
    return true;
  }

  // Rule 5.
  bool non_temporal(std::uint64_t set) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      if (in_prefix(word) || has(set, word)) continue;
      if (has_any_from(set, next_fence(words_[word].step))) return false;
    }
    return true;
  }

  // Rule 9.
  bool fetches(std::uint64_t set) const {
    for (std::size_t step = 0; step < program_.size(); ++step) {
      const Step& access = program_[step];
      if (!failure_.survives(access.thread)) continue;
      if (!is_store(access.what) && access.what != Do::kLoad) continue;
      if (!has_any_from(set, step)) continue;
      for (std::size_t word = 0; word < words_.size(); ++word) {
        const bool fetched =
            one_line(word, access.at) || one_line(word, access.at + access.size - 1);
        if (words_[word].step < step && fetched && in_prefix(word) && !has(set, word)) return false;
      }
    }
    return true;
  }

  // Rule 6.
  Bytes image(std::uint64_t set) const {
    Bytes bytes(bytes_);
    for (std::size_t word = 0; word < words_.size(); ++word) {
      if (!has(set, word)) continue;
      std::ranges::copy(words_[word].value,
                        bytes.begin() + static_cast<std::ptrdiff_t>(words_[word].at));
    }
    return bytes;
  }

  const Program& program_;
  const PersistencyRules rules_;
  const std::size_t bytes_;
  const HostFailure failure_;
  std::vector<Word> words_;
};

}  // namespace pmemsim::litmus
