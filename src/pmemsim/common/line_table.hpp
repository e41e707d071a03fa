// Hash tables from lines, or other numbers, to values; a look-up takes one or two steps.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "pmemsim/common/slab.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// A hash table for the lines that one region touches, with a fast clear(). Values do not move until
// the table grows or a key is erased. A key is a type whose only member is a `number`.
template <class Key, class Value>
class FlatTable {
 public:
  Value* find(Key key) {
    Entry& entry = entries_[slot_of(key)];
    return entry.generation == generation_ ? &entry.value : nullptr;
  }
  const Value* find(Key key) const { return const_cast<FlatTable*>(this)->find(key); }

  // Inserts a key that is not in the table.
  Value& insert(Key key) {
    if (2 * ++size_ > entries_.size()) grow();
    Entry& entry = entries_[slot_of(key)];
    entry = {generation_, key, {}};
    return entry.value;
  }

  // Erases a key that is in the table. Later entries that are not in their home slot move up.
  void erase(Key key) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t hole = slot_of(key);
    assert(entries_[hole].generation == generation_);
    for (std::size_t at = (hole + 1) & mask; entries_[at].generation == generation_;
         at = (at + 1) & mask) {
      if (((at - home(entries_[at].key)) & mask) < ((at - hole) & mask)) continue;
      entries_[hole] = std::move(entries_[at]);
      hole = at;
    }
    entries_[hole].generation = 0;
    --size_;
  }

  std::size_t size() const { return size_; }
  // Calls visit(key, value) for each entry, in no particular order.
  template <class Visit>
  void for_each(Visit visit) {
    for (Entry& entry : entries_) {
      if (entry.generation == generation_) visit(entry.key, entry.value);
    }
  }
  template <class Visit>
  void for_each(Visit visit) const {
    const_cast<FlatTable*>(this)->for_each([&](Key key, const Value& value) { visit(key, value); });
  }

  void clear() {
    ++generation_;
    size_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t generation = 0;
    Key key;
    Value value{};
  };

  // Returns the slot of the key in an empty table.
  std::size_t home(Key key) const {
    return ((key.number * 0x9e3779b97f4a7c15) >> 32) & (entries_.size() - 1);
  }
  // Returns the slot that holds the key, or the free slot where it would be inserted.
  std::size_t slot_of(Key key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = home(key);
    while (entries_[at].generation == generation_ && entries_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (Entry& entry : old) {
      if (entry.generation == generation_) entries_[slot_of(entry.key)] = std::move(entry);
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(64);
  std::uint64_t generation_ = 1;
  std::size_t size_ = 0;
};

template <class Value>
using LineTable = FlatTable<Line, Value>;

// A map for larger values, of lines that are inserted and erased one by one. Values never move.
template <class Value>
class LineMap {
 public:
  Value* find(Line line) {
    const std::uint32_t* slot = slots_.find(line);
    return slot == nullptr ? nullptr : &values_[*slot];
  }
  bool contains(Line line) const { return slots_.find(line) != nullptr; }
  // Returns the line's value; inserts a new one if the line is not in the map.
  Value& operator[](Line line) {
    if (Value* found = find(line)) return *found;
    const std::uint32_t slot = slots_.insert(line) = values_.take();
    return values_[slot] = Value{};
  }
  // Erases a line that is in the map.
  void erase(Line line) {
    values_.release(*slots_.find(line));
    slots_.erase(line);
  }
  std::size_t size() const { return slots_.size(); }

 private:
  LineTable<std::uint32_t> slots_;
  Slab<Value> values_;
};

}  // namespace pmemsim
