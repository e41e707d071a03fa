#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim {

void SurvivingRegisters::add_operation(const char* name) { operations.emplace_back(name); }

}  // namespace pmemsim
