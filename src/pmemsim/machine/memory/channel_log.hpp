// The entries of a channel in the log of stages: its requests, merges and the occupancy of its
// queues. Without a log, each call is one comparison.
#pragma once

#include <cstdint>

#include "pmemsim/common/stage_log.hpp"
#include "pmemsim/machine/memory/banks.hpp"

namespace pmemsim {

class ChannelLog {
 public:
  // Logs under this number of the channel.
  void start(StageLog* stages, std::uint32_t channel) {
    stages_ = stages;
    channel_ = channel;
  }

  void occupancy(LoggedStructure queue, std::uint32_t entries, Time now) const {
    if (stages_ == nullptr) [[likely]]
      return;
    stages_->add({.stage = Stage::kOccupancy,
                  .detail = static_cast<std::uint8_t>(queue),
                  .unit = channel_,
                  .id = entries,
                  .at = {now}});
  }
  void merge(const Write& write, const Write& with, Time now) const {
    if (stages_ == nullptr) [[likely]]
      return;
    stages_->add({.stage = Stage::kMerge,
                  .flag = true,
                  .id = write.logged,
                  .merged_into = with.logged,
                  .at = {now}});
  }
  void drop(const PendingWrite& pending, Time now) const {
    if (stages_ == nullptr) [[likely]]
      return;
    const bool accepted = pending.state == PendingWrite::State::kQueued;
    stages_->add({.stage = Stage::kDrop,
                  .flag = true,
                  .id = pending.write.logged,
                  .at = {now, accepted ? pending.accepted : kNever,
                         accepted && pending.persistent ? pending.accepted : kNever}});
  }
  void read(const PendingRead& read, Time started, Time data_end, Time answered) const {
    if (stages_ == nullptr) [[likely]]
      return;
    stages_->add({.stage = Stage::kRead,
                  .unit = channel_,
                  .part = read.bank,
                  .line = read.line,
                  .at = {read.arrived, started, data_end, answered}});
  }
  void write(const PendingWrite& pending, Time started, Time finished) const {
    if (stages_ == nullptr) [[likely]]
      return;
    stages_->add({.stage = Stage::kWrite,
                  .detail = static_cast<std::uint8_t>(pending.write.kind),
                  .flag = !pending.persistent,
                  .unit = channel_,
                  .part = pending.bank,
                  .id = pending.write.logged,
                  .line = pending.write.line,
                  .at = {pending.arrived, pending.accepted, started, finished}});
  }
  // Logs the refreshes that are due from `first` to before `next`, which wait until `closed`.
  void refreshes(Time first, Time next, Time closed, const Timing& timing) const {
    if (stages_ == nullptr) [[likely]]
      return;
    for (Time due = first; due < next; due += timing.refi) {
      const Time begin = max(due, closed);
      stages_->add({.stage = Stage::kRefresh, .unit = channel_, .at = {begin, begin + timing.rfc}});
    }
  }

 private:
  StageLog* stages_ = nullptr;
  std::uint32_t channel_ = 0;
};

}  // namespace pmemsim
