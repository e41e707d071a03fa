#include "pmemsim/checks/hints/hint_findings.hpp"

#include <array>
#include <cstddef>

namespace pmemsim {
namespace {

constexpr std::array<HintCauseName, kHintCauses> kNames{{
    {"", ""},
    {"useless", "never_written"},
    {"useless", "too_old"},
    {"useless", "not_started"},
    {"useless", "data_only"},
    {"useless", "address_only"},
    {"invalidated", "data"},
    {"invalidated", "counter"},
    {"invalidated", "duplicate"},
    {"invalidated", "tree"},
    {"freed", "freed"},
    {"too_short", "too_short"},
    {"dropped", "request_queue"},
    {"dropped", "operation_queue"},
    {"dropped", "result_buffer"},
    {"missing", "flush"},
    {"missing", "store"},
}};

}  // namespace

HintCauseName name_of(HintCause cause) { return kNames.at(static_cast<std::size_t>(cause)); }

}  // namespace pmemsim
