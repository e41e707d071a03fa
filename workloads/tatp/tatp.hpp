// The four tables of TATP (Telecommunication Application Transaction Processing), their population
// and check, and the requests of a terminal; tatp and tatp_lowlevel share them.
//
// Scale: --items is the number of subscribers N (the standard begins at 100,000); everything else
// follows from it by the standard's rules.
//
// In PM: Root, whose table addresses lead to
//   subscriber        N rows of 128 bytes, s_id (from 1) at index s_id - 1
//   access_info       4 N rows of 64 bytes, (s_id, ai_type) at 4 (s_id - 1) + ai_type - 1
//   special_facility  4 N rows of 64 bytes, (s_id, sf_type) likewise
//   call_forwarding   12 N rows of 64 bytes, (s_id, sf_type, start_time) at
//                     3 * the special facility's index + start_time / 8
//   index             index_slots words of 32 bits, a hash table with linear probing on sub_nbr:
//                     s_id, or 0 where there is none
// A row that doesn't exist is all zero. Columns are little-endian, in the order of the structures
// below. Transactions change only vlr_location.
//
// vlr_location holds a number of 20 bits, above 12 bits that follow from it and from the
// subscriber: a check detects a value that was never written. With --duplicate-ratio, that
// share of the subscribers has one of kDuplicates contents in the line that holds vlr_location.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "digest.hpp"
#include "hints.hpp"
#include "requests.hpp"
#include "workload.hpp"

namespace tatp {

// A number of 15 digits, then a zero.
struct Number {
  std::array<char, 16> digits;

  static Number of(std::uint64_t value) {
    Number number{};
    for (int i = 14; i >= 0; --i, value /= 10)
      number.digits[static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
    return number;
  }
  std::uint64_t word(std::size_t index) const {
    std::uint64_t word;
    std::memcpy(&word, digits.data() + index * sizeof word, sizeof word);
    return word;
  }
  bool operator==(const Number& other) const {
    return word(0) == other.word(0) && word(1) == other.word(1);
  }
};

struct alignas(PM_LINE_BYTES) Subscriber {
  std::uint32_t s_id;
  Number sub_nbr;
  std::array<std::uint16_t, 10> bit, hex, byte2;
  std::uint32_t msc_location, vlr_location;
  std::array<char, 40> unused;
};
static_assert(offsetof(Subscriber, vlr_location) == 84);  // in the row's second line

struct alignas(PM_LINE_BYTES) AccessInfo {
  std::uint32_t s_id;
  std::uint8_t ai_type, data1, data2;
  std::array<char, 3> data3;
  std::array<char, 5> data4;
  std::array<char, 49> unused{};
};

struct alignas(PM_LINE_BYTES) SpecialFacility {
  std::uint32_t s_id;
  std::uint8_t sf_type, is_active, error_cntrl, data_a;
  std::array<char, 5> data_b;
  std::array<char, 51> unused{};
};

struct alignas(PM_LINE_BYTES) CallForwarding {
  std::uint32_t s_id;
  std::uint8_t sf_type, start_time, end_time;
  Number numberx;
  std::array<char, 41> unused{};
};

// Every byte belongs to a column, so that rows are the same in every run.
template <class Row, std::size_t bytes>
constexpr bool kFills = sizeof(Row) == bytes && std::has_unique_object_representations_v<Row>;
static_assert(kFills<Subscriber, 128> && kFills<AccessInfo, 64> && kFills<SpecialFacility, 64> &&
              kFills<CallForwarding, 64>);

struct Root {
  workload::Header header;
  Subscriber* subscriber;
  AccessInfo* access_info;
  SpecialFacility* special_facility;
  CallForwarding* call_forwarding;
  std::uint32_t* index;
  std::uint64_t index_slots;               // a power of two
  std::array<std::uint64_t, 3> row_count;  // rows of the second to the fourth table
  std::uint64_t digest;                    // digest of all data that transactions don't change
  void* logs;                              // logs of tatp_lowlevel, otherwise 0
};

// The request of a transaction UPDATE_LOCATION.
struct Update {
  Number sub_nbr;
  std::uint32_t vlr_location;
};

class Tables {
 public:
  // The source of a thread's requests.
  class Terminal {
   public:
    using Request = Update;

    Terminal(const Tables& tables, const workload::Work& work)
        : tables_(tables), random_(work.random()) {}

    Update empty() const { return {}; }
    void draw(Update& update) { update = tables_.draw(random_); }

   private:
    const Tables& tables_;
    workload::Random random_;
  };
  using Requests = workload::Requests<Terminal>;

  Requests requests(const workload::Work& work) const {
    return {Terminal(*this, work), work.regions, sizeof(Update)};
  }

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 2 * options.items);
  }

  // Creates and fills the tables; the caller sets the header ready.
  Tables(pm_pool* pool, const workload::About& about, const workload::Options& options)
      : root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    workload::describe(root_->header, about, options);
    root_->index_slots = std::bit_ceil(2 * options.items);
    root_->subscriber = create<Subscriber>(pool, subscribers());
    root_->access_info = create<AccessInfo>(pool, kTypes * subscribers());
    root_->special_facility = create<SpecialFacility>(pool, kTypes * subscribers());
    root_->call_forwarding = create<CallForwarding>(pool, kTypes * kStarts * subscribers());
    root_->index = create<std::uint32_t>(pool, root_->index_slots);
    workload::Random random(options.seed, 0);
    for (std::uint32_t s_id = 1; s_id <= subscribers(); ++s_id) populate(s_id, random);
    root_->row_count = count_rows();
    root_->digest = digest();
    flush_all();
  }

  explicit Tables(pm_pool* pool) : root_(workload::root_of<Root>(pool)), locks_(kLocks) {}

  Root& root() { return *root_; }
  std::uint64_t subscribers() const { return root_->header.items; }
  std::mutex& lock_of(const Subscriber* row) { return locks_[row->s_id % kLocks]; }

  // Draws a terminal's next request: the subscriber by the standard's non-uniform distribution.
  Update draw(workload::Random& random) const {
    const std::uint64_t n = subscribers(), a = n <= 1'000'000    ? 65'535
                                               : n <= 10'000'000 ? 1'048'575
                                                                 : 2'097'151;
    const std::uint64_t drawn = random.below(a + 1) | (1 + random.below(n));
    const auto s_id = static_cast<std::uint32_t>(drawn % n + 1);
    return {Number::of(s_id), location(s_id, random.next())};
  }

  Update update(std::uint32_t s_id, std::uint64_t random) const {
    return {Number::of(s_id), location(s_id, random)};
  }

  // Finds a subscriber by the index on sub_nbr.
  Subscriber* find(const Number& sub_nbr) const {
    std::uint64_t slot = hash(sub_nbr);
    for (;; ++slot) {
      const std::uint32_t s_id = root_->index[slot & (root_->index_slots - 1)];
      if (s_id == 0) return nullptr;
      Subscriber* row = root_->subscriber + s_id - 1;
      if (row->sub_nbr == sub_nbr) return row;
    }
  }

  workload::Check check() const {
    if (digest() != root_->digest) return {"a row has changed that no transaction changes"};
    if (count_rows() != root_->row_count) return {"a table has lost rows or has too many"};
    for (std::uint32_t s_id = 1; s_id <= subscribers(); ++s_id)
      if (std::string problem = check(s_id); !problem.empty())
        return {"subscriber " + std::to_string(s_id) + ": " + problem};
    return {"", subscribers()};
  }

 private:
  static constexpr std::size_t kLocks = 1024;
  static constexpr std::uint64_t kTypes = 4, kStarts = 3, kHoursPerStart = 8;
  static constexpr std::uint64_t kDuplicates = 16;
  static constexpr unsigned kCheckBits = 12, kNumberBits = 20;

  template <class Row>
  static Row* create(pm_pool* pool, std::uint64_t rows) {
    auto* table = static_cast<Row*>(workload::require(pm_alloc(pool, rows * sizeof(Row))));
    std::memset(static_cast<void*>(table), 0, rows * sizeof(Row));
    return table;
  }

  static std::uint64_t hash(const Number& number) {
    return workload::mix(number.word(0) ^ workload::mix(number.word(1)));
  }

  // ---- Population (the standard's rules; each number of rows is equally likely) ----------------

  void populate(std::uint32_t s_id, workload::Random& random) {
    Subscriber& row = root_->subscriber[s_id - 1];
    row.s_id = s_id;
    row.sub_nbr = Number::of(s_id);
    for (std::uint16_t& bit : row.bit) bit = static_cast<std::uint16_t>(random.below(2));
    for (std::uint16_t& hex : row.hex) hex = static_cast<std::uint16_t>(random.below(16));
    for (std::uint16_t& byte2 : row.byte2)
      byte2 = static_cast<std::uint16_t>(is_duplicate(s_id) ? 0 : random.below(256));
    row.msc_location = is_duplicate(s_id) ? 0 : static_cast<std::uint32_t>(random.next());
    row.vlr_location = location(s_id, random.next());
    add_to_index(row);
    for (std::uint8_t type : draw_some<kTypes>(1, random)) add_access_info(s_id, type, random);
    for (std::uint8_t type : draw_some<kTypes>(1, random)) add_special_facility(s_id, type, random);
  }

  void add_to_index(const Subscriber& row) {
    std::uint64_t slot = hash(row.sub_nbr);
    while (root_->index[slot & (root_->index_slots - 1)] != 0) ++slot;
    root_->index[slot & (root_->index_slots - 1)] = row.s_id;
  }

  void add_access_info(std::uint32_t s_id, std::uint8_t type, workload::Random& random) {
    root_->access_info[kTypes * (s_id - 1) + type] = {s_id,
                                                      static_cast<std::uint8_t>(type + 1),
                                                      byte(random),
                                                      byte(random),
                                                      letters<3>(random),
                                                      letters<5>(random)};
  }

  void add_special_facility(std::uint32_t s_id, std::uint8_t type, workload::Random& random) {
    const std::uint64_t place = kTypes * (s_id - 1) + type;
    const std::uint8_t sf_type = type + 1, is_active = random.below(100) < 85;
    root_->special_facility[place] = {s_id,         sf_type,      is_active,
                                      byte(random), byte(random), letters<5>(random)};
    for (std::uint8_t start : draw_some<kStarts>(0, random)) {
      const auto start_time = static_cast<std::uint8_t>(kHoursPerStart * start);
      const auto end_time = static_cast<std::uint8_t>(start_time + 1 + random.below(8));
      root_->call_forwarding[kStarts * place + start] = {
          s_id, sf_type, start_time, end_time, Number::of(random.below(1'000'000'000'000'000))};
    }
  }

  // Draws at least `least` of the numbers 0 to `count` - 1.
  template <std::uint64_t count>
  static std::vector<std::uint8_t> draw_some(std::uint64_t least, workload::Random& random) {
    std::uint64_t needed = least + random.below(count + 1 - least);
    std::vector<std::uint8_t> drawn;
    for (std::uint64_t i = 0; i < count; ++i)
      if (random.below(count - i) < needed) {
        drawn.push_back(static_cast<std::uint8_t>(i));
        --needed;
      }
    return drawn;
  }

  static std::uint8_t byte(workload::Random& random) {
    return static_cast<std::uint8_t>(random.below(256));
  }
  template <std::size_t count>
  static std::array<char, count> letters(workload::Random& random) {
    std::array<char, count> text;
    for (char& letter : text) letter = static_cast<char>('A' + random.below(26));
    return text;
  }

  bool is_duplicate(std::uint32_t s_id) const {
    return workload::mix(root_->header.seed + s_id * workload::kGolden) < root_->header.duplicates;
  }

  std::uint32_t location(std::uint32_t s_id, std::uint64_t random) const {
    const bool duplicate = is_duplicate(s_id);
    const std::uint64_t number = random % (duplicate ? kDuplicates : 1 << kNumberBits);
    const std::uint64_t check = workload::mix((duplicate ? 0 : s_id) << kNumberBits | number);
    return static_cast<std::uint32_t>(number << kCheckBits | check % (1 << kCheckBits));
  }

  void flush_all() const {
    pm_flush(root_->subscriber, subscribers() * sizeof(Subscriber));
    pm_flush(root_->access_info, kTypes * subscribers() * sizeof(AccessInfo));
    pm_flush(root_->special_facility, kTypes * subscribers() * sizeof(SpecialFacility));
    pm_flush(root_->call_forwarding, kTypes * kStarts * subscribers() * sizeof(CallForwarding));
    pm_flush(root_->index, root_->index_slots * sizeof *root_->index);
    pm_flush(root_, sizeof *root_);
  }

  // ---- Check -----------------------------------------------------------------------------------

  std::array<std::uint64_t, 3> count_rows() const {
    std::array<std::uint64_t, 3> count{};
    for (std::uint64_t i = 0; i < kTypes * subscribers(); ++i) {
      count[0] += root_->access_info[i].s_id != 0;
      count[1] += root_->special_facility[i].s_id != 0;
    }
    for (std::uint64_t i = 0; i < kTypes * kStarts * subscribers(); ++i)
      count[2] += root_->call_forwarding[i].s_id != 0;
    return count;
  }

  std::uint64_t digest() const {
    workload::Digest digest;
    for (std::uint64_t i = 0; i < subscribers(); ++i) {
      Subscriber row = root_->subscriber[i];
      row.vlr_location = 0;
      digest.add(&row, sizeof row);
    }
    digest.add(root_->access_info, kTypes * subscribers() * sizeof(AccessInfo));
    digest.add(root_->special_facility, kTypes * subscribers() * sizeof(SpecialFacility));
    digest.add(root_->call_forwarding, kTypes * kStarts * subscribers() * sizeof(CallForwarding));
    digest.add(root_->index, root_->index_slots * sizeof *root_->index);
    return digest.value();
  }

  std::string check(std::uint32_t s_id) const {
    const Subscriber& row = root_->subscriber[s_id - 1];
    if (row.s_id != s_id || find(Number::of(s_id)) != &row) return "its sub_nbr leads elsewhere";
    if (row.vlr_location != location(s_id, row.vlr_location >> kCheckBits))
      return "its vlr_location is one that was never written there";
    std::uint64_t accesses = 0, facilities = 0;
    for (std::uint64_t type = 0; type < kTypes; ++type) {
      const std::uint64_t place = kTypes * (s_id - 1) + type;
      const AccessInfo& access = root_->access_info[place];
      const SpecialFacility& facility = root_->special_facility[place];
      accesses += access.s_id != 0;
      facilities += facility.s_id != 0;
      if (access.s_id != 0 && (access.s_id != s_id || access.ai_type != type + 1))
        return "it has an access_info row of another";
      if (facility.s_id != 0 && (facility.s_id != s_id || facility.sf_type != type + 1))
        return "it has a special_facility row of another";
      if (!forwards_only_from(facility, kStarts * place))
        return "it forwards calls from a special facility that it doesn't have";
    }
    return accesses > 0 && facilities > 0 ? "" : "it lacks access_info or special_facility rows";
  }

  bool forwards_only_from(const SpecialFacility& facility, std::uint64_t place) const {
    for (std::uint64_t start = 0; start < kStarts; ++start) {
      const CallForwarding& row = root_->call_forwarding[place + start];
      if (row.s_id != 0 && (row.s_id != facility.s_id || row.sf_type != facility.sf_type ||
                            row.start_time != kHoursPerStart * start))
        return false;
    }
    return true;
  }

  Root* root_;
  std::vector<std::mutex> locks_;  // subscriber s_id has number s_id % kLocks
};

}  // namespace tatp
