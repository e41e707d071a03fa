#include "pmemsim/checks/hints/lint_hints.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "pmemsim/checks/hints/hint_lint.hpp"
#include "pmemsim/machine/run/host_memory.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/machine/run/simulate.hpp"

namespace pmemsim {
namespace {

// Merges findings of one line: a line may have several sites, and code may be inlined in several
// places.
std::vector<HintFinding> by_line(const SiteFindings& found, const trace::SiteTable& sites) {
  std::map<std::tuple<HintCause, trace::SourceLocation, trace::SourceLocation, bool>, SiteFinding>
      lines;
  for (const auto& [key, finding] : found) {
    const trace::SourceLocation store = trace::location_of(sites, key.store);
    const bool of_library = key.of_library || in_library(store.file);
    lines[{key.cause, trace::location_of(sites, key.site), store, of_library}] += finding;
  }
  std::vector<HintFinding> findings;
  for (const auto& [key, finding] : lines) {
    const auto& [cause, place, store, of_library] = key;
    findings.push_back({cause, place, store, of_library, finding});
  }
  std::ranges::sort(findings, {}, [](const HintFinding& each) {
    return std::tuple(-each.found.lost.count, each.cause, each.place, each.store, each.of_library);
  });
  return findings;
}

}  // namespace

HintReport lint_hints(const trace::TraceFile& trace, const Configuration& configuration,
                      const std::function<bool(double)>& progress) {
  check_fit(trace, configuration);
  check_host_memory(trace, Machine::kCopies * configuration.run.instances);
  Machine machine(configuration, trace);
  std::vector<RecordedCalls> threads;
  for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
    threads.push_back(recorded_calls(trace, thread, machine.design().lowering()));
  }
  const Clock clock(configuration.core.frequency, configuration.core.width);
  HintLint lint(threads, clock.duration(machine.design().hint_instructions()));
  machine.observe(&lint, &lint);
  machine.observe(static_cast<ProgramObserver*>(&lint));
  if (!machine.run(progress)) throw Interrupted("the simulation was interrupted");
  lint.finish();
  HintReport report;
  report.time = machine.end().since_start();
  report.totals = lint.totals();
  for (const RecordedCalls& calls : threads) report.hints += calls.hints.size();
  report.findings = by_line(lint.findings(), trace.sites());
  return report;
}

}  // namespace pmemsim
