// The names of kinds, for people and Python: the enumerators of format.hpp in snake case.
#pragma once

#include <string_view>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {

std::string_view name_of(SiteKind kind);
std::string_view name_of(FlushKind kind);
std::string_view name_of(FenceKind kind);
std::string_view name_of(MarkKind kind);
std::string_view name_of(SyncKind kind);
std::string_view name_of(LockRole role);
std::string_view name_of(Purpose purpose);
std::string_view name_of(FenceMeaning meaning);

}  // namespace pmemsim::trace
