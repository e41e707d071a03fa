// A run whose events make no progress ends with an error that names the stalled component.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

// A store waits for an event that never happens, and polls for it every picosecond.
class PollingOrdering final : public NoOrdering {
 public:
  void connect(const LayerContext& context) override { context_.emplace(context); }
  std::uint32_t interests() const override { return kStores; }
  bool store(const Store&, Time when, Completion) override {
    poll(0, when);
    return false;
  }
  std::string pending() const override { return "a poll of the layer under test"; }

 private:
  void poll(std::uint64_t, Time now) {
    context_->queue.schedule(now + Picoseconds{1}, Phase::kController,
                             completion<&PollingOrdering::poll>(*this));
  }

  std::optional<LayerContext> context_;
};

TEST(Progress, RunWithoutProgressIsEndedAndNamesTheStalledComponent) {
  ChoiceTable table = choices();
  table.push_back({.name = "polling",
                   .summary = "Waits for what never happens",
                   .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
                     return std::make_unique<PollingOrdering>();
                   }});
  trace::TraceBuilder builder;
  builder.store(builder.site(trace::SiteKind::kStore, 8, 1), kPmBase, 1);
  builder.pm_region(kPmBase, kPmBase + 4096);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configure(settings({{"ordering", "polling"}, {"atomicity", "none"}}), table),
                  file);
  try {
    machine.run({});
    FAIL() << "the run has ended";
  } catch (const StuckError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("the simulation makes no progress"), std::string::npos) << said;
    EXPECT_NE(said.find("head, a store, waits for the ordering layer"), std::string::npos) << said;
    EXPECT_NE(said.find("a poll of the layer under test"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace pmemsim
