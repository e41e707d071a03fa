// Findings of the check of a program (program_check.hpp has the rules).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/trace/source_location.hpp"

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
  kCouldReadUnpersisted,
  kCouldLoseUpdate,
  kRepliesUnpersisted,
  kUsedAfterFree,
  kVolatilePointer,
  kTornPublish,
  // The kinds below cost only time or space.
  kLeaked,
  kLoggedTwice,
  kUselessFlush,
  kUselessFence,
};
inline constexpr std::size_t kKinds = 21;

// Detail of a finding: the operation that depends on an unfenced flush, or the reason why a flush
// is useless.
enum class Reason : std::uint8_t {
  kNone,
  kPublished,  // A pointer to the line was stored
  kRegionEnd,
  kUnlock,
  kEnd,  // End of the thread's recording
  kClean,
  kFlushedBefore,
  kOutsidePm,
  kStored,  // A store to freed memory
  kLoaded,
  // Reasons why rules can't decide: the finding is a note.
  kTagBits,
  kSequence,
  kUnreferenced,
  kUnseenPath,
  kFile,      // The reply goes to a file or a terminal
  kOwnStore,  // The reply may promise nothing about the thread's stores
  kBranch,    // Only a branch depends on the data
  kUndoLog,   // Like kPublished; the thread may have logged the former data
  kRedoLog,   // A redo log may have the stored data
  kFreeList,  // The store may link free memory, which recovery links again
};
inline constexpr std::size_t kReasons = 20;

// Return the names that programs read.
std::string_view name_of(Kind kind);
std::string_view name_of(Reason reason);
inline bool loses_data(Kind kind) { return kind < Kind::kLeaked; }

// Another order of the threads that would lose data: an operation happens between a store of
// another thread and the fence that makes the store persistent.
struct OtherOrder {
  trace::SourceLocation store{}, fence{};
  std::vector<trace::SourceLocation> store_calls{}, fence_calls{};  // The innermost first
  std::uint32_t thread = 0;                                         // Thread of the store
  std::uint64_t operation = 0;  // The store's number in the thread, from 0
};

struct Finding {
  Kind kind{};
  Reason reason{};
  trace::SourceLocation place{};
  std::vector<trace::SourceLocation> calls{};  // Calls at the first occurrence, the innermost first
  trace::SourceLocation other{};               // Second location, if the kind has one
  std::vector<trace::SourceLocation> other_calls{};  // Calls that led to it, the innermost first
  std::uint64_t count = 0;
  // Useless flush or fence: its executions from its innermost caller; otherwise 0.
  std::uint64_t executions = 0;
  std::uint32_t thread = 0;           // Thread of the first occurrence
  std::uint64_t operation = 0;        // Its number in the thread, from 0
  std::optional<OtherOrder> order{};  // At the first occurrence, if the kind has one
};

}  // namespace pmemsim::check
