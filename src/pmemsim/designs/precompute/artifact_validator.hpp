// The validator of PMWeaver's artifact, which replaces the claim of a result (V-C) in
// `pmweaver.variant=artifact`. It decides from which times on a write's operations are charged.
//
//   1  A prediction is a candidate of its line, with the times at which its address and its data
//      were known. Predicted chunks alone are compared with a write. (predictor_backend.cc,
//      isPktEqualCompletedEntryData)
//   2  The newest unused candidate that has a write's data is marked as used, and stays.
//      (handleNonVolatileWrite)
//   3  If a used candidate has the write's data, whether it was marked now or by an earlier write,
//      the write takes the times of the line's oldest candidate, which is erased. (dram_ctrl.cc,
//      BMOHandleWriteRequest: the index of the candidate is never advanced.)
//   4  Otherwise, the write takes the time of the oldest candidate's address, and its own arrival
//      as that of its data. No candidate is erased.
//   5  A write of a line without candidates is unpredicted. It sets the time of the address of all
//      unused candidates of all lines to its arrival; used ones are exempt. Until the next
//      prediction, a second such write of the line, or one after the line's last candidate was
//      erased, changes nothing: the line's empty list counts as predicted. (invalidateAllAddr;
//      addCompletedWrite removes empty lists)
//
// Rules 3 and 4 are unsound as hardware: other data, and counters that have changed since, give
// other results. Here they change the time of a write alone. It is encoded with its own data.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"

namespace pmemsim {

class ArtifactValidator {
 public:
  struct Candidate {
    PreparedId id;
    std::uint32_t slot = 0;  // slot of the prediction
    InputTimes known;
    LineData data{};
    ByteMask compared = 0;  // predicted bytes; none: the candidate never has a write's data
    bool used = false;
  };
  struct Verdict {
    std::optional<InputTimes> known;      // nothing: the line has no candidate
    bool data = false;                    // rule 3 applies
    std::optional<Candidate> now_used{};  // candidate that was marked as used
    // Candidate with other data that has the most bytes of the write.
    std::optional<Candidate> nearest{};
    PreparedId erased{};
  };

  // `invalidates`: rule 5 applies.
  explicit ArtifactValidator(bool invalidates) : invalidates_(invalidates) {}

  void add(Line line, const Candidate& candidate) {
    candidates_[line.number].push_back(candidate);
    counts_as_predicted_.clear();
  }

  // Removes a candidate. True if it was used.
  bool remove(Line line, PreparedId id) {
    const auto there = candidates_.find(line.number);
    if (there == candidates_.end()) return false;
    const auto found = std::ranges::find(there->second, id, &Candidate::id);
    if (found == there->second.end()) return false;
    const bool used = found->used;
    there->second.erase(found);
    if (there->second.empty()) candidates_.erase(there);
    return used;
  }

  Verdict validate(Line line, const LineData& data, Time now) {
    const auto there = candidates_.find(line.number);
    if (there == candidates_.end()) {
      write_unpredicted(line, now);
      return {};
    }
    std::vector<Candidate>& all = there->second;
    Verdict verdict;
    mark_used(all, data, verdict);
    verdict.data = std::ranges::any_of(
        all, [&](const Candidate& one) { return one.used && has_data(one, data); });
    const Candidate& oldest = all.front();
    verdict.known = {oldest.known.address, verdict.data ? oldest.known.data : now};
    if (!verdict.data) return verdict;
    verdict.erased = oldest.id;
    if (all.size() == 1) counts_as_predicted_.push_back(line);
    return verdict;
  }

 private:
  static ByteMask equal_bytes(const Candidate& candidate, const LineData& data) {
    ByteMask equal = 0;
    for (std::size_t at = 0; at < kLineBytes; ++at) {
      equal |= ByteMask{candidate.data[at] == data[at]} << at;
    }
    return equal & candidate.compared;
  }
  static bool has_data(const Candidate& candidate, const LineData& data) {
    return candidate.compared != 0 && equal_bytes(candidate, data) == candidate.compared;
  }

  // Implements rule 2.
  static void mark_used(std::vector<Candidate>& all, const LineData& data, Verdict& verdict) {
    int most = 0;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
      if (one->used) continue;
      const ByteMask equal = equal_bytes(*one, data);
      if (one->compared != 0 && equal == one->compared) {
        one->used = true;
        verdict.now_used = *one;
        return;
      }
      if (std::popcount(equal) <= most) continue;
      most = std::popcount(equal);
      verdict.nearest = *one;
    }
  }

  // Implements rule 5.
  void write_unpredicted(Line line, Time now) {
    if (!invalidates_ || std::ranges::count(counts_as_predicted_, line) > 0) return;
    counts_as_predicted_.push_back(line);
    for (auto& [number, all] : candidates_) {
      for (Candidate& one : all) {
        if (!one.used) one.known.address = now;
      }
    }
  }

  bool invalidates_;
  std::unordered_map<std::uint64_t, std::vector<Candidate>> candidates_;  // oldest first, by line
  std::vector<Line> counts_as_predicted_;
};

}  // namespace pmemsim
