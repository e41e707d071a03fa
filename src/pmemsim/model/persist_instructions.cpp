#include "pmemsim/model/persist_instructions.hpp"

#include <map>

#include "pmemsim/trace/names.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim {

using trace::Operation;
using trace::SiteKind;

namespace {

constexpr trace::KindSet kPersistKinds{SiteKind::kFlush, SiteKind::kFence};

bool fences_stores(const Operation& operation) {
  return operation.kind == SiteKind::kFence &&
         operation.detail != static_cast<std::uint8_t>(trace::FenceKind::kLfence);
}

std::string_view instruction_name(const Operation& operation) {
  if (operation.kind == SiteKind::kFence) {
    return trace::name_of(static_cast<trace::FenceKind>(operation.detail));
  }
  return trace::name_of(static_cast<trace::FlushKind>(operation.detail));
}

}  // namespace

std::vector<PersistInstruction> persist_instructions(const trace::TraceFile& trace) {
  std::map<std::uint32_t, PersistInstruction> found;
  trace::PmAddresses pm(trace.metadata());
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    trace::OperationStream stream(trace, thread);
    Operation operation;
    while (stream.skip_to(kPersistKinds), stream.next(operation)) {
      const bool counts = operation.kind == SiteKind::kFlush ? pm.contains(operation.address)
                                                             : fences_stores(operation);
      if (!counts) continue;
      const PersistInstruction first{operation.site, instruction_name(operation), 0};
      ++found.try_emplace(operation.site, first).first->second.executed;
    }
  }
  std::vector<PersistInstruction> all;
  for (const auto& [site, instruction] : found) all.push_back(instruction);
  return all;
}

}  // namespace pmemsim
