#include "pmemsim/analysis/predictability.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "pmemsim/analysis/value_history.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/mix.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim {
namespace {

constexpr std::size_t kChunkBytes = 4;
constexpr std::size_t kChunks = kLineBytes / kChunkBytes;

template <class Integer>
Integer load(const std::byte* from) {
  Integer value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Predictable::Found& operator+=(Predictable::Found& sum, const Predictable::Found& other) {
  sum.address += other.address;
  sum.chunks += other.chunks;
  sum.words += other.words;
  sum.address_and_chunks += other.address_and_chunks;
  sum.address_and_words += other.address_and_words;
  return sum;
}

// The match of one write-back with the history.
struct Match {
  bool address, chunks, words;
  Predictable::Found found() const {
    return {address, chunks, words, address && chunks, address && words};
  }
};

struct SetCount {
  std::uint64_t write_backs = 0;
  std::vector<std::uint32_t> sites;
};

// The results of all threads together, before sites are replaced by source lines.
struct Totals {
  std::vector<Predictable> by_site;              // by the site of the last store
  std::map<std::uint64_t, SetCount> store_sets;  // by a hash of their sites
  PredictabilityReport report;
};

// One thread's history, and its lines since their last write-backs.
class Thread {
 public:
  Thread(const trace::TraceFile& trace, Image& memory, Totals& totals)
      : pm_(trace.metadata()), memory_(memory), totals_(totals) {}

  void follow(const trace::Operation& operation) {
    instructions_ += operation.instructions;
    switch (operation.kind) {
      case trace::SiteKind::kStore:
      case trace::SiteKind::kAtomicStore:
      case trace::SiteKind::kCopyStore:
        return store(operation, true);
      case trace::SiteKind::kAtomicUpdate:
        if (operation.flag) store(operation, true);
        return;
      case trace::SiteKind::kNonTemporal:
        return store(operation, false);
      case trace::SiteKind::kFlush:
        if (pm_.contains(operation.address)) flush(Line::of(operation.address));
        return;
      default:
        return;
    }
  }

  std::uint64_t instructions() const { return instructions_; }
  std::uint64_t stores() const { return stores_; }

 private:
  // A PM line that the thread has stored to.
  struct Written {
    std::uint16_t chunks = 0;            // bit mask: stored to since the last write-back
    std::uint32_t last_site = 0;         // site of the last store
    std::uint64_t last_instruction = 0;  // instruction number of the last store
    std::uint64_t since = 0;             // number of the store before the last write-back
  };

  void store(const trace::Operation& operation, bool cached) {
    ++stores_;
    remember(operation);
    if (!pm_.contains(operation.address)) return;
    memory_.write(operation.address, operation.value, operation.size);
    if (!cached) return;
    const std::uint64_t end = operation.address + operation.size;
    for (std::uint64_t at = operation.address / kChunkBytes * kChunkBytes; at < end;
         at += kChunkBytes) {
      Written& line = written(Line::of(at));
      line.chunks |= static_cast<std::uint16_t>(1u << at % kLineBytes / kChunkBytes);
      line.last_site = operation.site;
      line.last_instruction = instructions_;
    }
  }

  Written& written(Line line) {
    Written* const found = written_.find(line);
    return found != nullptr ? *found : written_.insert(line);
  }

  // Implements rule 2.
  void remember(const trace::Operation& operation) {
    const std::size_t size = operation.size;
    for (std::size_t at = 0; at + kChunkBytes <= size; at += kChunkBytes) {
      const ValueStore store{Line::of(operation.address + at), stores_, operation.site};
      chunks_.add(load<std::uint32_t>(operation.value + at), store);
      if (at % kWordBytes != 0 || at + kWordBytes > size) continue;
      const auto word = load<std::uint64_t>(operation.value + at);
      words_.add(word, store);
      if (pm_.contains(word)) addresses_.add(Line::of(word).number, store);
    }
  }

  void flush(Line number) {
    Written* const line = written_.find(number);
    if (line == nullptr || line->chunks == 0) {
      ++totals_.report.other_flushes;
      return;
    }
    match(number, *line);
    Predictable one{.write_backs = 1, .all = all_.found(), .without_own = without_own_.found()};
    totals_.by_site[line->last_site] += one;
    if (all_.address && all_.chunks) count_set();
    count_distance(instructions_ - line->last_instruction);
    line->chunks = 0;
    line->since = stores_;
  }

  // Implements rules 3 to 6.
  void match(Line number, const Written& line) {
    const LineData data = memory_.read(number);
    all_ = without_own_ = {true, true, true};
    sites_.clear();
    const auto look_up = [&](const ValueHistory& history, std::uint64_t value, bool Match::* part) {
      const ValueHistory::Found found = history.look_up(value, number, line.since);
      all_.*part &= found.oldest != nullptr;
      without_own_.*part &= found.without_own;
      return found.oldest;
    };
    const auto keep = [&](const ValueStore* store) {
      if (store != nullptr) sites_.push_back(store->site);
    };
    keep(look_up(addresses_, number.number, &Match::address));
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      if ((line.chunks >> chunk & 1) == 0) continue;
      const std::byte* const at = data.data() + chunk * kChunkBytes;
      keep(look_up(chunks_, load<std::uint32_t>(at), &Match::chunks));
      const std::byte* const word = data.data() + chunk / 2 * kWordBytes;
      look_up(words_, load<std::uint64_t>(word), &Match::words);
    }
  }

  void count_set() {
    std::ranges::sort(sites_);
    const auto repeated = std::ranges::unique(sites_);
    sites_.erase(repeated.begin(), repeated.end());
    std::uint64_t hash = 0;
    for (const std::uint32_t site : sites_) hash = mix(hash + site + 1);
    SetCount& set = totals_.store_sets[hash];
    if (set.write_backs++ == 0) set.sites = sites_;
  }

  void count_distance(std::uint64_t instructions) {
    const auto bound = std::ranges::lower_bound(kDistanceBounds, instructions);
    ++totals_.report.distances[static_cast<std::size_t>(bound - kDistanceBounds.begin())];
  }

  trace::PmAddresses pm_;
  Image& memory_;
  Totals& totals_;
  ValueHistory chunks_, words_;
  ValueHistory addresses_;  // words that are addresses of PM, by their line
  LineTable<Written> written_;
  // State of the write-back that is being matched.
  Match all_{}, without_own_{};
  std::vector<std::uint32_t> sites_;
  std::uint64_t instructions_ = 0, stores_ = 0;
};

// Sums up results by source line: a line may have several sites, and may be inlined in several
// places.
std::vector<PredictabilityReport::ByLine> by_line(const std::vector<Predictable>& by_site,
                                                  const trace::SiteTable& sites) {
  std::map<trace::SourceLocation, Predictable> lines;
  for (std::uint32_t site = 0; site < by_site.size(); ++site) {
    if (by_site[site].write_backs > 0) lines[trace::location_of(sites, site)] += by_site[site];
  }
  std::vector<PredictabilityReport::ByLine> list;
  for (const auto& [place, found] : lines) list.push_back({place, found});
  std::ranges::sort(list, {}, [](const auto& each) {
    return std::pair(UINT64_MAX - each.found.write_backs, each.store);
  });
  return list;
}

// Returns the most frequent sets; equally frequent ones are ordered by their sites.
std::vector<PredictabilityReport::StoreSet> most_frequent(
    const std::map<std::uint64_t, SetCount>& sets, const trace::SiteTable& sites) {
  std::vector<const SetCount*> ordered;
  for (const auto& [hash, set] : sets) ordered.push_back(&set);
  std::ranges::sort(ordered, {}, [](const SetCount* set) {
    return std::pair(UINT64_MAX - set->write_backs, set->sites);
  });
  ordered.resize(std::min(ordered.size(), kListedSets));
  std::vector<PredictabilityReport::StoreSet> listed;
  for (const SetCount* set : ordered) {
    listed.push_back({set->write_backs, {}});
    for (const std::uint32_t site : set->sites) {
      listed.back().stores.push_back(trace::location_of(sites, site));
    }
  }
  return listed;
}

std::uint64_t operations_of(const trace::TraceFile& trace) {
  std::uint64_t count = 0;
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    count += trace.operations(thread);
  }
  return count;
}

}  // namespace

Predictable& Predictable::operator+=(const Predictable& other) {
  write_backs += other.write_backs;
  all += other.all;
  without_own += other.without_own;
  return *this;
}

PredictabilityReport predictability(const trace::TraceFile& trace,
                                    const std::function<bool(double)>& progress) {
  constexpr std::uint64_t kBetweenReports = 1 << 20;
  Image memory;
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    memory.write(address, bytes.data(), bytes.size());
  });
  Totals totals;
  totals.by_site.resize(trace.sites().sites().size());
  const auto all = static_cast<double>(operations_of(trace));
  std::uint64_t read = 0;
  for (std::uint32_t number = 0; number < trace.metadata().threads; ++number) {
    Thread thread(trace, memory, totals);
    trace::OperationStream stream(trace, number);
    trace::Operation operation;
    while (stream.next(operation)) {
      thread.follow(operation);
      if (++read % kBetweenReports == 0 && !progress(static_cast<double>(read) / all)) {
        throw Interrupted("the analysis was interrupted");
      }
    }
    totals.report.instructions += thread.instructions();
    totals.report.stores += thread.stores();
  }
  PredictabilityReport& report = totals.report;
  for (const Predictable& site : totals.by_site) report.total += site;
  report.by_line = by_line(totals.by_site, trace.sites());
  report.store_sets = totals.store_sets.size();
  report.listed_sets = most_frequent(totals.store_sets, trace.sites());
  return std::move(report);
}

}  // namespace pmemsim
