#include "pmemsim/checks/rules/program_lines.hpp"

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/analysis/contexts.hpp"

namespace pmemsim::check {

using trace::CallMarks;
using trace::CallStack;
using trace::Contexts;

ProgramLines program_lines(const trace::TraceFile& trace, const std::set<OperationNumber>& wanted) {
  ProgramLines found;
  Contexts contexts;
  const CallMarks marks(trace.sites());
  const auto in_header = [&](std::uint32_t line) {
    return trace::in_system_header(trace.sites(), line);
  };
  for (auto next = wanted.begin(); next != wanted.end();) {
    const std::uint32_t thread = next->first;
    CallStack stack(contexts, trace.sites(), marks);
    trace::OperationStream stream(trace, thread);
    for (trace::Operation operation;
         next != wanted.end() && next->first == thread && stream.next(operation);) {
      if (operation.site >= trace::kBuiltinSites) stack.follow(operation.site);
      if (stream.position() - 1 != next->second) continue;
      const Contexts::Call at = contexts.outside({stack.context(), operation.site}, in_header);
      found[*next++] = trace::location_of(trace.sites(), at.line);
    }
    while (next != wanted.end() && next->first == thread) ++next;
  }
  return found;
}

}  // namespace pmemsim::check
