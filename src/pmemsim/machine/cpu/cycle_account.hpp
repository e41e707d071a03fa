// The distribution of a core's cycles over causes. Every slot between the start and the core's last
// retirement belongs to exactly one cause. Therefore the causes add up to the core's time, which
// tests check.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

enum class Cause : std::uint8_t {
  kBase,
  kExecution,
  kBranch,
  kPrivateCache,
  kSharedCache,
  kOtherCore,
  kDram,
  kPm,
  kStoreQueue,
  kFence,
  kLock,
  kCondition,
  kBarrier,
  kJoin,
  kOrder,
  kCommit,
  kLocked,
  kSpeculation,
};
inline constexpr std::size_t kCauses = 18;

struct CauseText {
  std::string_view name, description;
};
inline constexpr std::array<CauseText, kCauses> kCauseTexts{{
    {"base", "retiring instructions at full width"},
    {"execution", "latency of arithmetic and of dependence chains through it"},
    {"branch", "refilling the pipeline after mispredicted branches"},
    {"private_cache", "loads served by the core's own caches, and misses of its first TLB"},
    {"shared_cache", "loads served by the shared cache"},
    {"other_core", "loads of lines that another core had modified"},
    {"dram", "loads served by DRAM"},
    {"pm", "loads served by persistent memory"},
    {"store_queue", "a full or draining store queue without a fence"},
    {"fence", "fences that wait for flushes to become persistent"},
    {"lock", "stalls for locks that other threads hold"},
    {"condition", "stalls for conditions, semaphores and other signals of other threads"},
    {"barrier", "stalls at barriers"},
    {"join", "stalls for the creation or the end of other threads"},
    {"order", "stalls for atomic or racing accesses of other threads that were recorded earlier"},
    {"commit", "stalls at the begin or end of regions"},
    {"locked", "execution of locked instructions and of full fences"},
    {"speculation", "pauses by the design, including the restart of threads after an abort"},
}};

// Returns the cause of a stall in a call that synchronises.
constexpr Cause cause_of(trace::SyncKind kind) {
  switch (kind) {
    case trace::SyncKind::kMutexLock:
    case trace::SyncKind::kReadLock:
    case trace::SyncKind::kWriteLock:
      return Cause::kLock;
    case trace::SyncKind::kBarrierWait:
      return Cause::kBarrier;
    case trace::SyncKind::kThreadStart:
    case trace::SyncKind::kThreadJoin:
      return Cause::kJoin;
    default:
      return Cause::kCondition;
  }
}
// Returns the cause of a stall of an atomic access, which may acquire or test a lock.
constexpr Cause cause_of(trace::LockRole role) {
  return role == trace::LockRole::kNone ? Cause::kOrder : Cause::kLock;
}

class CycleAccount {
 public:
  void add(Cause cause, Slot slots) { slots_[static_cast<std::size_t>(cause)] += slots; }
  Slot operator[](Cause cause) const { return slots_[static_cast<std::size_t>(cause)]; }
  CycleAccount& operator+=(const CycleAccount& other) {
    for (std::size_t i = 0; i < kCauses; ++i) slots_[i] += other.slots_[i];
    return *this;
  }
  Slot total() const {
    Slot sum = 0;
    for (Slot slots : slots_) sum += slots;
    return sum;
  }

 private:
  std::array<Slot, kCauses> slots_{};
};

}  // namespace pmemsim
