// The example of docs/guides/write_layer.md: an ordering in two files and one row, unchanged.
#include <gtest/gtest.h>

#include "ordering/write_through.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "random_trace.hpp"
#include "shared_regions.hpp"

namespace pmemsim {
namespace {

ChoiceTable with_example(FencePromise fences) {
  ChoiceTable table = choices();
  const Choice rows[] = {
#include "row.inc"
  };
  table.push_back(rows[0]);
  table.back().promises.fences = fences;
  return table;
}

const ChoiceTable& as_it_stands() {
  static const ChoiceTable kTable = with_example(FencePromise::kStores);
  return kTable;
}
const ChoiceTable& with_fewer_guarantees() {
  static const ChoiceTable kTable = with_example(FencePromise::kFlushed);
  return kTable;
}

// Returns the violation that crashes of programs whose regions end with a fence reveal; empty if
// there is none.
std::string problem(const ChoiceTable& table, std::string_view fault) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const Configuration configuration = configure(settings({{"ordering", "write-through"},
                                                            {"atomicity", "none"},
                                                            {"pmemsim.faults", fault},
                                                            {"pm.wpq_entries", "2"}}),
                                                  table);
    const SharedRun run = crash_shared({.seed = seed, .threads = 2}, configuration);
    EXPECT_GT(run.crashes, 20u);
    if (!run.problem.empty()) return run.problem;
  }
  return "";
}

TEST(DocsExample, EveryCrashKeepsItsGuarantees) { EXPECT_EQ(problem(as_it_stands(), ""), ""); }

// The example has no flushes, so that a broken fence is visible only if fences cover stores.
TEST(DocsExample, CrashesRevealAFenceThatDoesNotWait) {
  EXPECT_NE(problem(as_it_stands(), "write_through.fence"), "");
  EXPECT_EQ(problem(with_fewer_guarantees(), "write_through.fence"), "");
}

TEST(DocsExample, RandomProgramRunsToItsEnd) {
  RandomTrace random({.seed = 3, .threads = 4, .operations = 4000, .lines = 100});
  const TemporaryTrace temporary(random.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(
      configure(settings({{"ordering", "write-through"}, {"atomicity", "none"}}), as_it_stands()),
      file);
  EXPECT_TRUE(machine.run({}));
}

}  // namespace
}  // namespace pmemsim
