// Crashes of a design that sends the bytes of each store by themselves: the stores of two cores to
// one line survive as far as each is guaranteed. Writes may be merged, held by operations, or torn
// where the device is written word by word.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/persist_port.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "preparing_backend.hpp"
#include "shared_regions.hpp"

namespace pmemsim {
namespace {

// Each core's stores have a path of their own, as in PMEM-Spec; a fence waits for them. A write
// contains only the stored bytes; the other bytes hold a pattern that must not reach PM.
class StoredBytes final : public Ordering {
 public:
  explicit StoredBytes(std::uint32_t cores) : cores_(cores) {}
  void connect(const LayerContext& context) override {
    port_.connect(context);
    program_events_ = &context.program_events;
  }
  Lowering lowering() const override {
    Lowering lowering;
    lowering.keeps_flushes.fill(false);
    return lowering;
  }
  std::uint32_t interests() const override { return kStores | kVisibleStores | kEvictions; }

  bool store(const Store& store, Time, Completion) override {
    Write& next = cores_[store.core].next;
    next.line = store.line();
    next.owner = store.core % 2;  // so that some cores' writes merge
    next.data.fill(std::byte{0xee});
    std::copy_n(store.value, store.size, next.data.begin() + store.address % kLineBytes);
    next.bytes = bytes_from(store.address % kLineBytes, store.size);
    return true;
  }
  void visible(CoreId core, Line) override {
    ++cores_[core].outstanding;
    port_.send(core, cores_[core].next, completion<&StoredBytes::acknowledged>(*this, core));
  }
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence& fence, Time, Completion resume) override {
    PerCore& core = cores_[fence.core];
    if (core.outstanding == 0) {
      program_events_->fence_fulfilled(fence.core, fence.number);
      return true;
    }
    core.fence = fence.number;
    core.waiting = resume;
    return false;
  }
  Eviction evicted(Line, const LineData&, Time) override { return Eviction::kTaken; }
  bool may_leave(Line) const override { return false; }

 private:
  struct PerCore {
    Write next{};
    std::uint32_t outstanding = 0;
    std::uint64_t fence = 0;
    Completion waiting;
  };
  void acknowledged(std::uint64_t number, Time now) {
    PerCore& core = cores_[number];
    if (--core.outstanding > 0 || !core.waiting) return;
    program_events_->fence_fulfilled(static_cast<CoreId>(number), core.fence);
    std::exchange(core.waiting, {})(now);
  }

  std::vector<PerCore> cores_;
  PersistPort port_;
  const ProgramEvents* program_events_ = nullptr;
};

const ChoiceTable& with_stored_bytes() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = with_doubles();
    table.push_back({.name = "stored-bytes",
                     .summary = "Every store's bytes go to PM by themselves",
                     .promises = {.fences = FencePromise::kStores},
                     .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
                       return std::make_unique<StoredBytes>(blueprint.cores);
                     }});
    return table;
  }();
  return kTable;
}

struct Way {
  std::string_view name, persistence, backend = "none", precompute = "none";
  std::string_view few_entries = "2";
};

class StoredBytesCrash : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, StoredBytesCrash,
                         testing::Values(Way{"Accepted", "accepted"}, Way{"Written", "written"},
                                         Way{"Delaying", "accepted", "delaying"},
                                         Way{"PreparingAndDelaying", "accepted",
                                             "preparing,delaying", "random", "3"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(StoredBytesCrash, SurvivesEveryCrash) {
  for (const std::string_view wpq_entries : {GetParam().few_entries, std::string_view("16")}) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      const Configuration configuration =
          configure(settings({{"ordering", "stored-bytes"},
                              {"atomicity", "none"},
                              {"backend", GetParam().backend},
                              {"precompute", GetParam().precompute},
                              {"pm.persistence", GetParam().persistence},
                              {"pm.wpq_entries", wpq_entries}}),
                    with_stored_bytes());
      const SharedRun run = crash_shared(
          {.seed = seed, .threads = 4, .false_sharing = true, .lines_per_lock = 1}, configuration);
      EXPECT_EQ(run.problem, "") << seed;
      EXPECT_GT(run.crashes, 100u);
    }
  }
}

}  // namespace
}  // namespace pmemsim
