#include "pmemsim/designs/atomicity/load_aware_log.hpp"

namespace pmemsim {

LoadAwareLog::LoadAwareLog(const Backend& pm, std::uint32_t banks,
                           const HardwareLogParameters& parameters, std::uint64_t growths,
                           const std::set<Line>& in_use)
    : pm_(pm),
      entries_(parameters.free_entries),
      headers_(parameters.free_headers),
      banks_(banks),
      growths_(growths) {
  while (pm_.bank_of({next_.number + header_stride_}) != pm_.bank_of(next_)) ++header_stride_;
  for (std::uint64_t grown = 0; grown <= growths; ++grown) extend();
  for (Bank& bank : banks_) {
    std::erase_if(bank.free_entries, [&](Line place) { return in_use.contains(place); });
    std::erase_if(bank.free_headers,
                  [&](const HeaderPlace& place) { return in_use.contains(place.first); });
  }
}

// Assigns the following lines to their banks, until every bank has its share (rules 1, 3).
void LoadAwareLog::extend() {
  std::vector<std::uint32_t> entries(banks_.size()), headers(banks_.size());
  for (std::size_t full = 0; full < banks_.size(); next_ = {next_.number + 1}) {
    const std::uint32_t number = pm_.bank_of(next_);
    Bank& bank = banks_[number];
    bank.channel = pm_.channel_of(next_);
    if (headers[number] < headers_) {
      if (!bank.first_half || bank.first_half->number + header_stride_ != next_.number) {
        bank.first_half = next_;
        continue;
      }
      bank.free_headers.push_back({*bank.first_half, next_});
      bank.first_half.reset();
      ++headers[number];
    } else if (entries[number] < entries_) {
      bank.free_entries.push_back(next_);
      full += ++entries[number] == entries_;
    }
  }
}

Line LoadAwareLog::entry() {
  const auto has_entry = [](const Bank& bank) { return !bank.free_entries.empty(); };
  std::optional<std::uint32_t> best = least_loaded(has_entry);
  if (!best) {
    extend();
    ++growths_;
    best = least_loaded(has_entry);
  }
  Bank& bank = banks_[*best];
  const Line place = bank.free_entries.front();
  bank.free_entries.pop_front();
  return place;
}

HeaderPlace LoadAwareLog::header(std::uint32_t number) {
  Bank& bank = banks_[number];
  const HeaderPlace place = bank.free_headers.front();
  bank.free_headers.pop_front();
  return place;
}

void LoadAwareLog::grow_if_empty() {
  for (const Bank& bank : banks_) {
    if (!bank.free_headers.empty()) return;
  }
  extend();
  ++growths_;
}

LoadAwareSpace::LoadAwareSpace(const Backend& pm, std::uint32_t cores, std::uint32_t banks,
                               const HardwareLogParameters& parameters)
    : banks_(pm, banks, parameters),
      initial_records_(std::min<std::uint64_t>(parameters.free_headers,
                                               parameters.free_entries / kRecordEntries) *
                       banks),
      registers_survive_(!parameters.faults.link),
      newest_(cores),
      last_(cores) {}

// Rule 2 (load_aware_log.hpp).
std::optional<std::uint32_t> LoadAwareSpace::header_bank(const HeaderBuffer* buffer) {
  banks_.grow_if_empty();
  return banks_.header_bank(
      [buffer](std::uint32_t channel) { return buffer == nullptr || buffer->has_space(channel); });
}

std::optional<HeaderPlace> LoadAwareSpace::place_header(const HeaderBuffer* buffer) {
  const std::optional<std::uint32_t> bank = header_bank(buffer);
  if (!bank) return {};
  return banks_.header(*bank);
}

void LoadAwareSpace::survive(LogSurvivors& survivors) const {
  if (registers_survive_) survivors.newest = newest_;
  survivors.header_stride = banks_.header_stride();
  survivors.growths = banks_.growths();
}

}  // namespace pmemsim
