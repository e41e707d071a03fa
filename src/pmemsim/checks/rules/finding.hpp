// What the check of a program finds (program_check.hpp has the rules).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/trace/source_place.hpp"

namespace pmemsim::check {

enum class Kind : std::uint8_t {
  kNeverFlushed,
  kStoredAfterFlush,
  kFlushedNotFenced,
  kPublishedUnflushed,
  kNtNotFenced,
  kLockedFenceOnly,
  kFlushedByAnother,
  kNotLogged,
  kLoggedLate,
  kLoggedByTwo,
  kReadsUnpersisted,
  kUsedAfterFree,
  kVolatilePointer,
  kTornPublish,
  // What follows only costs time or room.
  kLeaked,
  kLoggedTwice,
  kUselessFlush,
  kUselessFence,
};
inline constexpr std::size_t kKinds = 18;

// What it is about a finding: what depends on a flush that no fence follows, why a flush is
// useless.
enum class Reason : std::uint8_t {
  kNone,
  kPublished,  // a pointer to it was stored
  kRegionEnd,
  kUnlock,
  kEnd,  // of the thread's recording
  kClean,
  kFlushedBefore,
  kOutsidePm,
  kStored,  // to freed memory
  kLoaded,
};
inline constexpr std::size_t kReasons = 10;

// As programs read them.
std::string_view name_of(Kind kind);
std::string_view name_of(Reason reason);
inline bool loses_data(Kind kind) { return kind < Kind::kLeaked; }

struct Finding {
  Kind kind{};
  Reason reason{};
  trace::SourcePlace place{};
  std::vector<trace::SourcePlace> calls{};  // that led there the first time, the innermost first
  trace::SourcePlace other{};               // the other side of it, if it has one
  std::uint64_t count = 0;
  std::uint64_t executions = 0;  // of a useless flush or fence: of the place; else 0
  std::uint32_t thread = 0;      // of the first occurrence
  std::uint64_t operation = 0;   // the same, in the thread, from 0
};

}  // namespace pmemsim::check
