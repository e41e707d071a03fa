#include "pmemsim/backend/wear_leveling.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/backend/backend.hpp"

namespace pmemsim {
namespace {

// As line numbers: one for each region of what lies below all metadata, which no region has.
constexpr std::uint64_t kSpare = std::uint64_t{1} << 56, kMetadata = std::uint64_t{1} << 53;

bool is_spare(Line place) { return place.number >= kSpare && place.number < kSpare + kMetadata; }

template <class Value>
Value& value_at(LineTable<Value>& table, Line line) {
  Value* const found = table.find(line);
  return found != nullptr ? *found : table.insert(line);
}

}  // namespace

// As recovery reads it: with the registers.
class WearLeveling::LevelledImage final : public ImageDecoder {
 public:
  explicit LevelledImage(const WearLeveling& levelling) : levelling_(levelling) {}

  void changed(Line place, const LineData& data, const Tell& tell) override {
    device_.write(place, data);
    tell_line_at(place, tell);
  }
  void registers_changed(const Tell& tell) override {
    for (; known_ < levelling_.moved_.size(); ++known_) {
      tell_line_at(levelling_.moved_[known_], tell);
    }
  }

 private:
  void tell_line_at(Line place, const Tell& tell) {
    if (const auto line = levelling_.line_at(place)) tell(*line, device_.read(place));
  }

  const WearLeveling& levelling_;
  Image device_;
  std::size_t known_ = 0;  // of the moves
};

void WearLeveling::connect(EventQueue& queue, const Memory& pm, Backend& backend) {
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

// Rule 5.
bool WearLeveling::locate(Line, Completion done) {
  if (parameters_.latency == Picoseconds{}) return true;
  queue_->schedule(queue_->now() + parameters_.latency, Phase::kController, done);
  return false;
}

// ---- Rule 1

std::uint64_t WearLeveling::region_of(Line place) const {
  return is_spare(place) ? place.number - kSpare : place.number / parameters_.region_lines;
}

Line WearLeveling::in_region(std::uint64_t region, std::uint64_t place) const {
  if (place == parameters_.region_lines) return {kSpare + region};
  return {region * parameters_.region_lines + place};
}

Line WearLeveling::place(Line line) const {
  const auto region = regions_.find(region_of(line));
  if (region == regions_.end()) return line;
  return in_region(region->first,
                   region->second.registers.place_of(line.number % parameters_.region_lines));
}

std::optional<Line> WearLeveling::line_at(Line place) const {
  const auto region = regions_.find(region_of(place));
  if (region == regions_.end()) return place;
  const std::uint64_t within =
      is_spare(place) ? parameters_.region_lines : place.number % parameters_.region_lines;
  const auto line = region->second.registers.line_at(within);
  if (!line) return {};
  return in_region(region->first, *line);
}

WearLeveling::Region& WearLeveling::region(std::uint64_t number) {
  return regions_.try_emplace(number, Region{StartGap(parameters_.region_lines)}).first->second;
}

// ---- Writes

void WearLeveling::encode(const Write&, const Prepared&, Encoded& encoded) const {
  encoded.place = place(encoded.place);
}

// Rule 3.
void WearLeveling::sent(const Write&, const Encoded& encoded) {
  if (encoded.elsewhere) return;
  ++value_at(sent_, encoded.place);
  const std::uint64_t number = region_of(encoded.place);
  Region& region = this->region(number);
  const bool copied = in_region(number, region.registers.before_gap()) == encoded.place;
  region.voided |= region.moving && copied && !parameters_.defects.void_copy;
}

void WearLeveling::accepted(const Write&, const Encoded& encoded) {
  if (encoded.elsewhere) return;
  count_write(encoded.place);
  const std::uint64_t number = region_of(encoded.place);
  ++region(number).writes;
  move_if_due(number);
}

void WearLeveling::count_write(Line place) {
  statistics_.most_writes = std::max(statistics_.most_writes, ++value_at(writes_, place));
}

void WearLeveling::no_longer_sent(const Encoded& encoded) {
  if (encoded.elsewhere) return;
  std::uint32_t& sent = *sent_.find(encoded.place);
  if (--sent > 0) return;
  sent_.erase(encoded.place);
  move_if_due(region_of(encoded.place));
}

// ---- Rule 2. What is called from within the memory must not call it.

void WearLeveling::move_if_due(std::uint64_t number) {
  Region& region = this->region(number);
  if (region.moving || region.writes < parameters_.writes_per_move) return;
  const Line from = in_region(number, region.registers.before_gap());
  if (sent_.find(from) != nullptr && !parameters_.defects.wait) return;
  region.moving = true;
  ++moving_;
  queue_->schedule(queue_->now(), Phase::kController,
                   completion<&WearLeveling::begin_move>(*this, number));
}

void WearLeveling::begin_move(std::uint64_t number, Picoseconds now) {
  if (parameters_.defects.copy) return copied(number, now);
  backend_->read_metadata(in_region(number, region(number).registers.before_gap()),
                          completion<&WearLeveling::copy>(*this, number));
}

void WearLeveling::copy(std::uint64_t number, Picoseconds now) {
  const StartGap& registers = region(number).registers;
  const Line from = in_region(number, registers.before_gap());
  const Line to = in_region(number, registers.gap());
  Completion persistent = completion<&WearLeveling::copied>(*this, number);
  if (parameters_.defects.order) std::exchange(persistent, {})(now);
  count_write(to);
  backend_->write_metadata(to, pm_->newest(from), persistent);
}

void WearLeveling::copied(std::uint64_t number, Picoseconds) {
  Region& region = this->region(number);
  region.moving = false;
  --moving_;
  if (std::exchange(region.voided, false)) {
    ++statistics_.voided;
    return move_if_due(number);
  }
  moved_.push_back(in_region(number, region.registers.gap()));
  region.registers.move();
  region.writes = 0;
  ++statistics_.moves;
  backend_->survivors_changed();
}

std::unique_ptr<ImageDecoder> WearLeveling::decoder() const {
  return std::make_unique<LevelledImage>(*this);
}

std::string WearLeveling::pending() const {
  if (moving_ == 0) return {};
  return std::to_string(moving_) + " lines are moved to the gap of their region";
}

}  // namespace pmemsim
