// The runtime's own memory: address space that is reserved once, at a fixed address outside the
// program's memory.
//
// The runtime never calls malloc or mmap while the program runs. Both would change the addresses
// that the program itself gets, depending on timing. A second recording of the same program would
// then have other addresses. Pages become real memory when they are first touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pmemsim::rt {

inline constexpr std::uintptr_t kRuntimeBase = 0x6000'0000'0000;  // the runtime's tables
inline constexpr std::uintptr_t kStackBase = 0x6200'0000'0000;    // the program's stacks
inline constexpr std::uintptr_t kHeapBase = 0x6800'0000'0000;     // the heap that counts as PM

// Maps zeroed memory at `address`; ends the program with a message if that is impossible.
void* reserve(std::uintptr_t address, std::size_t bytes);
// Takes zeroed memory from the runtime's reservation. It is never released.
void* allocate(std::size_t bytes);

// A list that grows in place: it reserves address space for `kCapacity` from the start.
template <class Value, std::size_t kCapacity>
class List {
 public:
  bool push(const Value& value) {
    if (values_ == nullptr) values_ = static_cast<Value*>(allocate(kCapacity * sizeof(Value)));
    if (count_ == kCapacity) return false;
    values_[count_++] = value;
    return true;
  }
  Value& operator[](std::size_t index) { return values_[index]; }
  Value* begin() { return values_; }
  Value* end() { return values_ + count_; }
  std::size_t size() const { return count_; }
  void shrink(std::size_t count) { count_ = count; }

 private:
  Value* values_ = nullptr;
  std::size_t count_ = 0;
};

// A hash map from nonzero 64-bit keys to values that are all zero at first. Open addressing.
template <class Value>
class Map {
 public:
  Value* find(std::uint64_t key) {
    if (slots_ == nullptr) return nullptr;
    Slot& slot = slot_of(key);
    return slot.key == key ? &slot.value : nullptr;
  }
  // References stay valid until the next call.
  Value& operator[](std::uint64_t key) {
    if (count_ * 2 >= capacity_) grow();
    Slot& slot = slot_of(key);
    if (slot.key != key) {
      slot.key = key;
      ++count_;
    }
    return slot.value;
  }
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (slots_[i].key != 0) visit(slots_[i].value);
    }
  }

 private:
  struct Slot {
    std::uint64_t key;
    Value value;
  };

  Slot& slot_of(std::uint64_t key) {
    std::size_t at = (key * 0x9e3779b97f4a7c15u) >> shift_;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (capacity_ - 1);
    return slots_[at];
  }
  void grow() {
    Slot* old = slots_;
    const std::size_t old_capacity = capacity_;
    capacity_ = old_capacity == 0 ? 1024 : old_capacity * 2;
    shift_ = static_cast<unsigned>(__builtin_clzll(capacity_) + 1);
    slots_ = static_cast<Slot*>(allocate(capacity_ * sizeof(Slot)));
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].key != 0) slot_of(old[i].key) = old[i];
    }
  }

  Slot* slots_ = nullptr;
  std::size_t capacity_ = 0, count_ = 0;
  unsigned shift_ = 0;
};

}  // namespace pmemsim::rt
