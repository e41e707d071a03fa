#include "pmemsim/designs/ordering/speculation_buffers.hpp"

#include <utility>

namespace pmemsim {

void SpeculationBuffers::connect(const LayerContext& context, std::uint32_t controllers,
                                 const SpeculationBuffer& empty, Completion resumed) {
  context_.emplace(context);
  buffers_.assign(controllers, empty);
  resumed_ = resumed;
}

void SpeculationBuffers::write_back(std::uint64_t line, Time) {
  ++statistics_.write_backs;
  of({line}).write_back({line}, clock_.now());
  pause_if_full();
}

void SpeculationBuffers::read(Line line, bool stale) {
  of(line).read(line, stale, clock_.now());
  pause_if_full();
}

std::optional<SpeculationBuffer::Misspeculation> SpeculationBuffers::persist(
    const SpeculationBuffer::Persist& persist) {
  const auto found = of(persist.line).persist(persist, clock_.now());
  pause_if_full();
  return found;
}

void SpeculationBuffers::pause_if_full() {
  const Time now = clock_.now();
  if (context_->program_events.stages() != nullptr) log_occupancy();
  for (SpeculationBuffer& buffer : buffers_) {
    if (!buffer.overflows(now)) continue;
    if (!std::exchange(full_, true)) {
      ++statistics_.overflows;
      full_since_ = context_->queue.now();
      for (CoreId core = 0; core < context_->threads.cores(); ++core) pauses_.pause(core);
      poll_until_free(buffer);
    }
    return;
  }
}

void SpeculationBuffers::log_occupancy() const {
  for (std::uint32_t channel = 0; channel < buffers_.size(); ++channel) {
    context_->program_events.log_occupancy(channel, LoggedStructure::kSpeculationBuffer,
                                           buffers_[channel].entries());
  }
}

// Polls while the windows' clock is stopped, because the time of the next expiry isn't known then.
void SpeculationBuffers::poll_until_free(const SpeculationBuffer& buffer) {
  const Picoseconds sent = buffer.next_expiry() - clock_.now();
  const Picoseconds least =
      clock_.paths_are_backed_up() ? clock_.poll_interval(full_since_) : Picoseconds{0};
  context_->queue.schedule(context_->queue.now() + max(sent, least), Phase::kController,
                           completion<&SpeculationBuffers::resume_when_free>(*this));
}

void SpeculationBuffers::resume_when_free(std::uint64_t, Time now) {
  for (SpeculationBuffer& buffer : buffers_) {
    if (buffer.overflows(clock_.now())) return poll_until_free(buffer);
  }
  full_ = false;
  statistics_.overflow_time += now - full_since_;
  for (CoreId core = 0; core < context_->threads.cores(); ++core) {
    pauses_.resume(core);
    resumed_.call(resumed_.object, core, now);
  }
}

}  // namespace pmemsim
