#include "pmemsim/checks/rules/read_check.hpp"

namespace pmemsim::check {

bool ReadCheck::store_pm(const At& at, std::uint64_t address) {
  if (values_.none()) return false;
  const ReadValues::Read* const read = values_.source_of_data_or_address(at.site);
  if (read == nullptr || read->own || read->line == Line::of(address)) return false;
  const LineState& state = *lines_.find(read->line);
  if (!flushes_.may_be_lost(read->line, read->words, read->version)) return false;
  findings_.add({.kind = Kind::kReadsUnpersisted,
                 .reason = Reason::kNone,
                 .at = read->at,
                 .other = at,
                 .line = read->line,
                 .flushes = state.flushes});
  return true;
}

}  // namespace pmemsim::check
