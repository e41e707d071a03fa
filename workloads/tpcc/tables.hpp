// Where the rows of TPC-C's tables lie (rows.hpp).
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
  // New orders lie four to a line: every district begins a line of its own.
  NewOrder* new_order_of(std::uint64_t district, std::uint64_t o_id) const {
    return root_->new_order + district * new_order_places() + o_id % root_->order_places;
  }
  std::uint64_t new_order_places() const { return (root_->order_places + 3) / 4 * 4; }
  static constexpr std::uint64_t kAllDistricts = kWarehouses * kDistricts;
  std::uint64_t all_orders() const { return kAllDistricts * root_->order_places; }

  // What a row of stock begins with follows from this number: that of all duplicates, or its own.
  std::uint64_t first_content(std::uint64_t place) const {
    const std::uint64_t own = workload::mix(root_->header.seed + place);
    const bool duplicate = workload::mix(own) < root_->header.duplicates;
    return duplicate ? workload::mix(~root_->header.seed) : own;
  }
  // Of a row of stock, by the set-up: 10 to 100.
  std::uint64_t first_quantity(std::uint64_t place) const { return 10 + first_content(place) % 91; }

 private:
  Root* root_;
};

}  // namespace tpcc
