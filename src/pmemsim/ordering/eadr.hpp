// eADR: the caches belong to the persistence domain, so a store is persistent when it becomes
// visible. Flushes and store fences aren't part of the program; a software log still is, for
// atomicity needs one (Intel, "eADR: new opportunities for persistent memory applications", 2021).
#pragma once

#include "pmemsim/ordering/none.hpp"

namespace pmemsim {

class EadrOrdering final : public NoOrdering {};

}  // namespace pmemsim
