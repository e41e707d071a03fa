// The crash images that x86's persistency model allows for a recorded program: a set of images at
// each instant. They do not depend on the behaviour of one machine.
//
// The model (Raad, Wickerson, Neiger, Vafeiadis: "Persistency semantics of the Intel-x86
// architecture", POPL 2020; Khyzha, Lahav: "Taming x86-TSO persistency", POPL 2021), as rules:
//
//   1  A store is cut into *segments* at addresses that are multiples of 8 B. A crash leaves each
//      segment whole or not at all. The segments of a store of more than 8 B become visible in
//      ascending order. The segments of a copy (memcpy, memset, rep movs, rep stos: recordings do
//      not distinguish them) have no order among themselves.
//   2  An image contains a prefix of each line's segments, of all threads, in the order in which
//      they became visible (visible_order.hpp). Lines are otherwise independent.
//   3  clflush: an image contains segments that become visible later, in any thread, only together
//      with the prefix that the line had at the flush.
//   4  clwb, clflushopt: the same as rule 3, but only for segments that become visible after the
//      flushing thread's next fence: sfence, mfence or a locked instruction (an atomic update, an
//      exchange, the acquisition of a lock). The prefix is the line's prefix at the flush.
//   5  Segments of non-temporal stores are not in their line's prefix and need no flush. Segments
//      that become visible after their thread's next fence are in an image only together with the
//      non-temporal segments. Until that fence, an image contains any subset of the non-temporal
//      segments.
//   6  A byte holds the value of the segment that stored to it last, in the order of visibility,
//      among the segments in the image.
//   7  A crash occurs after any number of visible operations. Segments that are not visible yet are
//      not in the image.
//   8  eADR, instead of rules 2 to 4: segments that become visible later are in an image only
//      together with all segments visible before. Exceptions are segments of non-temporal stores,
//      which follow rule 5, and segments of the same copy.
//   9  If one of several hosts fails (partial failure), as in CXL0 (Assa, Lumme, Buergi, Friedman,
//      Lahav: "A Programming Model for Disaggregated Memory over CXL", ASPLOS 2026): the shared
//      device and the caches of the other hosts continue. A load or store of a surviving host's
//      thread fetches the line, with all its visible segments, into a cache that survives. So later
//      segments are in an image only together with these. Stores of surviving hosts' threads are
//      never lost. For the failed host's threads, rules 2 to 5 hold.
//
// A rule "segments that become visible after an operation are in the image only with X" takes
// effect when that operation executes. It makes X *guaranteed* (persistent). The images are the
// same: an image without X contains no later segment, so it is an image of a crash right before.
// The other segments are *open* (possibly lost). At each instant, an image contains each line's
// guaranteed segments, any prefix of its open segments, and any of its non-temporal open segments.
// While no segment becomes guaranteed, the set of images only grows. The only instants that matter
// are those right before a segment becomes guaranteed, and the end. They matter only if they have
// segments that no earlier instant had.
//
// A segment that changes nothing is omitted, since it would leave the same images twice. If the
// line has non-temporal stores, such a segment may persist without the line's previous contents;
// then it is kept.
//
// Not modelled: the order in which loads execute, and store buffers. The recorded order of
// visibility is the only one.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "pmemsim/checks/images/visible_order.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

enum class PersistencyRules : std::uint8_t { kPx86, kEadr };

class PersistencyModel {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // At most 8 B of a store.
  struct Segment {
    std::uint64_t value;
    std::uint64_t order;   // Number in the order of visibility of all segments, from 1
    std::uint64_t copy;    // Number of its copy, from 1; 0: none
    std::uint64_t number;  // Number of the thread's operation
    std::uint64_t step;    // Number of its visible operation, from 1
    std::uint32_t site;
    std::uint32_t thread;
    std::uint8_t offset;  // Offset in the line, in B
    std::uint8_t size;
    bool non_temporal;
    bool guaranteed;
  };
  // A line's segments in the order of visibility, from the first open one on.
  using Segments = std::vector<Segment>;

  // Reads the recording. Throws trace::TraceError.
  PersistencyModel(const trace::TraceFile& trace, PersistencyRules rules, Variation variation = {});

  // Moves to the next instant that matters. Returns false if there are no more.
  bool next();

  // Returns the lines with open segments, by the line's number.
  const std::map<std::uint64_t, Segments>& open() const { return open_; }
  // Returns the `order` of the last segment that the previous instant had.
  std::uint64_t last_order() const { return last_order_; }
  // Returns the data that every crash image contains, except guaranteed segments that follow open
  // segments.
  const Image& base() const { return base_; }
  // Returns the lines in which the base has changed since the previous instant; may list a line
  // twice.
  const std::vector<Line>& base_changes() const { return base_changes_; }
  // Returns all visible data.
  const Image& newest() const { return newest_; }

  // An operation of a thread, numbered as in VisibleOrder.
  struct Position {
    std::uint32_t site = kNone;  // kNone: there is no operation
    std::uint32_t thread = 0;
    std::uint64_t number = 0;
  };
  // Returns the clwb or clflushopt of an open segment whose fence has not executed yet, if there is
  // one.
  Position flushed_at(Line line, const Segment& segment) const;

  // Return the number of visible segments, and of operations that have become visible, at least in
  // part.
  std::uint64_t newest_order() const { return newest_order_; }
  std::uint64_t steps() const { return steps_; }
  // A segment that became guaranteed since the previous instant, and the operation that guaranteed
  // it. newest_guaranteed_step() is the newest operation with a guaranteed segment.
  struct Guaranteed {
    std::uint64_t order, step;
  };
  const std::vector<Guaranteed>& newly_guaranteed() const { return newly_guaranteed_; }
  std::uint64_t newest_guaranteed_step() const { return newest_guaranteed_step_; }

  PersistencyRules rules() const { return rules_; }
  // at_end(): true at the end of the recording. Otherwise the crash occurs right before
  // next_operation(), which guarantees segments.
  bool at_end() const { return ended_; }
  const VisibleOrder& next_operation() const { return order_; }
  // Returns each thread's last visible operation. A call that synchronises (which has no source
  // line) counts only if the thread has no other operation.
  const std::vector<Position>& last_positions() const { return last_positions_; }

 private:
  struct Flush {
    std::uint64_t order;  // Order of the newest segment before the flush
    Position position;
  };
  struct Thread {
    std::map<std::uint64_t, Flush> flushed;   // By line: flushes that the next fence completes
    std::vector<std::uint64_t> non_temporal;  // Lines with segments that the next fence guarantees
  };

  Position position() const { return {order_.operation().site, order_.thread(), order_.number()}; }
  bool step();
  bool stores() const;
  bool copies() const;
  bool in_pm() const { return pm_.contains(order_.operation().address + done_); }
  bool is_fence() const;
  bool makes_guaranteed() const;
  bool fence_makes_guaranteed() const;
  bool flush_makes_guaranteed() const;
  bool store_makes_guaranteed() const;
  bool survivor_makes_guaranteed() const;
  std::uint64_t fetched_order() const;
  template <class Visit>
  void for_each_accessed_line(Visit visit) const;
  bool continues_copy() const;
  void execute();
  void note_copy();
  void store_segment();
  bool may_persist_alone(Line line, const Segment& segment) const;
  void add(Line line, const Segment& segment);
  void flush();
  void fence();
  void guarantee(std::uint64_t line, std::uint64_t order);
  void guarantee_visible();
  void note_guaranteed(Segment& segment);
  void merge_guaranteed(std::map<std::uint64_t, Segments>::iterator line);

  const PersistencyRules rules_;
  const HostFailure failure_;
  VisibleOrder order_;
  mutable trace::PmAddresses pm_;  // Caches the last lookup
  Image base_, newest_;
  std::map<std::uint64_t, Segments> open_;
  std::vector<Thread> threads_;
  std::vector<Position> last_positions_;
  std::vector<Line> base_changes_;
  // Rules 8 and 9: lines with segments that become guaranteed next.
  std::vector<std::uint64_t> visible_lines_;
  std::vector<Guaranteed> newly_guaranteed_;
  std::uint64_t newest_order_ = 0, instant_order_ = 0, last_order_ = 0;
  std::uint64_t steps_ = 0, newest_guaranteed_step_ = 0;
  std::uint64_t done_ = 0;  // Number of bytes of the current store that are visible
  // The copy that the last segment belongs to: its number, thread and operation. copy_ is 0 if the
  // last segment is not of a copy.
  std::uint64_t copies_ = 0, copy_ = 0, copy_operation_ = 0;
  std::uint32_t copy_thread_ = 0;
  std::uint64_t order_before_copy_ = 0;  // Order of the last segment before the copy
  std::uint64_t visible_copy_ = 0;       // Copy of the segments in visible_lines_
  bool begun_ = false, ended_ = false, waiting_ = false;
};

// Returns the line's contents with all guaranteed segments and those for which present(index) is
// true.
template <class Present>
LineData contents_of(LineData base, const PersistencyModel::Segments& segments, Present present) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!segments[i].guaranteed && !present(i)) continue;
    std::memcpy(base.data() + segments[i].offset, &segments[i].value, segments[i].size);
  }
  return base;
}

}  // namespace pmemsim
