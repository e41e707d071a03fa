// echo: a key-value store that keeps versions (Echo: Bailey et al., INFLOW 2013; kp_kvstore in the
// WHISPER suite). Each thread is a client. It collects its puts in a local store in volatile
// memory and merges them into the master store in PM, a hash table, in batches.
//
// One region is one merge, of kBatch puts to different keys. Every put adds a version with the
// merge's timestamp; a key keeps its newest kVersions, and the oldest is freed. There are 10/7 as
// many keys as items at the start, so that 7 of 10 puts are updates. The values of a merge have
// --data-bytes in total, which ASAP (7.1) calls the data size of an atomic region. 64 bytes are
// eight values of 8. Between its puts a client gets values: from its local store, otherwise the
// version that was the newest at its last merge. One operation in five is a get. These shares and
// the batch are WHISPER's. A get is not part of a region. All ranges of a merge are declared at
// once: three fences.
//
// Unlike Echo's, merges never fail: a newer version than the client's snapshot is no conflict.
//
// In PM: Root {Header header; line {u64 bucket_count, buckets}; Commit commit[128]}, where buckets
// is the address of bucket_count words, each the address of a chain's first entry or 0. Commit, a
// line for each thread index: {u64 timestamp, merges}, of the client's last merge and the number of
// its merges. Entry, a line: {u64 next, key, puts, state, version[4]}: next is 0 at the end of a
// chain, state is 1 (active). version[i % 4] is the address of the version that put number i made,
// so the newest is number puts - 1. Version {u64 timestamp, key, stamp; from byte 64 on: the
// value}. A key's bucket is mix(key) % bucket_count (common/random.hpp). Values are word(key,
// stamp, index) of a payload (common/payload.hpp) of header.data_bytes / 8.
//
// Locks: the eight buckets of one line share a lock, which protects their entries and versions too:
// bucket b has lock b / 8 % kLocks. A merge takes all its locks, in ascending order, then draws its
// timestamp.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "ordered_locks.hpp"
#include "requests.hpp"
#include "workload.hpp"

namespace {

// The puts that a client has not yet merged.
class LocalStore {
 public:
  struct Put {
    std::uint64_t key, stamp;
    std::vector<char> value;
  };

  LocalStore(std::size_t puts, std::uint64_t value_bytes) : puts_(puts) {
    for (Put& put : puts_) put.value.resize(value_bytes);
  }

  void put(const Put& put) {
    Put* place = find(put.key);
    if (!place) place = &puts_[size_++];
    place->key = put.key;
    place->stamp = put.stamp;
    std::memcpy(place->value.data(), put.value.data(), put.value.size());
  }

  Put* find(std::uint64_t key) {
    const auto end = puts_.begin() + size_;
    const auto put = std::find_if(puts_.begin(), end, [&](const Put& p) { return p.key == key; });
    return put == end ? nullptr : &*put;
  }

  std::size_t size() const { return size_; }
  bool full() const { return size_ == puts_.size(); }
  const Put& operator[](std::size_t index) const { return puts_[index]; }
  void clear() { size_ = 0; }

 private:
  std::vector<Put> puts_;
  std::size_t size_ = 0;
};

class Echo {
  static constexpr std::size_t kBatch = 8;  // WHISPER: merge_every

 public:
  static constexpr workload::About kAbout = {
      "echo",
      "Merges a client's batch of 8 puts into a versioned key-value store in every atomic region.\n"
      "--data-bytes is the size of all their values: 64 are eight values of 8 bytes.",
      10000,
      64,
      nullptr,
      8 * kBatch};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, (kVersions + 1) * keys(options.items));
  }

  Echo(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    workload::describe(root_->header, kAbout, options);
    root_->table.bucket_count = 2 * options.items;
    const std::uint64_t bytes = root_->table.bucket_count * sizeof(Entry*);
    root_->table.buckets = static_cast<Entry**>(workload::require(pm_alloc(pool, bytes)));
    std::memset(root_->table.buckets, 0, bytes);
    pm_flush(root_->table.buckets, bytes);
    pm_flush(root_, sizeof *root_);
    pm_durable();

    workload::Random random(options.seed, 0);
    Client client(0, value_bytes(), locks_);
    LocalStore::Put put{0, 0, std::vector<char>(value_bytes())};
    for (put.key = 0; put.key < options.items; ++put.key) {
      put.stamp = random.next();
      payload().fill(put.value.data(), put.key, put.stamp);
      client.local.put(put);
      if (client.local.full() || put.key + 1 == options.items) merge(client);
    }
    workload::set_ready(root_->header);
  }

  explicit Echo(pm_pool* pool) : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    for (const Commit& commit : root_->commit)
      clock_ = std::max<std::uint64_t>(clock_, commit.timestamp);
  }

  // The requests to a client between two merges.
  class Source {
   public:
    // A put, or a get of that key.
    struct Command {
      LocalStore::Put put;
      bool is_get;
    };
    struct Request {
      std::vector<Command> commands;
    };

    Source(const Echo& echo, const workload::Work& work) : echo_(echo), random_(work.random()) {}

    Request empty() const { return {}; }
    void draw(Request& request) {
      request.commands.clear();
      std::vector<std::uint64_t> put;  // the local store is full when it has so many keys
      while (put.size() < kBatch) {
        const std::uint64_t key = random_.below(keys(echo_.root_->header.items));
        const bool is_get = random_.below(100) < kGetPercent;
        request.commands.push_back({{key, is_get ? 0 : random_.next(), {}}, is_get});
        if (is_get) continue;
        LocalStore::Put& made = request.commands.back().put;
        made.value.resize(echo_.value_bytes());
        echo_.payload().fill(made.value.data(), key, made.stamp);
        if (std::find(put.begin(), put.end(), key) == put.end()) put.push_back(key);
      }
    }

   private:
    const Echo& echo_;
    workload::Random random_;
  };

  workload::Requests<Source> draw(const workload::Work& work) const {
    const std::uint64_t of_command = sizeof(Source::Command) + value_bytes();
    return {Source(*this, work), work.regions, 2 * kBatch * of_command};
  }

  workload::Tally run(const workload::Work& work, workload::Requests<Source>& requests) {
    Client client(work.thread, value_bytes(), locks_);
    client.snapshot = clock_;
    workload::Tally tally;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      for (const Source::Command& command : requests.next().commands) {
        if (command.is_get)
          get(client, command.put.key);
        else
          client.local.put(command.put);
      }
      tally.added += merge(client);
    }
    return tally;
  }

  workload::Check check() const {
    std::uint64_t last = 0;
    for (const Commit& commit : root_->commit) last = std::max(last, commit.timestamp);
    std::vector<bool> found(keys(root_->header.items));
    std::uint64_t items = 0;
    for (std::uint64_t bucket = 0; bucket < root_->table.bucket_count; ++bucket)
      for (const Entry* entry = root_->table.buckets[bucket]; entry; entry = entry->next) {
        const std::uint64_t key = entry->key;
        if (key >= found.size() || bucket_of(key) != bucket || found[key])
          return {"bucket " + std::to_string(bucket) + " has a key that doesn't belong there"};
        if (const std::string problem = check_entry(*entry, last); !problem.empty())
          return {"key " + std::to_string(key) + ": " + problem};
        found[key] = true;
        ++items;
      }
    return {"", items};
  }

 private:
  static constexpr unsigned kGetPercent = 20;  // WHISPER: put_probability 0.8
  static constexpr std::uint64_t kVersions = 4;
  static constexpr std::size_t kLocks = 1024;
  static constexpr std::size_t kBucketsPerLine = PM_LINE_BYTES / sizeof(void*);
  static constexpr std::uint64_t kActive = 1;

  struct alignas(PM_LINE_BYTES) Version {
    std::uint64_t timestamp, key, stamp;

    char* value() { return reinterpret_cast<char*>(this + 1); }
    const char* value() const { return reinterpret_cast<const char*>(this + 1); }
  };

  struct alignas(PM_LINE_BYTES) Entry {
    Entry* next;
    std::uint64_t key, puts, state;
    Version* version[kVersions];
  };
  static_assert(sizeof(Entry) == PM_LINE_BYTES);

  struct alignas(PM_LINE_BYTES) Table {
    std::uint64_t bucket_count;
    Entry** buckets;
  };

  struct alignas(PM_LINE_BYTES) Commit {
    std::uint64_t timestamp, merges;
  };

  struct Root {
    workload::Header header;
    Table table;
    Commit commit[PM_MAX_THREADS];
  };

  // The location of a put in the master store.
  struct Target {
    Entry** bucket;
    Entry* entry;
    Version* version;
    bool is_new;
  };

  struct Client {
    Client(unsigned index, std::uint64_t value_bytes, std::vector<std::mutex>& locks)
        : index(index), locks(locks), local(kBatch, value_bytes), value(value_bytes) {}

    unsigned index;
    workload::OrderedLocks locks;
    LocalStore local;
    std::vector<char> value;  // the value that the last get found
    std::uint64_t snapshot = 0;
  };

  // Returns the number of keys. The first 7 out of 10 exist at the start (WHISPER:
  // update_probability 0.7). There are enough for a batch.
  static std::uint64_t keys(std::uint64_t items) {
    return std::max<std::uint64_t>(items * 10 / 7, kBatch);
  }

  std::uint64_t value_bytes() const { return root_->header.data_bytes / kBatch; }
  workload::Payload payload() const { return {value_bytes(), root_->header.duplicates}; }
  std::uint64_t bucket_of(std::uint64_t key) const {
    return workload::mix(key) % root_->table.bucket_count;
  }
  static std::size_t lock_of(std::uint64_t bucket) { return bucket / kBucketsPerLine % kLocks; }

  Entry* find(std::uint64_t key) const {
    Entry* entry = root_->table.buckets[bucket_of(key)];
    while (entry && entry->key != key) entry = entry->next;
    return entry;
  }

  bool get(Client& client, std::uint64_t key) {
    if (const LocalStore::Put* put = client.local.find(key)) {
      client.value = put->value;
      return true;
    }
    const std::lock_guard lock(locks_[lock_of(bucket_of(key))]);
    const Entry* entry = find(key);
    if (!entry) return false;
    const std::uint64_t oldest = entry->puts - std::min(entry->puts, kVersions);
    for (std::uint64_t i = entry->puts; i-- > oldest;) {
      const Version* version = entry->version[i % kVersions];
      if (version->timestamp > client.snapshot) continue;
      std::memcpy(client.value.data(), version->value(), client.value.size());
      return true;
    }
    return false;
  }

  // Merges the client's puts. Returns the number of new keys.
  std::uint64_t merge(Client& client) {
    for (std::size_t i = 0; i < client.local.size(); ++i)
      client.locks.add(lock_of(bucket_of(client.local[i].key)));
    const std::lock_guard lock(client.locks);
    const std::uint64_t timestamp = ++clock_;
    Commit& commit = root_->commit[client.index];
    std::array<Target, kBatch> targets;
    std::array<pm_range, kBatch + 1> ranges;
    std::uint64_t added = 0;

    pm_begin(pool_);
    for (std::size_t i = 0; i < client.local.size(); ++i) {
      targets[i] = prepare(client.local[i]);
      ranges[i] = targets[i].is_new ? pm_range{targets[i].bucket, sizeof(Entry*)}
                                    : pm_range{targets[i].entry, sizeof(Entry)};
    }
    ranges[client.local.size()] = {&commit, sizeof commit};
    pm_log_ranges(ranges.data(), client.local.size() + 1);
    for (std::size_t i = 0; i < client.local.size(); ++i) {
      write(targets[i], client.local[i], timestamp);
      added += targets[i].is_new;
    }
    commit = {timestamp, commit.merges + 1};
    pm_end();

    client.local.clear();
    client.snapshot = timestamp;
    return added;
  }

  // Finds the entry, allocates memory for the put and frees the oldest version.
  Target prepare(const LocalStore::Put& put) {
    Target target;
    target.bucket = &root_->table.buckets[bucket_of(put.key)];
    target.entry = find(put.key);
    target.is_new = !target.entry;
    if (target.is_new)
      target.entry = static_cast<Entry*>(workload::require(pm_alloc(pool_, sizeof(Entry))));
    else if (target.entry->puts >= kVersions)
      pm_free(pool_, target.entry->version[target.entry->puts % kVersions]);
    const std::uint64_t bytes = sizeof(Version) + put.value.size();
    target.version = static_cast<Version*>(workload::require(pm_alloc(pool_, bytes)));
    return target;
  }

  static void write(const Target& target, const LocalStore::Put& put, std::uint64_t timestamp) {
    *target.version = {timestamp, put.key, put.stamp};
    std::memcpy(target.version->value(), put.value.data(), put.value.size());
    Entry& entry = *target.entry;
    if (target.is_new) {
      entry = {*target.bucket, put.key, 0, kActive, {}};
      *target.bucket = &entry;
    }
    entry.version[entry.puts % kVersions] = target.version;
    ++entry.puts;
  }

  // Checks an entry; no merge was later than `last`. Returns the problem, if any.
  std::string check_entry(const Entry& entry, std::uint64_t last) const {
    if (entry.state != kActive) return "its entry is not active";
    if (entry.puts == 0) return "it has no version";
    std::uint64_t before = 0;
    for (std::uint64_t i = entry.puts - std::min(entry.puts, kVersions); i < entry.puts; ++i) {
      const Version& version = *entry.version[i % kVersions];
      if (version.timestamp <= before || version.timestamp > last)
        return "its versions are not in the order of their timestamps";
      if (version.key != entry.key ||
          !payload().matches(version.value(), version.key, version.stamp))
        return "the value of version " + std::to_string(i) + " is incomplete";
      before = version.timestamp;
    }
    return "";
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
  std::atomic<std::uint64_t> clock_{0};  // the newest timestamp
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Echo>(argc, argv); }
