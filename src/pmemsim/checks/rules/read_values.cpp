#include "pmemsim/checks/rules/read_values.hpp"

namespace pmemsim::check {
namespace {

bool is_others(const ReadValues::Read& read) { return !read.own; }

}  // namespace

void ReadValues::load_pm(const At& at, std::uint64_t address, std::uint64_t bytes) {
  const Line line = Line::of(address);
  const LineState* const state = lines_.find(line);
  const Words words = words_of(address, bytes);
  const bool known =
      state != nullptr && state->version > 0 && !state->racy && (state->run & words) == words;
  const bool own = known && state->store.thread == thread_;
  const bool followed =
      known && (own ? follow_own_ : order_.before(state->store.thread, state->stored, thread_));
  if (followed && !is_guaranteed(*state, words, order_, thread_)) {
    flow_.loaded(at.site, {at, line, words, bytes == kWordBytes, own, state->version});
  } else {
    flow_.forget(at.site);
  }
}

const ReadValues::Read* ReadValues::source_of_data(std::uint32_t site) const {
  if (const Read* const read = flow_.of_data(site, is_others)) return read;
  return flow_.of_data(site, flow_.any);
}

const ReadValues::Read* ReadValues::source_of_data_or_address(std::uint32_t site) const {
  if (const Read* const read = flow_.of_data_or_pointer(site, is_others)) return read;
  return flow_.of_data_or_pointer(site, flow_.any);
}

std::vector<ReadValues::Read> ReadValues::sources_of_memory(std::uint64_t address,
                                                            std::uint64_t bytes) const {
  std::vector<Read> reads;
  flow_.for_each_in(address, bytes, [&](const Read& read) { reads.push_back(read); });
  return reads;
}

}  // namespace pmemsim::check
