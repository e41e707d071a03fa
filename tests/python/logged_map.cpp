// A map in persistent memory with a redo log and a recovery of its own, without pmemsim's library.
// The commands for programs are tested on it as on a user's program:
//
//     logged_map run FILE     moves amounts between accounts
//     logged_map check FILE   recovers the file, and exits with 0 if no amount was lost
//
// -DBUG leaves out the fence between the log's entries and the word that commits them.
// -DSUPERFLUOUS flushes a line that has been flushed.
#include <emmintrin.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kLine = 64;
constexpr std::uint64_t kAccounts = 16;
constexpr std::int64_t kStart = 1000;

// ---- Persistence -------------------------------------------------------------------------------

__attribute__((target("clwb"))) void write_back(std::uintptr_t line) {
  __builtin_ia32_clwb(reinterpret_cast<void*>(line));
}

template <class T>
void flush(const T& value) {
  const auto begin = reinterpret_cast<std::uintptr_t>(&value);
  for (std::uintptr_t line = begin & -kLine; line < begin + sizeof value; line += kLine) {
    write_back(line);
  }
}

void fence() { _mm_sfence(); }

template <class T>
void persist(const T& value) {
  flush(value);
  fence();
}

// A file that is mapped as persistent memory. It is as large as T.
template <class T>
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(T)) != 0) throw std::runtime_error(path);
    void* const mapped = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) throw std::runtime_error(path);
    value_ = static_cast<T*>(mapped);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { munmap(value_, sizeof(T)); }

  T* operator->() { return value_; }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

// ---- The contents of the file ------------------------------------------------------------------

struct Slot {
  std::uint64_t key;  // 0: the slot is free
  std::int64_t value;
};

struct Change {
  std::uint64_t key;
  std::int64_t value;
};

struct Pool {
  static constexpr std::size_t kSlots = 64, kChanges = 8;

  alignas(kLine) std::uint64_t created;
  alignas(kLine) std::uint64_t committed;  // number of valid changes in the log; 0: none
  alignas(kLine) std::array<Change, kChanges> log;
  alignas(kLine) std::array<Slot, kSlots> slots;
};

// ---- The map -----------------------------------------------------------------------------------

// Several changes that a crash leaves all or none of.
using Transaction = std::vector<Change>;

class Map {
 public:
  // Recovers what a crash has left.
  explicit Map(Pool& pool) : pool_(pool) {
    if (pool_.committed > Pool::kChanges) throw std::runtime_error("the log is damaged");
    if (pool_.committed > 0) finish();
  }

  std::optional<std::int64_t> get(std::uint64_t key) const {
    const Slot* const slot = find(key);
    return slot != nullptr && slot->key == key ? std::optional(slot->value) : std::nullopt;
  }

  void apply(const Transaction& changes) {
    if (changes.size() > Pool::kChanges) throw std::runtime_error("too many changes");
    for (std::size_t i = 0; i < changes.size(); ++i) {
      pool_.log[i] = changes[i];
      flush(pool_.log[i]);
    }
#ifdef SUPERFLUOUS
    flush(pool_.log[0]);  // superfluous
#endif
#ifndef BUG
    fence();
#endif
    pool_.committed = changes.size();
    persist(pool_.committed);  // commit
    finish();
  }

 private:
  // Makes the changes of the log in the slots, as often as a crash interrupts it.
  void finish() {
    for (std::size_t i = 0; i < pool_.committed; ++i) {
      const Change& change = pool_.log[i];
      Slot* const slot = find(change.key);
      if (slot == nullptr) throw std::runtime_error("the map is full");
      slot->value = change.value;
      slot->key = change.key;
      flush(*slot);
    }
    fence();
    pool_.committed = 0;
    persist(pool_.committed);
  }

  // Returns the key's slot, or the free one where it would be.
  Slot* find(std::uint64_t key) const {
    for (std::size_t step = 0; step < Pool::kSlots; ++step) {
      Slot& slot = pool_.slots[(key * 0x9E3779B97F4A7C15u + step) % Pool::kSlots];
      if (slot.key == key || slot.key == 0) return &slot;
    }
    return nullptr;
  }

  Pool& pool_;
};

// ---- The program -------------------------------------------------------------------------------

class Accounts {
 public:
  explicit Accounts(Pool& pool) : pool_(pool), map_(pool) {}

  // Gives each account its first amount.
  void create() {
    if (pool_.created != 0) return;
    for (std::uint64_t first = 1; first <= kAccounts; first += Pool::kChanges) {
      Transaction changes;
      for (std::uint64_t key = first; key < first + Pool::kChanges; ++key) {
        changes.push_back({key, kStart});
      }
      map_.apply(changes);
    }
    pool_.created = 1;
    persist(pool_.created);
  }

  void move(std::uint64_t from, std::uint64_t to, std::int64_t amount) {
    map_.apply({{from, amount_of(from) - amount}, {to, amount_of(to) + amount}});
  }

  bool right() const {
    if (pool_.created == 0) return true;
    std::int64_t sum = 0;
    for (std::uint64_t key = 1; key <= kAccounts; ++key) {
      const std::optional<std::int64_t> amount = map_.get(key);
      if (!amount) return false;
      sum += *amount;
    }
    return sum == static_cast<std::int64_t>(kAccounts) * kStart;
  }

 private:
  std::int64_t amount_of(std::uint64_t key) const { return map_.get(key).value(); }

  Pool& pool_;
  Map map_;
};

// The same numbers on every computer.
class Random {
 public:
  std::uint64_t below(std::uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

int run(Accounts& accounts) {
  accounts.create();
  Random random;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t from = 1 + random.below(kAccounts);
    const std::uint64_t to = 1 + (from + random.below(kAccounts - 1)) % kAccounts;
    accounts.move(from, to, static_cast<std::int64_t>(1 + random.below(9)));
  }
  return 0;
}

int check(const Accounts& accounts) {
  if (accounts.right()) return 0;
  std::puts("an amount was lost");
  return 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  Mapped<Pool> pool(argv[2]);
  Accounts accounts(*pool);
  return argv[1] == std::string_view("run") ? run(accounts) : check(accounts);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
