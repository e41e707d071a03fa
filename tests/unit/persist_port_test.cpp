// The path of a design's own writes, which writes on other paths may overtake.
#include "pmemsim/designs/interface/persist_port.hpp"
#include "pmemsim/designs/backend/backend.hpp"

#include <gtest/gtest.h>

#include "unit/memory_bench.hpp"
#include "unit/platform.hpp"

namespace pmemsim {
namespace {

// Rule 6 of designs/backend/backend.hpp.
TEST(PersistPort, WriteIsOrderedByTheTimeItLeft) {
  const Line line = Line::of(kPmBase);
  const Configuration nothing =
      configure(settings({{"ordering", "none"}, {"atomicity", "none"}, {"core.count", "1"}}));
  Platform platform(nothing);
  PersistPort port;
  port.connect(platform.context());
  const auto write = [line](std::uint64_t value) {
    return Write{.line = line, .data = data_of(value), .persisted = {}, .written = {}};
  };
  struct Core {
    bool heard = false;
    void acknowledged(std::uint64_t, Time) { heard = true; }
  } core;
  port.send(0, write(1), completion<&Core::acknowledged>(core));
  platform.design.backend().write(write(2));  // an eviction, say: it is there at once
  platform.run();
  EXPECT_TRUE(core.heard);
  EXPECT_EQ(value_of(platform.design.backend().surviving(line)), 2u);
}

}  // namespace
}  // namespace pmemsim
