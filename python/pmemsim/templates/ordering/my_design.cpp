#include "my_design.hpp"

#include <utility>

namespace my_design {

MyDesign::MyDesign(std::uint32_t cores, const MyDesignParameters& parameters)
    : parameters_(parameters), cores_(cores) {}

void MyDesign::connect(const LayerContext& context) {
  port_.connect(context);
  pm_space_ = &context.pm_space;
  program_events_ = &context.program_events;
}

// The design's program is the recorded one without its flushes.
Lowering MyDesign::lowering() const {
  Lowering lowering;
  lowering.keeps_flushes.fill(false);
  lowering.keeps_non_temporal = false;
  return lowering;
}

bool MyDesign::store(const Store& store, Time, Completion resume) {
  PerCore& core = cores_[store.core];
  if (core.in_flight < parameters_.most_in_flight) return true;
  ++statistics_.stalls;
  core.blocked = resume;
  return false;
}

void MyDesign::visible(CoreId core, Line line) {  // rule 1
  ++cores_[core].in_flight;
  ++statistics_.sent;
  port_.send(core,
             {.line = line, .data = pm_space_->newest().read(line), .persisted = {}, .written = {}},
             completion<&MyDesign::acknowledged>(*this, core));
}

bool MyDesign::fence(const Fence& fence, Time, Completion resume) {  // rule 2
  PerCore& core = cores_[fence.core];
  if (core.in_flight == 0 || parameters_.faults.fence) {
    program_events_->fence_fulfilled(fence.core, fence.number);
    return true;
  }
  core.fence = fence.number;
  core.waiting = resume;
  return false;
}

void MyDesign::acknowledged(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  --core.in_flight;
  if (core.blocked) std::exchange(core.blocked, {})(now);
  if (core.in_flight > 0 || !core.waiting) return;
  program_events_->fence_fulfilled(static_cast<CoreId>(number), core.fence);
  std::exchange(core.waiting, {})(now);
}

std::string MyDesign::pending() const {
  for (const PerCore& core : cores_) {
    if (core.in_flight > 0) return "my-design: lines in flight to PM";
  }
  return "";
}

Choice my_design_row() {
  return {.name = "my-design",
          .summary = "Every store is sent to PM; a fence waits for all earlier stores",
          .gives = {kOrderingFences, kDurableFences},
          .promises = {.fences = FencePromise::kStores},
          .parameters = {ParameterGroup::of<MyDesignParameters>("my_design")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
            return std::make_unique<MyDesign>(blueprint.cores,
                                              blueprint.parameters<MyDesignParameters>());
          }};
}

}  // namespace my_design

PMEMSIM_PLUGIN(my_design::my_design_row())
