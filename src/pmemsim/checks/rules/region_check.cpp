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

bool RegionCheck::allocated_here(std::uint64_t address) const {
  return std::ranges::any_of(
      allocated_, [&](const Range& range) { return address - range.address < range.bytes; });
}

void RegionCheck::allocated(std::uint64_t address, std::uint64_t bytes) {
  if (!open()) return;
  allocated_.push_back({address, (bytes + kLineBytes - 1) / kLineBytes * kLineBytes});
}

void RegionCheck::declare(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (!open() || redo_ || bytes == 0) return;
  if (bytes > kMostDeclared) return allocated(address, bytes);
  bool before = true;
  At first{};
  for_each_line(address, bytes, [&](Line number, ByteMask mask) {
    RegionLine& known = line(number);
    before = before && (mask & ~known.declared) == 0;
    if (known.declared == 0) {
      declare_line(at, number, known);
    } else {
      first = known.declared_at;
    }
    known.declared |= mask;
  });
  if (before) findings_.add(Kind::kLoggedTwice, Reason::kNone, at, first);
}

// Rules R2 and R4.
void RegionCheck::declare_line(const At& at, Line number, RegionLine& line) {
  line.declared_at = at;
  for (const StoreList::Store& store : line.undeclared.distinct()) {
    findings_.add(Kind::kLoggedLate, Reason::kNone, at, store.at);
  }
  line.undeclared.clear();
  Declared* last = shared_.declared.find(number);
  if (last == nullptr) {
    last = &shared_.declared.insert(number);
  } else if (last->at.thread != at.thread) {
    const HappensBefore::Epoch end = shared_.ends[last->region];
    if (end == Declared::kOpen || !order_.before(last->at.thread, end, at.thread)) {
      findings_.add(Kind::kLoggedByTwo, Reason::kNone, at, last->at);
    }
  }
  *last = {at, region_};
}

void RegionCheck::store(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (!open()) return;
  for_each_line(address, bytes, [&](Line number, ByteMask) {
    if (!redo_ && allocated_here(number.address())) return;
    RegionLine& known = line(number);
    if (known.declared == 0) known.undeclared.add({at, findings_.place_of(at), 0});
  });
}

}  // namespace pmemsim::check
