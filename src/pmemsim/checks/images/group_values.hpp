// A down-closed set of groups (guaranteed_order.hpp), and the bytes of persistent memory that it
// leaves. The cost of a new set depends on its difference from the previous one.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "pmemsim/checks/images/guaranteed_order.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

class GroupValues {
 public:
  using Group = GuaranteedOrder::Group;

  GroupValues(const trace::TraceFile& trace, const ProgramHistory& history,
              const GuaranteedOrder& order);
  GroupValues(const GroupValues&) = delete;
  GroupValues& operator=(const GroupValues&) = delete;

  // has() and set() are for groups that write.
  bool has(Group group) const { return there_[group]; }
  void set(Group group, bool there);

  const Image& image() const { return image_; }
  // Returns the lines in which the image may differ from the image at the last call; at the first
  // call, from an empty image.
  std::vector<Line> take_changed();
  // Returns a hash that is equal for equal bytes.
  std::uint64_t hash() const { return hash_; }

 private:
  void put(const ProgramHistory::Write& write);
  // Restores the word's newest version among the groups in the image, if this was its version.
  void take(const ProgramHistory::Write& write);
  void set_version(ProgramHistory::WordId word, std::uint32_t version);

  const ProgramHistory& history_;
  const GuaranteedOrder& order_;
  std::vector<bool> there_;
  std::vector<std::uint32_t> versions_;  // By word
  Image image_;
  std::uint64_t hash_ = 0;
  std::unordered_set<std::uint64_t> changed_;
};

}  // namespace pmemsim
