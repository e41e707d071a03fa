// memcached: a key-value cache with a hash table, LRU lists and a slab allocator, all in PM, after
// memcached 1.2.4 as Mnemosyne made it persistent. There is no network: each thread is a connection
// that executes the commands of the client memslap.
//
// One region is one command with a random key, 10 % of them set, 90 % get (Mnemosyne's run.cnf).
// - set takes a chunk of memory, writes the item, and puts it in the place of the key's old item in
//   the hash table and at the head of its LRU list. The chunk is a free one, or the next of a page,
//   or the first of a new page. If there is none, the list's last item is evicted. If a chunk must
//   be evicted or cut, that is declared first, and everything else after that.
// - get counts a reference to the item, copies the value out, and drops the reference; these two
//   stores are what a get writes in memcached. If the item has not been moved for kUpdateInterval
//   seconds, it also moves to the head of its list. memslap fills the cache right before it runs.
//   So such moves happen only in runs that continue with an earlier run's cache (--pool). For them
//   more than the interval has passed, and within a run no time passes.
// The cache holds about as many items as there are at the start; the keys are 5/4 as many. All
// values of a cache have one size, so that all items are of one slab class, as with memslap -X.
//
// In PM: Root {Header header; line {u64 bucket_count, buckets, page_count, pages, page_class}; line
// {u64 pages_used}; SlabClass slab[kClasses]}. buckets is the address of bucket_count words, each
// the address of a chain's first item or 0. page_class is the address of page_count words: the slab
// classes of the pages. The first pages_used pages are in use. pages is their address; they have
// kPageBytes each and are cut into chunks of their class's size. SlabClass, a line: {u64
// chunk_bytes, free, uncut, uncut_end, head, tail, items, time}: `free` is the first chunk of the
// free list, uncut to uncut_end the uncut rest of the newest page, head and tail the ends of the
// LRU list, all addresses or 0; time is when the list last changed.
// Item, at the start of its chunk: line {u64 next, number, hash, stamp, value_bytes, time, u32
// slab_class, linked, u64 references}, line {u64 previous, next_in_list}, from byte 128 on the
// value. linked is 1 if it is in the cache; otherwise its next_in_list is the free list's. Keys are
// 16 bytes: a number below 5/4 header.items, and as hash mix(number) (common/random.hpp). A key's
// bucket is hash % bucket_count. Values are word(number, stamp, index) of the payload
// (common/payload.hpp).
//
// With PM_REDO_LOG every access of a command to PM uses the redo log, as Mnemosyne's compiler makes
// them.
//
// Locks: the eight buckets of a line share a lock, which protects the first lines and the values of
// their items: bucket b has lock b / 8 % kLocks. A slab class has one for its lists; the pages have
// one. They are taken in this order. An item's key doesn't change while it is in the cache, and may
// be read under either of the first two. The item to evict may be in any bucket, so its bucket's
// lock is only tried. If it is taken, the item before the last is tried, and so on (as in memcached
// 1.4.24; 1.2.4 has one lock for all).
#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "requests.hpp"
#include "workload.hpp"

namespace {

class Memcached {
  struct Key {
    std::uint64_t number, hash;

    explicit Key(std::uint64_t number) : number(number), hash(workload::mix(number)) {}
    Key(std::uint64_t number, std::uint64_t hash) : number(number), hash(hash) {}
  };

 public:
  static constexpr workload::About kAbout = {
      "memcached",
      "Executes a command of a key-value cache, one set to nine gets, in every atomic region.\n"
      "--data-bytes is the size of a value, --items how many the cache holds.",
      10000, 1024};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 2 * options.items) + 16 * kPageBytes;
  }

  Memcached(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    workload::describe(root_->header, kAbout, options);
    set_up_slabs();
    set_up_memory();
    pm_flush(root_, sizeof *root_);
    pm_durable();

    workload::Random random(options.seed, 0);
    Connection connection(options.data_bytes);
    std::vector<char> value;
    for (std::uint64_t number = 0; number < options.items; ++number) {
      const Key key(number);
      const std::uint64_t stamp = random.next();
      fill(value, key, stamp);
      set(connection, key, stamp, value);
    }
    workload::set_ready(root_->header);
  }

  explicit Memcached(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    for (const SlabClass& slab : root_->slab) now_ = std::max(now_, slab.time);
    now_ += kUpdateInterval + 1;
  }

  // The requests of clients.
  class Source {
   public:
    struct Request {
      Key key;
      bool is_set;
      std::uint64_t stamp;
      std::vector<char> value;  // the value of a set
    };

    Source(const Memcached& cache, const workload::Work& work)
        : cache_(cache), random_(work.random()) {}

    Request empty() const { return {Key(0), false, 0, {}}; }
    void draw(Request& request) {
      request.key = Key(random_.below(cache_.keys()));
      request.is_set = random_.below(100) < kSetPercent;
      if (!request.is_set) return;
      request.stamp = random_.next();
      cache_.fill(request.value, request.key, request.stamp);
    }

   private:
    const Memcached& cache_;
    workload::Random random_;
  };

  workload::Requests<Source> draw(const workload::Work& work) const {
    return {Source(*this, work), work.regions,
            sizeof(typename Source::Request) + root_->header.data_bytes};
  }

  workload::Tally run(const workload::Work& work, workload::Requests<Source>& requests) {
    Connection connection(root_->header.data_bytes);
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const auto& [key, is_set, stamp, value] = requests.next();
      if (is_set)
        set(connection, key, stamp, value);
      else
        get(connection, key);
    }
    return connection.tally;
  }

  workload::Check check() const {
    Chunks chunks(root_->memory.page_count * kPageBytes / PM_LINE_BYTES);
    std::uint64_t items = 0;
    for (std::uint64_t slab = 0; slab < kClasses; ++slab) {
      const std::string problem = check_class(slab, chunks);
      if (!problem.empty()) return {"slab class " + std::to_string(slab) + ": " + problem};
      items += root_->slab[slab].items;
    }
    return {check_table(chunks, items), items};
  }

 private:
  static constexpr unsigned kSetPercent = 10;
  static constexpr std::uint64_t kUpdateInterval = 60;  // memcached: ITEM_UPDATE_INTERVAL
  static constexpr unsigned kTries = 50;                // to evict, as memcached's
  static constexpr std::uint64_t kPageBytes = 65536;    // memcached's 1 MiB suits larger caches
  static constexpr std::size_t kClasses = 17;
  static constexpr std::size_t kLocks = 1024;
  static constexpr std::size_t kBucketsPerLine = PM_LINE_BYTES / sizeof(void*);

  struct alignas(PM_LINE_BYTES) Item {
    Item* next;
    Key key;
    std::uint64_t stamp, value_bytes, time;
    std::uint32_t slab_class, linked;
    std::uint64_t references;
    struct alignas(PM_LINE_BYTES) {
      Item *previous, *next;
    } list;

    char* value() { return reinterpret_cast<char*>(this + 1); }
    const char* value() const { return reinterpret_cast<const char*>(this + 1); }
    Key key_in_region() const { return {pm_get(key.number), pm_get(key.hash)}; }
    // Compares by one expression, which no compiler turns into a call of memcmp: recordings would
    // miss its loads.
    bool has(const Key& other) const {
      return ((pm_get(key.number) ^ other.number) | (pm_get(key.hash) ^ other.hash)) == 0;
    }
  };
  static_assert(sizeof(Item) == 2 * PM_LINE_BYTES);

  struct alignas(PM_LINE_BYTES) Memory {
    std::uint64_t bucket_count;
    Item** buckets;
    std::uint64_t page_count;
    char* pages;
    std::uint64_t* page_class;
  };

  struct alignas(PM_LINE_BYTES) PagesUsed {
    std::uint64_t count;
  };

  struct alignas(PM_LINE_BYTES) SlabClass {
    std::uint64_t chunk_bytes;
    Item* free;
    char *uncut, *uncut_end;
    Item *head, *tail;
    std::uint64_t items, time;
  };

  struct Root {
    workload::Header header;
    Memory memory;
    PagesUsed pages_used;
    SlabClass slab[kClasses];
  };

  // Memory that a thread reuses in each command.
  struct Connection {
    explicit Connection(std::uint64_t data_bytes) : value(data_bytes) {}

    void declare(const void* address, std::size_t bytes) { ranges.push_back({address, bytes}); }
    void log() {
      pm_log_ranges(ranges.data(), ranges.size());
      ranges.clear();
    }

    std::vector<char> value;
    std::vector<pm_range> ranges;
    workload::Tally tally;
  };

  std::uint64_t keys() const { return root_->header.items * 5 / 4; }
  std::uint64_t bucket_of(const Key& key) const { return key.hash % root_->memory.bucket_count; }
  std::size_t lock_of(const Key& key) const { return bucket_of(key) / kBucketsPerLine % kLocks; }

  // ---- Set-up ---------------------------------------------------------------------------------

  // Each class's chunks are a quarter larger than those of the class before, as memcached's.
  void set_up_slabs() {
    std::uint64_t bytes = sizeof(Item) + PM_LINE_BYTES;
    for (SlabClass& slab : root_->slab) {
      slab.chunk_bytes = bytes;
      bytes = workload::padded(bytes + bytes / 4);
    }
  }

  void set_up_memory() {
    const std::uint64_t items = root_->header.items;
    const std::uint64_t page_items =
        kPageBytes / root_->slab[class_of(root_->header.data_bytes)].chunk_bytes;
    Memory& memory = root_->memory;
    memory.bucket_count = 2 * items;
    memory.buckets = allocate_zeros<Item*>(memory.bucket_count);
    memory.page_count = (items + page_items - 1) / page_items;
    memory.page_class = allocate_zeros<std::uint64_t>(memory.page_count);
    const std::uint64_t bytes = memory.page_count * kPageBytes;
    memory.pages = static_cast<char*>(workload::require(pm_alloc(pool_, bytes)));
  }

  template <class Word>
  Word* allocate_zeros(std::uint64_t words) {
    void* memory = workload::require(pm_alloc(pool_, words * sizeof(Word)));
    std::memset(memory, 0, words * sizeof(Word));
    pm_flush(memory, words * sizeof(Word));
    return static_cast<Word*>(memory);
  }

  // ---- Commands -------------------------------------------------------------------------------

  void fill(std::vector<char>& value, const Key& key, std::uint64_t stamp) const {
    value.resize(root_->header.data_bytes);
    root_->header.payload().fill(value.data(), key.number, stamp);
  }

  void set(Connection& connection, const Key& key, std::uint64_t stamp,
           const std::vector<char>& value) {
    const std::uint32_t number = class_of(value.size());
    SlabClass& slab = root_->slab[number];
    const std::lock_guard lock(locks_[lock_of(key)]);
    const std::lock_guard list_lock(slab_locks_[number]);
    std::unique_lock<std::mutex> evicted_lock;

    pm_begin(pool_);
    if (Item* item = take_chunk(connection, number, key, evicted_lock)) {
      Item* old = pm_get(*link_to(key));
      if (old) declare_unlink(connection, old);
      declare_link(connection, slab, key);
      connection.declare(item, sizeof *item + value.size());
      connection.log();
      if (old) {
        unlink(old);
        release(old);
      }
      pm_set(*item, {nullptr, key, stamp, value.size(), now_, number, 1, 0, {}});
      pm_write(item->value(), value.data(), value.size());
      link(item);
      connection.tally.added += !old;
    }
    pm_end();
  }

  // Executes a get. False if the key isn't in the cache.
  bool get(Connection& connection, const Key& key) {
    const std::lock_guard lock(locks_[lock_of(key)]);
    std::unique_lock<std::mutex> list_lock;
    pm_begin(pool_);
    Item* item = pm_get(*link_to(key));
    if (item) {
      const bool move = pm_get(item->time) + kUpdateInterval < now_;
      connection.declare(item, PM_LINE_BYTES);
      if (move) {
        list_lock = std::unique_lock(slab_locks_[pm_get(item->slab_class)]);
        declare_move(connection, item);
      }
      connection.log();
      pm_set(item->references, pm_get(item->references) + 1);
      if (move) move_to_head(item);
      pm_read(connection.value.data(), item->value(), pm_get(item->value_bytes));
      pm_set(item->references, pm_get(item->references) - 1);
    }
    pm_end();
    return item;
  }

  void declare_move(Connection& connection, const Item* item) const {
    const SlabClass& slab = root_->slab[pm_get(item->slab_class)];
    connection.declare(&slab, sizeof slab);
    connection.declare(&item->list, sizeof item->list);
    declare_neighbours(connection, item);
    connection.declare(&pm_get(slab.head)->list, sizeof slab.head->list);
  }

  void move_to_head(Item* item) {
    unlink_from_list(item);
    pm_set(item->time, now_);
    link_into_list(item);
  }

  // ---- The hash table and the LRU lists -------------------------------------------------------

  // Returns the word that leads to the key's item; it is null if there is no item.
  Item** link_to(const Key& key) const {
    Item** link = &root_->memory.buckets[bucket_of(key)];
    while (pm_get(*link) && !pm_get(*link)->has(key)) link = &pm_get(*link)->next;
    return link;
  }

  void declare_neighbours(Connection& connection, const Item* item) const {
    for (const Item* neighbour : {pm_get(item->list.previous), pm_get(item->list.next)})
      if (neighbour) connection.declare(&neighbour->list, sizeof neighbour->list);
  }

  void declare_unlink(Connection& connection, const Item* item) const {
    connection.declare(link_to(item->key_in_region()), sizeof(Item*));
    connection.declare(item, sizeof *item);
    connection.declare(&root_->slab[pm_get(item->slab_class)], sizeof(SlabClass));
    declare_neighbours(connection, item);
  }

  void declare_link(Connection& connection, const SlabClass& slab, const Key& key) const {
    connection.declare(&root_->memory.buckets[bucket_of(key)], sizeof(Item*));
    connection.declare(&slab, sizeof slab);
    if (const Item* head = pm_get(slab.head)) connection.declare(&head->list, sizeof head->list);
  }

  void unlink(Item* item) {
    pm_set(*link_to(item->key_in_region()), pm_get(item->next));
    pm_set(item->linked, 0);
    unlink_from_list(item);
    SlabClass& slab = root_->slab[pm_get(item->slab_class)];
    pm_set(slab.items, pm_get(slab.items) - 1);
  }

  void link(Item* item) {
    Item*& first = root_->memory.buckets[bucket_of(item->key_in_region())];
    pm_set(item->next, pm_get(first));
    pm_set(first, item);
    link_into_list(item);
    SlabClass& slab = root_->slab[pm_get(item->slab_class)];
    pm_set(slab.items, pm_get(slab.items) + 1);
  }

  void unlink_from_list(Item* item) {
    SlabClass& slab = root_->slab[pm_get(item->slab_class)];
    Item *const previous = pm_get(item->list.previous), *const next = pm_get(item->list.next);
    pm_set(previous ? previous->list.next : slab.head, next);
    pm_set(next ? next->list.previous : slab.tail, previous);
  }

  void link_into_list(Item* item) {
    SlabClass& slab = root_->slab[pm_get(item->slab_class)];
    Item* const head = pm_get(slab.head);
    pm_set(item->list.previous, nullptr);
    pm_set(item->list.next, head);
    pm_set(head ? head->list.previous : slab.tail, item);
    pm_set(slab.head, item);
    pm_set(slab.time, now_);
  }

  // ---- The slab allocator ---------------------------------------------------------------------

  std::uint32_t class_of(std::uint64_t value_bytes) const {
    std::uint32_t number = 0;
    while (root_->slab[number].chunk_bytes < sizeof(Item) + value_bytes) ++number;
    return number;
  }

  // Takes memory for an item with the key; null if all items to evict are locked.
  Item* take_chunk(Connection& connection, std::uint64_t number, const Key& key,
                   std::unique_lock<std::mutex>& evicted_lock) {
    SlabClass& slab = root_->slab[number];
    if (Item* item = pm_get(slab.free)) {
      pm_log(&slab, sizeof slab);
      pm_set(slab.free, pm_get(item->list.next));
      return item;
    }
    if (pm_get(slab.uncut) != pm_get(slab.uncut_end) || add_page(number)) {
      pm_log(&slab, sizeof slab);
      auto* item = reinterpret_cast<Item*>(pm_get(slab.uncut));
      pm_set(slab.uncut, pm_get(slab.uncut) + slab.chunk_bytes);
      return item;
    }
    return evict(connection, slab, key, evicted_lock);
  }

  // Adds a page to the class. False if all pages are in use.
  bool add_page(std::uint64_t number) {
    const std::lock_guard lock(page_lock_);
    const Memory& memory = root_->memory;
    std::uint64_t& count = root_->pages_used.count;
    const std::uint64_t used = pm_get(count);
    if (used == memory.page_count) return false;
    SlabClass& slab = root_->slab[number];
    const pm_range ranges[] = {
        {&count, sizeof count}, {&memory.page_class[used], sizeof used}, {&slab, sizeof slab}};
    pm_log_ranges(ranges, 3);
    pm_set(memory.page_class[used], number);
    char* const page = memory.pages + used * kPageBytes;
    pm_set(slab.uncut, page);
    pm_set(slab.uncut_end, page + kPageBytes / slab.chunk_bytes * slab.chunk_bytes);
    pm_set(count, used + 1);
    return true;
  }

  Item* evict(Connection& connection, SlabClass& slab, const Key& key,
              std::unique_lock<std::mutex>& evicted_lock) {
    Item* item = pm_get(slab.tail);
    for (unsigned i = 0; item && i < kTries; ++i, item = pm_get(item->list.previous)) {
      const std::size_t lock = lock_of(item->key_in_region());
      if (lock != lock_of(key)) {
        evicted_lock = std::unique_lock(locks_[lock], std::try_to_lock);
        if (!evicted_lock) continue;
      }
      declare_unlink(connection, item);
      connection.log();
      unlink(item);
      ++connection.tally.removed;
      return item;
    }
    return nullptr;
  }

  void release(Item* item) {
    SlabClass& slab = root_->slab[pm_get(item->slab_class)];
    pm_set(item->list.previous, nullptr);
    pm_set(item->list.next, pm_get(slab.free));
    pm_set(slab.free, item);
  }

  // ---- Checks ---------------------------------------------------------------------------------

  // The use that a check found for a line of the pages.
  enum Use : char { kNothing, kListed, kFree, kInTable };
  using Chunks = std::vector<Use>;

  // Returns the item's entry in `chunks`; null if it isn't at the start of one of its class's.
  Use* find_use(const Item* item, std::uint64_t number, Chunks& chunks) const {
    const Memory& memory = root_->memory;
    const auto offset = reinterpret_cast<const char*>(item) - memory.pages;
    if (offset < 0) return nullptr;
    const std::uint64_t page = static_cast<std::uint64_t>(offset) / kPageBytes;
    if (page >= root_->pages_used.count || memory.page_class[page] != number) return nullptr;
    const std::uint64_t in_page = static_cast<std::uint64_t>(offset) % kPageBytes;
    const std::uint64_t bytes = root_->slab[number].chunk_bytes;
    if (in_page % bytes != 0 || in_page + bytes > kPageBytes) return nullptr;
    return &chunks[static_cast<std::uint64_t>(offset) / PM_LINE_BYTES];
  }

  std::string check_class(std::uint64_t number, Chunks& chunks) const {
    const SlabClass& slab = root_->slab[number];
    std::uint64_t found = 0;
    const Item* before = nullptr;
    for (const Item* item = slab.head; item; before = item, item = item->list.next, ++found) {
      Use* use = find_use(item, number, chunks);
      if (!use || *use != kNothing) return "its LRU list leads to what isn't an item";
      if (item->linked != 1 || item->slab_class != number || item->list.previous != before)
        return "its LRU list is not linked both ways";
      *use = kListed;
    }
    if (before != slab.tail || found != slab.items) return "its LRU list has lost items";
    for (const Item* item = slab.free; item; item = item->list.next, ++found) {
      Use* use = find_use(item, number, chunks);
      if (!use || *use != kNothing || item->linked != 0)
        return "its free list leads to what isn't free";
      *use = kFree;
    }
    std::uint64_t pages = 0;
    for (std::uint64_t page = 0; page < root_->pages_used.count; ++page)
      pages += root_->memory.page_class[page] == number;
    found += static_cast<std::uint64_t>(slab.uncut_end - slab.uncut) / slab.chunk_bytes;
    return found == pages * (kPageBytes / slab.chunk_bytes) ? "" : "chunks are missing";
  }

  // Checks that the table has every item of the lists once.
  std::string check_table(Chunks& chunks, std::uint64_t items) const {
    std::vector<bool> found(keys());
    for (std::uint64_t bucket = 0; bucket < root_->memory.bucket_count; ++bucket)
      for (const Item* item = root_->memory.buckets[bucket]; item; item = item->next) {
        const std::uint64_t key = item->key.number;
        if (key >= keys() || item->key.hash != workload::mix(key) ||
            bucket_of(item->key) != bucket || found[key])
          return "bucket " + std::to_string(bucket) + " has a key that doesn't belong there";
        const std::string name = "key " + std::to_string(key);
        Use* use = item->slab_class < kClasses ? find_use(item, item->slab_class, chunks) : nullptr;
        if (!use || *use != kListed) return name + " is in no LRU list";
        if (item->references != 0) return name + " is still referred to";
        if (item->value_bytes != root_->header.data_bytes ||
            !root_->header.payload().matches(item->value(), key, item->stamp))
          return "the value of " + name + " is incomplete";
        *use = kInTable;
        found[key] = true;
        --items;
      }
    return items == 0 ? "" : "items of the LRU lists are not in the hash table";
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
  std::array<std::mutex, kClasses> slab_locks_;
  std::mutex page_lock_;
  std::uint64_t now_ = 1;  // in seconds
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Memcached>(argc, argv); }
