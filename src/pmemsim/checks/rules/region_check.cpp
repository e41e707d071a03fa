#include "pmemsim/checks/rules/region_check.hpp"

#include <algorithm>

namespace pmemsim::check {
namespace {

// Larger ranges are recorded only as declared, without their lines.
constexpr std::uint64_t kMostDeclared = std::uint64_t{1} << 26;

// Calls visit(line, bytes of it) for each line of a range.
template <class Visit>
void for_each_line(std::uint64_t address, std::uint64_t bytes, Visit visit) {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const std::uint64_t offset = address % kLineBytes;
    const std::uint64_t count = std::min(end - address, kLineBytes - offset);
    visit(Line::of(address), bytes_from(offset, count));
    address += count;
  }
}

// The words that contain some of a line's bytes.
Words words_of(ByteMask bytes) {
  Words words = 0;
  for (unsigned word = 0; word < kLineBytes / 8; ++word) {
    if ((bytes >> (8 * word) & 0xff) != 0) words |= static_cast<Words>(1u << word);
  }
  return words;
}

}  // namespace

void RegionCheck::begin() {
  if (depth_++ > 0) return;
  region_ = shared_.ends.size();
  shared_.ends.push_back(Declared::kOpen);
}

void RegionCheck::end() {
  if (depth_ == 0 || --depth_ > 0) return;
  lines_.for_each([&](Line, const RegionLine& line) {
    for (const StoreList::Store& store : line.undeclared.distinct()) {
      findings_.add(Kind::kNotLogged, Reason::kNone, store.at);
    }
  });
  shared_.ends[region_] = order_.now(thread_);
  lines_.clear();
  allocated_.clear();
}

// pm.h's allocations are whole lines.
ByteMask RegionCheck::allocated_bytes(Line line) const {
  ByteMask bytes = 0;
  for (const Range& range : allocated_) {
    const std::uint64_t begin = std::max(range.address, line.address());
    const std::uint64_t end = std::min(range.address + range.bytes, line.address() + kLineBytes);
    if (begin < end) bytes |= bytes_from(begin - line.address(), end - begin);
  }
  return bytes;
}

void RegionCheck::allocated(std::uint64_t address, std::uint64_t bytes) {
  if (!open()) return;
  const bool exact = logged_.exact(Line::of(address));
  const std::uint64_t lines = (bytes + kLineBytes - 1) / kLineBytes;
  allocated_.push_back({address, exact ? bytes : lines * kLineBytes});
}

void RegionCheck::declare(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (!open() || redo_ || bytes == 0) return;
  if (bytes > kMostDeclared) return allocated(address, bytes);
  bool before = true;
  At first{};
  for_each_line(address, bytes, [&](Line number, ByteMask mask) {
    RegionLine& known = line(number);
    before = before && (mask & ~known.declared) == 0;
    const ByteMask logged = logged_.of(number, mask);
    if ((logged & ~known.logged) != 0) {
      declare_line(at, number, known, logged);
    } else {
      first = known.declared_at;
    }
    known.declared |= mask;
  });
  if (before) findings_.add(Kind::kLoggedTwice, Reason::kNone, at, first);
}

// Rules R2 and R4.
void RegionCheck::declare_line(const At& at, Line number, RegionLine& line, ByteMask logged) {
  line.declared_at = at;
  line.logged |= logged;
  StoreList rest;
  for (StoreList::Store store : line.undeclared.distinct()) {
    if ((store.words & words_of(logged)) != 0) {
      findings_.add(Kind::kLoggedLate, Reason::kNone, at, store.at);
    }
    store.words &= static_cast<Words>(~words_of(logged));
    if (store.words != 0) rest.add(store);
  }
  line.undeclared = rest;
  Declared* last = shared_.declared.find(number);
  if (last == nullptr) {
    last = &shared_.declared.insert(number);
  } else if (last->at.thread != at.thread && (last->logged & logged) != 0) {
    const HappensBefore::Epoch end = shared_.ends[last->region];
    if (end == Declared::kOpen || !order_.before(last->at.thread, end, at.thread)) {
      findings_.add(Kind::kLoggedByTwo, Reason::kNone, at, last->at);
    }
  }
  *last = {at, region_, line.logged};
}

void RegionCheck::store(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (!open()) return;
  for_each_line(address, bytes, [&](Line number, ByteMask mask) {
    if (!redo_ && (mask & ~allocated_bytes(number)) == 0) return;
    RegionLine& known = line(number);
    const ByteMask unsaved = mask & ~known.logged & (redo_ ? kWholeLine : ~allocated_bytes(number));
    if (unsaved != 0) known.undeclared.add({at, findings_.place_of(at), words_of(unsaved)});
  });
}

}  // namespace pmemsim::check
