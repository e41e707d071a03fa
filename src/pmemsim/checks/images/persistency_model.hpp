// What a crash may leave of a recorded program's persistent memory, by x86's persistency model
// instead of by what one machine happens to do: a set of images at each instant.
//
// The model (Raad, Wickerson, Neiger, Vafeiadis: "Persistency semantics of the Intel-x86
// architecture", POPL 2020; Khyzha, Lahav: "Taming x86-TSO persistency", POPL 2021), as rules:
//
//   1  A store is cut at aligned 8 bytes into pieces; each is there whole or not at all. The pieces
//      of a store of more than 8 bytes became visible in ascending order. Those of a copy (memcpy,
//      memset, rep movs, rep stos: recordings don't tell these apart) have no order among
//      themselves.
//   2  Of each line, a prefix of all threads' pieces is there, in the order in which they became
//      visible (visible_order.hpp). Lines are otherwise independent.
//   3  clflush: what becomes visible later, by any thread, is there only with the prefix that the
//      line had at the flush.
//   4  clwb, clflushopt: the same, but only what becomes visible after their thread's next fence:
//      sfence, mfence or a locked instruction (an atomic update, an exchange, the acquisition of a
//      lock). The prefix is that as of the flush.
//   5  Pieces of non-temporal stores aren't in their line's prefix and need no flush. What becomes
//      visible after their thread's next fence is there only with them; until then any of them are.
//   6  A byte holds what the last one that is there, in the order of visibility, has stored to it.
//   7  A crash comes after any number of visible operations. What isn't visible yet isn't there.
//   8  eADR, instead of 2 to 4: what becomes visible later is there only with all that was visible
//      before, but for pieces of non-temporal stores, which follow rule 5, and of the same copy.
//
// A rule "what becomes visible after it is there only with X" takes effect when that "it" executes,
// and makes X *sure*. That gives the same images as the rule says: of an image that X isn't in
// nothing became visible later, so that it is one of a crash right before. So the images of an
// instant are those that hold, of each line, the sure pieces, and of the others (the *open* ones)
// any prefix and any non-temporal ones. While nothing becomes sure, sets only grow. So the only
// instants that matter are those right before something becomes sure and the end, and of these only
// the ones with pieces that no instant before had.
//
// A piece that changes nothing is left out, since it would leave the same images twice; unless it
// may be there without what its line held before, which takes a non-temporal store.
//
// Not modelled: the order in which loads execute, and store buffers: the recorded order of
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

  // At most 8 bytes of a store.
  struct Piece {
    std::uint64_t value;
    std::uint64_t order;   // of visibility, among all pieces, from 1
    std::uint64_t copy;    // which copy it belongs to, from 1; 0: none
    std::uint64_t number;  // of the thread's operation
    std::uint64_t step;    // the visible operation that it belongs to, from 1
    std::uint32_t site;
    std::uint32_t thread;
    std::uint8_t offset;  // in the line
    std::uint8_t size;
    bool non_temporal;
    bool sure;
  };
  // Those of a line in the order of visibility, from the first open one on.
  using Pieces = std::vector<Piece>;

  // `without`: flushes and fences that are left out (visible_order.hpp). Throws trace::TraceError.
  PersistencyModel(const trace::TraceFile& trace, PersistencyRules rules,
                   trace::LeftOut without = {});

  // Goes to the next instant that matters. False: there are no more.
  bool next();

  // By the line's number: the lines with open pieces.
  const std::map<std::uint64_t, Pieces>& open() const { return open_; }
  // Pieces beyond this one became visible since the instant before.
  std::uint64_t last_order() const { return last_order_; }
  // What is there whatever happens, but for sure pieces behind open ones.
  const Image& base() const { return base_; }
  // Lines in which that has changed since the instant before; may name a line twice.
  const std::vector<Line>& base_changes() const { return base_changes_; }
  // All that is visible.
  const Image& newest() const { return newest_; }

  // An operation of a thread, as VisibleOrder has them.
  struct Place {
    std::uint32_t site = kNone;  // kNone: there is none
    std::uint32_t thread = 0;
    std::uint64_t number = 0;
  };
  // The clwb or clflushopt of an open piece that waits for its fence, if there is one.
  Place flushed_at(Line line, const Piece& piece) const;

  // How many pieces are visible, and how many operations have begun to be.
  std::uint64_t newest_order() const { return newest_order_; }
  std::uint64_t steps() const { return steps_; }
  // What became sure since the instant before, by which operation; the newest of all that is sure.
  struct Sure {
    std::uint64_t order, step;
  };
  const std::vector<Sure>& made_sure() const { return made_sure_; }
  std::uint64_t newest_sure_step() const { return newest_sure_step_; }

  PersistencyRules rules() const { return rules_; }
  // The operation that makes something sure: it comes right after the crash. False at the end.
  bool at_end() const { return ended_; }
  const VisibleOrder& next_operation() const { return order_; }
  // By thread: its last visible operation, but of calls that synchronise (which have no line) only
  // if there is no other one.
  const std::vector<Place>& last_places() const { return last_places_; }

 private:
  struct Flush {
    std::uint64_t order;  // of the newest piece before it
    Place place;
  };
  struct Thread {
    std::map<std::uint64_t, Flush> flushed;   // by line: what the next fence makes sure
    std::vector<std::uint64_t> non_temporal;  // lines with pieces that wait for the next fence
  };

  Place place() const { return {order_.operation().site, order_.thread(), order_.number()}; }
  bool step();
  bool stores() const;
  bool copies() const;
  bool in_pm() const { return pm_.contains(order_.operation().address + done_); }
  bool is_fence() const;
  bool makes_sure() const;
  bool fence_makes_sure() const;
  bool flush_makes_sure() const;
  bool store_makes_sure() const;
  bool continues_copy() const;
  void execute();
  void note_copy();
  void store_piece();
  bool may_come_alone(Line line, const Piece& piece) const;
  void add(Line line, const Piece& piece);
  void flush();
  void fence();
  void make_sure(std::uint64_t line, std::uint64_t order);
  void make_visible_sure();
  void note_sure(Piece& piece);
  void settle(std::map<std::uint64_t, Pieces>::iterator line);

  const PersistencyRules rules_;
  VisibleOrder order_;
  mutable trace::PmAddresses pm_;  // remembers where it was asked last
  Image base_, newest_;
  std::map<std::uint64_t, Pieces> open_;
  std::vector<Thread> threads_;
  std::vector<Place> last_places_;
  std::vector<Line> base_changes_;
  std::vector<std::uint64_t> visible_lines_;  // rule 8: with pieces to be made sure next
  std::vector<Sure> made_sure_;
  std::uint64_t newest_order_ = 0, instant_order_ = 0, last_order_ = 0;
  std::uint64_t steps_ = 0, newest_sure_step_ = 0;
  std::uint64_t done_ = 0;  // bytes of the current store that are visible
  // The copy of the last piece: its number, thread and operation; 0: that was no copy's.
  std::uint64_t copies_ = 0, copy_ = 0, copy_operation_ = 0;
  std::uint32_t copy_thread_ = 0;
  std::uint64_t visible_copy_ = 0;  // rule 8: of those pieces
  bool begun_ = false, ended_ = false, waiting_ = false;
};

// The line as it is with some of its pieces, all sure ones among them; `present` says by index
// which.
template <class Present>
LineData contents_of(LineData base, const PersistencyModel::Pieces& pieces, Present present) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].sure && !present(i)) continue;
    std::memcpy(base.data() + pieces[i].offset, &pieces[i].value, pieces[i].size);
  }
  return base;
}

}  // namespace pmemsim
