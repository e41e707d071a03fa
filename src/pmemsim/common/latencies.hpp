// A histogram of latencies, from which percentiles are read. It has 32 buckets for each power of
// two, so that a bucket's first latency is at most 3.1% below all latencies in it; latencies below
// 64 ps have buckets of their own.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

class Latencies {
 public:
  void add(Picoseconds latency) {
    if (counts_.empty()) counts_.resize(kBuckets);
    ++counts_[bucket_of(latency)];
  }
  // Takes back a latency that has been added.
  void remove(Picoseconds latency) { --counts_[bucket_of(latency)]; }

  Latencies& operator+=(const Latencies& other) {
    if (other.counts_.empty()) return *this;
    if (counts_.empty()) counts_.resize(kBuckets);
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    return *this;
  }

  // Returns the smallest latency that at least this share of all latencies, in thousandths, don't
  // exceed, rounded down to its bucket's first one; 0 if there are none.
  Picoseconds percentile(std::uint64_t thousandths) const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts_) all += count;
    const std::uint64_t wanted = (all * thousandths + 999) / 1000;
    std::uint64_t passed = 0;
    for (std::size_t i = 0; wanted > 0 && i < counts_.size(); ++i) {
      passed += counts_[i];
      if (passed >= wanted) return first_of(i);
    }
    return Picoseconds{0};
  }

  struct Bucket {
    Picoseconds from{};  // the shortest latency that the bucket may have
    std::uint64_t count = 0;
  };
  // Returns the buckets that have a latency, shortest first.
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> found;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > 0) found.push_back({first_of(i), counts_[i]});
    }
    return found;
  }

 private:
  static constexpr std::size_t kExact = 64, kPerPower = 32;
  static constexpr int kFirstPower = 6;  // 64 is two to this power
  static constexpr std::size_t kBuckets = kExact + (63 - kFirstPower) * kPerPower;

  static std::size_t bucket_of(Picoseconds latency) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(latency.count, 0));
    if (value < kExact) return value;
    const int power = std::bit_width(value) - 1;
    const std::size_t part = value >> (power - 5) & (kPerPower - 1);
    return kExact + static_cast<std::size_t>(power - kFirstPower) * kPerPower + part;
  }
  static Picoseconds first_of(std::size_t bucket) {
    if (bucket < kExact) return Picoseconds{static_cast<std::int64_t>(bucket)};
    const std::size_t power = (bucket - kExact) / kPerPower + kFirstPower;
    const std::uint64_t part = (bucket - kExact) % kPerPower;
    return Picoseconds{static_cast<std::int64_t>((kPerPower + part) << (power - 5))};
  }

  std::vector<std::uint64_t> counts_;  // Empty: there are no latencies
};

}  // namespace pmemsim
