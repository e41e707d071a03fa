// No atomic regions: the software log isn't part of the program. With ordering `none` that is a
// program without persistence. With `x86` its data persist at every region's end without a log
// ("DPO only", ASAP section 2.2). It may also be a program with flushes of its own and no regions.
#pragma once

#include "pmemsim/designs/atomicity/atomicity.hpp"

namespace pmemsim {

class NoAtomicity final : public Atomicity {
 public:
  Lowering lowering() const override {
    return Lowering::without({trace::Purpose::kLog, trace::Purpose::kCommit});
  }
};

}  // namespace pmemsim
