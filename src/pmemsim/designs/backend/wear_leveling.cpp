#include "pmemsim/designs/backend/wear_leveling.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/designs/backend/wear_levelled_image.hpp"

namespace pmemsim {
namespace {

template <class Value>
Value& value_at(LineTable<Value>& table, Line line) {
  Value* const found = table.find(line);
  return found != nullptr ? *found : table.insert(line);
}

}  // namespace

void WearLeveling::connect(EventQueue& queue, const Memory& pm, MetadataPort& backend) {
  queue_ = &queue;
  pm_ = &pm;
  backend_ = &backend;
}

std::vector<SubOperation> WearLeveling::sub_operations() const {
  return {{.name = "W1",
           .latency = parameters_.latency,
           .external = {.address = true},
           .after = {"D3"},
           .unless_duplicate = true}};
}

// Implements rule 5 (wear_leveling.hpp).
bool WearLeveling::locate(Line, Completion done) {
  if (parameters_.latency == Picoseconds{}) return true;
  queue_->schedule(queue_->now() + parameters_.latency, Phase::kController, done);
  return false;
}

// ---- Writes

void WearLeveling::encode(const Write&, const Prepared&, Encoded& encoded) const {
  encoded.place = lines_.place(encoded.place);
}

// Implements rule 3 (wear_leveling.hpp).
void WearLeveling::sent(const Write&, const Encoded& encoded) {
  if (encoded.duplicate) return;
  ++value_at(sent_, encoded.place);
  const std::uint64_t number = lines_.region_of(encoded.place);
  Region& region = regions_[number];
  const bool copied = before_gap(number) == encoded.place;
  region.voided |= region.moving && copied && !parameters_.faults.void_copy;
}

void WearLeveling::accepted(const Write&, const Encoded& encoded) {
  if (encoded.duplicate) return;
  count_write(encoded.place);
  const std::uint64_t number = lines_.region_of(encoded.place);
  ++regions_[number].writes;
  move_if_due(number);
}

void WearLeveling::count_write(Line place) {
  statistics_.most_writes = std::max(statistics_.most_writes, ++value_at(writes_, place));
}

void WearLeveling::no_longer_sent(const Encoded& encoded) {
  if (encoded.duplicate) return;
  std::uint32_t& sent = *sent_.find(encoded.place);
  if (--sent > 0) return;
  sent_.erase(encoded.place);
  move_if_due(lines_.region_of(encoded.place));
}

// ---- Rule 2 (wear_leveling.hpp)

Line WearLeveling::gap(std::uint64_t region) {
  return lines_.in_region(region, lines_.registers_of(region).gap());
}

Line WearLeveling::before_gap(std::uint64_t region) {
  return lines_.in_region(region, lines_.registers_of(region).before_gap());
}

// Starts a move in a later step, since the memory may be the caller and must not be called by it.

void WearLeveling::move_if_due(std::uint64_t number) {
  Region& region = regions_[number];
  if (region.moving || region.writes < parameters_.writes_per_move) return;
  if (sent_.find(before_gap(number)) != nullptr && !parameters_.faults.wait) return;
  region.moving = true;
  ++moving_;
  queue_->schedule(queue_->now(), Phase::kController,
                   completion<&WearLeveling::begin_move>(*this, number));
}

void WearLeveling::begin_move(std::uint64_t number, Time now) {
  ++statistics_.begun;
  if (parameters_.faults.copy) return copied(number, now);
  backend_->read_metadata(before_gap(number), completion<&WearLeveling::copy>(*this, number));
}

void WearLeveling::copy(std::uint64_t number, Time now) {
  const Line from = before_gap(number), to = gap(number);
  Completion persistent = completion<&WearLeveling::copied>(*this, number);
  if (parameters_.faults.order) std::exchange(persistent, {})(now);
  count_write(to);
  ++statistics_.copies;
  backend_->write_metadata(to, pm_->newest(from), persistent);
}

void WearLeveling::copied(std::uint64_t number, Time) {
  Region& region = regions_[number];
  region.moving = false;
  --moving_;
  if (std::exchange(region.voided, false)) {
    ++statistics_.voided;
    return move_if_due(number);
  }
  moved_.push_back(gap(number));
  lines_.registers_of(number).move();
  region.writes = 0;
  ++statistics_.moves;
  backend_->survivors_changed();
}

std::unique_ptr<ImageDecoder> WearLeveling::decoder() const {
  return std::make_unique<WearLevelledImage>(lines_, moved_);
}

void WearLeveling::add_registers(SurvivingRegisters& registers) const {
  registers.add_operation("wear-leveling");
  registers.levelling = {.region_lines = parameters_.region_lines, .regions = lines_.registers()};
}

std::string WearLeveling::pending() const {
  if (moving_ == 0) return {};
  return std::to_string(moving_) + " lines are moved to the gap of their region";
}

}  // namespace pmemsim
