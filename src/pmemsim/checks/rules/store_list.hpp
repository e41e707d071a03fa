// The program's stores to a line that nothing has flushed or logged yet: the first store of each
// source line and call path.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "pmemsim/checks/rules/findings.hpp"

namespace pmemsim::check {

// One bit for each of a line's 8-byte words.
using Words = std::uint8_t;

class StoreList {
 public:
  struct Store {
    At at;
    Findings::Place place;
    Words words;  // Words that this source line and call path have stored to
  };

  void add(const Store& store) {
    const std::size_t newest = std::min(stores_.size(), kSearched);
    const auto known =
        std::find_if(stores_.end() - static_cast<std::ptrdiff_t>(newest), stores_.end(),
                     [&](const Store& other) { return other.place == store.place; });
    if (known != stores_.end()) {
      known->words |= store.words;
      return;
    }
    stores_.push_back(store);
    // Duplicates that are not among the newest are removed when the list has doubled.
    if (stores_.size() < limit_) return;
    stores_ = distinct();
    limit_ = std::max(kFirstLimit, 2 * stores_.size());
  }

  void clear() {
    stores_.clear();
    limit_ = kFirstLimit;
  }
  // Removes the words of all stores.
  void forget(Words words) {
    for (Store& store : stores_) store.words &= static_cast<Words>(~words);
    std::erase_if(stores_, [](const Store& store) { return store.words == 0; });
  }
  bool empty() const { return stores_.empty(); }

  // Returns the first store of each source line and call path.
  std::vector<Store> distinct() const {
    std::vector<Store> sorted = stores_;
    std::ranges::sort(sorted, {}, [](const Store& store) {
      return std::tuple(store.place, store.at.thread, store.at.operation);
    });
    std::vector<Store> distinct;
    for (const Store& store : sorted) {
      if (distinct.empty() || distinct.back().place != store.place) {
        distinct.push_back(store);
      } else {
        distinct.back().words |= store.words;
      }
    }
    return distinct;
  }

 private:
  static constexpr std::size_t kSearched = 8;
  static constexpr std::size_t kFirstLimit = 64;

  std::vector<Store> stores_;
  std::size_t limit_ = kFirstLimit;
};

}  // namespace pmemsim::check
