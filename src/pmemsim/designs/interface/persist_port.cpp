#include "pmemsim/designs/interface/persist_port.hpp"

namespace pmemsim {

void PersistPort::send(CoreId core, const Write& write, Completion acknowledged) {
  const std::uint32_t slot = sent_.take();
  sent_[slot] = {write, acknowledged};
  sent_[slot].write.departure = context_->pm.next_departure();
  context_->queue.schedule(context_->queue.now() + context_->caches.core_to_controller(core),
                           Phase::kController, completion<&PersistPort::arrive>(*this, slot));
}

void PersistPort::arrive(std::uint64_t slot, Time) {
  Write write = sent_[static_cast<std::uint32_t>(slot)].write;
  write.persisted = completion<&PersistPort::persisted>(*this, slot);
  context_->pm.write(write);
}

void PersistPort::persisted(std::uint64_t slot, Time now) {
  const Completion& persisted = sent_[static_cast<std::uint32_t>(slot)].write.persisted;
  if (persisted) persisted(now);
  context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                           completion<&PersistPort::acknowledge>(*this, slot));
}

void PersistPort::acknowledge(std::uint64_t slot, Time now) {
  const Completion acknowledged = sent_[static_cast<std::uint32_t>(slot)].acknowledged;
  sent_.release(static_cast<std::uint32_t>(slot));
  acknowledged(now);
}

}  // namespace pmemsim
