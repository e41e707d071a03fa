// The locations of the rows of TPC-C's tables (rows.hpp).
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace tpcc {

class Tables {
 public:
  explicit Tables(pm_pool* pool) : root_(workload::root_of<Root>(pool)) {}

  Root& root() const { return *root_; }
  std::uint64_t items() const { return root_->header.items; }
  static std::uint64_t district_place(std::uint32_t w_id, std::uint32_t d_id) {
    return (w_id - 1) * kDistricts + d_id - 1;
  }
  std::uint64_t stock_place(std::uint32_t w_id, std::uint32_t i_id) const {
    return (w_id - 1) * items() + i_id - 1;
  }
  std::uint64_t order_place(std::uint64_t district, std::uint64_t o_id) const {
    return district * root_->order_places + o_id % root_->order_places;
  }
  // New orders are four to a line: every district begins a line of its own.
  NewOrder* new_order_of(std::uint64_t district, std::uint64_t o_id) const {
    return root_->new_order + district * new_order_places() + o_id % root_->order_places;
  }
  std::uint64_t new_order_places() const { return (root_->order_places + 3) / 4 * 4; }
  static constexpr std::uint64_t kAllDistricts = kWarehouses * kDistricts;
  std::uint64_t all_orders() const { return kAllDistricts * root_->order_places; }

  // Determines a stock row's first contents: the number of all duplicates, or the row's own.
  std::uint64_t first_content(std::uint64_t place) const {
    const std::uint64_t own = workload::mix(root_->header.seed + place);
    const bool duplicate = workload::mix(own) < root_->header.duplicates;
    return duplicate ? workload::mix(~root_->header.seed) : own;
  }
  // Returns the initial quantity of a row of stock: 10 to 100.
  std::uint64_t first_quantity(std::uint64_t place) const { return 10 + first_content(place) % 91; }

 private:
  Root* root_;
};

}  // namespace tpcc
