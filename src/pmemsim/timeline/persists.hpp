// Persists: the writes of a run, each with its stages from the store queue to its bank.
//
//   1  A data write was caused by the latest flush of its line that had left the store queue and
//   has
//      caused no other write. If there is none, it was caused by the latest visible store to the
//      line: a design may write lines without a flush, and caches evict lines. Cores compute ahead,
//      so that a flush or store may be logged before an earlier write of the line arrives.
//   2  A write of a hardware log belongs to the region that owns it.
//   3  Writes of the backend's own metadata have no core.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/stage_log.hpp"
#include "pmemsim/machine/memory/write.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

struct Persist {
  enum class Fate : std::uint8_t {
    kWritten,
    kMerged,     // an older write of its line in the queue has taken its bytes
    kDropped,    // the design has dropped it
    kDuplicate,  // only its metadata are written, because PM has its data at another location
  };
  // The flush or store that has caused the write.
  struct Origin {
    CoreId core = 0;
    std::uint64_t region = 0;  // 0: none
    std::uint32_t site = 0;
    trace::Purpose purpose = trace::Purpose::kProgram;
    bool flush = false;
    bool used = false;  // true of a flush that has caused a write
    // It retires; is the head of the store queue (a store: and allowed by the layers); leaves.
    Time retired{}, head{}, left{};
  };

  std::uint64_t id = 0;  // 0: a write of the backend
  WriteKind kind = WriteKind::kMetadata;
  Fate fate = Fate::kWritten;
  Line line, home;
  std::optional<Origin> origin{};
  std::optional<CoreId> core{};
  std::uint64_t region = 0;  // 0: none, or not known
  std::uint32_t channel = 0, bank = 0;
  // It reaches the backend; its operations are over (kNever: there are none); it arrives at its
  // queue; is accepted; its bank starts, finishes. Only those before `end` have happened.
  Time issued = kNever, encoded = kNever, arrived = kNever, accepted = kNever, started = kNever,
       finished = kNever;
  Time persistent = kNever;  // kNever: not this write
  Time end{};

  Time begin() const {
    if (origin) return origin->flush ? origin->retired : origin->left;
    return min(issued, arrived);
  }
  std::string_view name() const;
};

class PersistTracker {
 public:
  // Returns the write that is over with this event, if there is one.
  std::optional<Persist> add(const StageEvent& event);

 private:
  void add_origin(const StageEvent& event);
  std::optional<Persist::Origin> origin_of(Line line, Time issued);
  void issue(const StageEvent& event);
  std::optional<Persist> end(std::uint64_t id, Persist::Fate fate, Time when);
  std::optional<Persist> end_early(const StageEvent& event);
  std::optional<Persist> write(const StageEvent& event);

  static constexpr std::size_t kMostOrigins = 4;

  std::unordered_map<std::uint64_t, Persist> open_;  // by id
  // By line: the latest flushes and stores, oldest first.
  std::unordered_map<std::uint64_t, std::vector<Persist::Origin>> origins_;
};

}  // namespace pmemsim
