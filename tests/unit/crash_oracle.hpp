// Crashing programs of several threads: what may be left of them, whatever the design is.
//
// A program's regions share lines under locks; the test knows what each reads and writes. After a
// crash and its recovery, the words of PM must be those that some set of regions leaves, each of
// them whole, which holds with a region also every region that it follows: the one before it on its
// thread, and the last ones that wrote what it reads or writes. And no region that was there after
// one crash may be missing after a later one.
//
// Every store has a value of its own, so the words say whose they are; the smallest closed set that
// holds these regions leaves the same words as any larger one that fits, so no other is tried.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "unit/crash_plug.hpp"

namespace pmemsim {

// Random regions, in an order that locks and threads agree with.
class SharedRegions {
 public:
  struct Options {
    std::uint32_t seed = 0;
    std::uint32_t threads = 2;
    int regions = 60;  // of all threads
    // Regions that lock and unlock inside, so that others see what they wrote before they end; else
    // locks are held from before the begin until after the end.
    bool locks_inside = false;
    // Now and then a region writes its thread's own word of a line that all threads have words of,
    // at most once a region. (With more, regions could depend on each other.)
    bool false_sharing = false;
    std::uint64_t lines_per_lock = 4;
  };
  struct Region {
    std::uint32_t thread;
    Words writes;
    std::set<std::size_t> follows;  // earlier regions
  };

  explicit SharedRegions(const Options& options) : options_(options), random_(options.seed) {
    builder.pm_region(kPmBase, kPmBase + (1 << 20));
    load_ = builder.site(trace::SiteKind::kLoad, 8, 1);
    store_ = builder.site(trace::SiteKind::kStore, 8, 1);
    clwb_ = detailed(trace::FlushKind::kClwb, trace::SiteKind::kFlush);
    sfence_ = detailed(trace::FenceKind::kSfence, trace::SiteKind::kFence);
    for (int i = 0; i < options.regions; ++i) add_region();
  }

  trace::TraceBuilder builder;
  std::vector<Region> regions;

 private:
  static constexpr std::uint32_t kLocks = 3;

  template <class Detail>
  std::uint32_t detailed(Detail detail, trace::SiteKind kind) {
    return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void add_region() {
    const auto thread = static_cast<std::uint32_t>(below(options_.threads));
    builder.thread(thread);
    regions.push_back({thread, {}, {}});
    if (last_of_thread_.contains(thread)) regions.back().follows.insert(last_of_thread_[thread]);
    last_of_thread_[thread] = regions.size() - 1;
    // Lines 0 to kLocks * lines_per_lock - 1 belong to locks, then come each thread's own.
    const std::uint64_t own = (kLocks + thread) * options_.lines_per_lock;
    const std::uint32_t first = static_cast<std::uint32_t>(below(kLocks));
    const std::uint32_t last = first + static_cast<std::uint32_t>(below(kLocks - first));
    const bool inside = options_.locks_inside && below(3) > 0;
    if (!inside) lock(first, last);
    builder.mark(trace::MarkKind::kRegionBegin, 1);
    accesses(own, own);
    if (inside) lock(first, last);
    accesses(first * options_.lines_per_lock, last * options_.lines_per_lock);
    if (options_.false_sharing && below(2) == 0) store(kPmBase + (1 << 16) + thread * 8);
    if (inside) unlock(first, last);
    accesses(own, own);
    flush();
    builder.mark(trace::MarkKind::kRegionEnd, 1);
    if (!inside) unlock(first, last);
    if (below(4) == 0) builder.external(static_cast<std::uint32_t>(below(2000)));
  }
  void lock(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t lock = first; lock <= last; ++lock) {
      builder.sync(trace::SyncKind::kMutexLock, kDramBase + lock * 64, lock, versions_[lock]);
    }
  }
  void unlock(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t lock = first; lock <= last; ++lock) {
      builder.sync(trace::SyncKind::kMutexUnlock, kDramBase + lock * 64, lock, ++versions_[lock]);
    }
  }
  // Of the lines from `first` to before `last + lines_per_lock`.
  void accesses(std::uint64_t first, std::uint64_t last) {
    Region& region = regions.back();
    const std::uint64_t lines = last + options_.lines_per_lock - first;
    for (std::uint64_t i = below(8); i > 0; --i) {
      const std::uint64_t address = kPmBase + (first + below(lines)) * kLineBytes + below(8) * 8;
      const auto writer = last_writer_.find(address);
      if (writer != last_writer_.end() && writer->second != regions.size() - 1) {
        region.follows.insert(writer->second);
      }
      if (below(2) == 0) {
        builder.access(load_, address);
        continue;
      }
      store(address);
    }
  }
  void store(std::uint64_t address) {
    builder.store(store_, address, ++value_);
    regions.back().writes[address] = value_;
    last_writer_[address] = regions.size() - 1;
  }
  // For designs that leave it to the program.
  void flush() {
    const auto purpose = [&](trace::Purpose purpose) {
      builder.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
    };
    std::set<std::uint64_t> lines;
    for (const auto& [address, _] : regions.back().writes) lines.insert(address / kLineBytes);
    purpose(trace::Purpose::kDataFlush);
    for (const std::uint64_t line : lines) builder.access(clwb_, line * kLineBytes);
    builder.plain(sfence_);
    purpose(trace::Purpose::kProgram);
  }

  const Options options_;
  std::mt19937_64 random_;
  std::uint32_t load_, store_, clwb_, sfence_;
  std::map<std::uint32_t, std::uint32_t> versions_;
  std::map<std::uint32_t, std::size_t> last_of_thread_;
  std::map<std::uint64_t, std::size_t> last_writer_;
  std::uint64_t value_ = 0;
};

class CrashOracle {
 public:
  explicit CrashOracle(const std::vector<SharedRegions::Region>& regions)
      : regions_(regions), held_(regions.size()) {
    for (std::size_t region = 0; region < regions.size(); ++region) {
      for (const auto& [address, value] : regions[region].writes) {
        writer_of_[value] = region;
        words_[address] = 0;
      }
    }
  }

  // What the words of a recovered image are; those of all regions if the program came to its end.
  Words words(const Image& image) const {
    Words found = words_;
    for (auto& [address, value] : found) {
      const LineData data = image.read(Line::of(address));
      std::memcpy(&value, data.data() + address % kLineBytes, 8);
    }
    return found;
  }
  Words at_end() const { return left_by(std::vector<bool>(regions_.size(), true)); }

  // What is wrong with them after a crash; images are shown in the order of their crashes.
  std::string problem(const Words& words) {
    std::vector<bool> set(regions_.size());
    for (const auto& [address, value] : words) {
      if (value == 0) continue;
      const auto writer = writer_of_.find(value);
      if (writer == writer_of_.end()) {
        return fmt::format("the word at {:#x} is one that its region has overwritten", address);
      }
      set[writer->second] = true;
    }
    for (std::size_t region = regions_.size(); region-- > 0;) {
      if (!set[region]) continue;
      for (const std::size_t earlier : regions_[region].follows) set[earlier] = true;
    }
    for (const auto& [address, value] : left_by(set)) {
      if (words.at(address) == value) continue;
      return fmt::format("the word at {:#x} is {}, but region {} wrote {}, which others follow",
                         address, words.at(address), writer_of_.at(value), value);
    }
    for (std::size_t region = 0; region < set.size(); ++region) {
      if (held_[region] && !set[region]) return fmt::format("region {} is lost again", region);
    }
    held_ = set;
    return {};
  }

 private:
  Words left_by(const std::vector<bool>& set) const {
    Words left = words_;
    for (std::size_t region = 0; region < set.size(); ++region) {
      if (!set[region]) continue;
      for (const auto& [address, value] : regions_[region].writes) left[address] = value;
    }
    return left;
  }

  const std::vector<SharedRegions::Region>& regions_;
  Words words_;  // all addresses; before the program, all are 0
  std::map<std::uint64_t, std::size_t> writer_of_;
  std::vector<bool> held_;  // by the latest image
};

// Pulls the plug at every change of the persistent state, recovers twice, and asks the oracle.
// Stops at the first problem.
class OraclePlug final : public PersistenceObserver {
 public:
  using Recover = std::function<void(Image&)>;

  OraclePlug(const Machine& machine, const SharedRegions& program, Recover recover)
      : machine_(machine), oracle_(program.regions), recover_(std::move(recover)) {}

  void persisted(const Write&, Picoseconds) override { crash(); }
  void dropped(const Write&, Picoseconds) override { crash(); }
  void survivors_changed(Picoseconds) override { crash(); }

  // After the run.
  void check_end() {
    if (problem.empty() && oracle_.words(machine_.pm().device()) != oracle_.at_end()) {
      problem = "at the end, not all regions are there";
    }
  }

  int crashes = 0;
  int undone = 0;
  std::string problem;

 private:
  void crash() {
    if (!problem.empty()) return;
    ++crashes;
    Image image = surviving(machine_.pm());
    const Words before = oracle_.words(image);
    recover_(image);
    const Words after = oracle_.words(image);
    undone += before != after;
    problem = oracle_.problem(after);
    recover_(image);
    if (oracle_.words(image) != after) problem = "recovering twice is not recovering once";
    if (!problem.empty()) problem = fmt::format("crash {}: {}", crashes, problem);
  }

  const Machine& machine_;
  CrashOracle oracle_;
  const Recover recover_;
};

struct SharedRun {
  std::string problem;
  int crashes, undone;
};
// Runs the program, whose regions threads share lines in, and crashes it all the time. `recover`
// takes the design's survivors and an image.
template <class Design, class Recover>
SharedRun crash_shared(const SharedRegions::Options& options, const Configuration& configuration,
                       Recover recover) {
  SharedRegions program(options);
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configuration, file);
  const auto& design = dynamic_cast<const Design&>(machine.atomicity());
  OraclePlug plug(machine, program, [&](Image& image) { recover(design.survivors(), image); });
  machine.observe(&plug);
  machine.run({});
  plug.check_end();
  return {plug.problem, plug.crashes, plug.undone};
}

}  // namespace pmemsim
