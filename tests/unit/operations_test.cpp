// A machine whose backend has operations: what a run and a crash make of what they do to lines.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "pmemsim/sim/machine.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;
using trace::TraceBuilder;

template <class Operation>
ChoiceTable with_operation(std::string_view name) {
  ChoiceTable table = choices();
  table.push_back({.name = name,
                   .summary = "An operation of a test's own",
                   .make = [](const Blueprint&) -> std::unique_ptr<BackendOperation> {
                     return std::make_unique<Operation>();
                   }});
  return table;
}

// Never has done with data.
class Endless final : public BackendOperation {
 public:
  bool write(const Write& write, const Prepared&, Completion) override {
    held_ += write.kind == WriteKind::kData;
    return write.kind != WriteKind::kData;
  }
  std::string pending() const override { return held_ == 0 ? "" : "data are worked on for ever"; }

 private:
  int held_ = 0;
};

// A design that writes data only when the run is over.
TEST(Operations, ThatKeepAWriteOfTheDrainAreReported) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.store(builder.site(SiteKind::kStore, 8, 1), kPmBase, 1);
  builder.mark(MarkKind::kRegionEnd, 1);
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  const ChoiceTable table = with_operation<Endless>("endless");
  Machine machine(configure(settings({{"atomicity", "hw-redo"},
                                      {"hw_redo.in_place", "lazy"},
                                      {"backend", "endless"}}),
                            table),
                  file);
  try {
    machine.run({});
    ADD_FAILURE() << "the write is lost";
  } catch (const StuckError& error) {
    EXPECT_NE(std::string(error.what()).find("data are worked on for ever"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace pmemsim
