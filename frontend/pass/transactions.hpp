// Hardware transactions (RTM: _xbegin, _xend, _xabort, _xtest).
#pragma once

#include <llvm/IR/Module.h>

#include "runtime_calls.hpp"

namespace pmemsim::pass {

// Makes every transaction of the module abort at its begin.
void abort_transactions(llvm::Module& module, RuntimeCalls& runtime);

}  // namespace pmemsim::pass
