#include "pmemsim/checks/rules/read_check.hpp"

#include <bit>

namespace pmemsim::check {

bool ReadCheck::store_pm(const At& at, std::uint64_t address) {
  // A store replaces a former one, which nothing has led to.
  std::erase_if(linked_, [&](const Linked& each) { return each.stored == address; });
  if (values_.none()) return false;
  const ReadValues::Read* const read = values_.source_of_data_or_address(at.site);
  if (read == nullptr || read->own || read->line == Line::of(address)) return false;
  const LineState& state = *lines_.find(read->line);
  if (!flushes_.may_be_lost(read->line, read->words, read->version)) return false;
  const FlushedLater::Entry finding{.kind = Kind::kReadsUnpersisted,
                                    .reason = Reason::kNone,
                                    .at = read->at,
                                    .other = at,
                                    .line = read->line,
                                    .flushes = state.flushes};
  if (read->pointer && !values_.has_address_from_pointer(at.site)) {
    const auto word = static_cast<std::uint64_t>(std::countr_zero(read->words)) * kWordBytes;
    linked_.push_back({finding, read->line.address() + word, address});
  } else {
    findings_.add(finding);
  }
  return true;
}

void ReadCheck::publish(std::uint64_t location, std::uint64_t pointer) {
  std::erase_if(linked_, [&](const Linked& each) {
    if (Line::of(each.stored) != Line::of(pointer)) return false;
    if (each.word != location) findings_.add(each.finding);
    return true;
  });
}

void ReadCheck::end() {
  for (const Linked& each : linked_) findings_.add(each.finding);
  linked_.clear();
}

}  // namespace pmemsim::check
