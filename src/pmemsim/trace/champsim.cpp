#include "pmemsim/trace/champsim.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim::trace {
namespace {

constexpr std::uint8_t kStackPointer = 6, kFlags = 25, kInstructionPointer = 26;
constexpr std::uint32_t kMostBefore = 200;  // instructions that one operation counts
constexpr std::uint32_t kMostCycles = 255;
constexpr std::uint64_t kAccessBytes = 8;
// The lowest 47 bits of an address, of which the last access lies below the limit, too.
constexpr std::uint64_t kAddressMask = kMaxAddress - kAccessBytes;

// An operation's place in its instruction.
enum Slot : std::uint32_t {
  kLoadSlots = 0,
  kStoreSlots = 4,
  kConditionalSlot = 8,
  kIndirectSlot = 9,
  kPlainSlot = 10
};

struct Layout {
  std::size_t bytes, destinations, sources, stores, loads;  // sizes and offsets
  std::size_t registers_written, lines_written;
};
constexpr Layout kUsualLayout{.bytes = 64,
                              .destinations = 10,
                              .sources = 12,
                              .stores = 16,
                              .loads = 32,
                              .registers_written = 2,
                              .lines_written = 2};
constexpr Layout kCloudsuiteLayout{.bytes = 96,
                                   .destinations = 10,
                                   .sources = 14,
                                   .stores = 24,
                                   .loads = 56,
                                   .registers_written = 4,
                                   .lines_written = 4};

const Layout& bytes_and_offsets(ChampsimVariant variant) {
  return variant == ChampsimVariant::kUsual ? kUsualLayout : kCloudsuiteLayout;
}

bool has(const std::array<std::uint8_t, 4>& registers, std::uint8_t wanted) {
  return std::find(registers.begin(), registers.end(), wanted) != registers.end();
}

bool carries(std::uint8_t number) {
  return number != 0 && number != kStackPointer && number != kInstructionPointer;
}

enum class Branch : std::uint8_t { kConditional, kIndirect, kPredicted };

// The trace has no kinds of branches. They follow from the registers, by ChampSim's rules.
Branch branch_of(const ChampsimRecord& record) {
  const bool stack = has(record.sources, kStackPointer), flags = has(record.sources, kFlags);
  const bool relative = has(record.sources, kInstructionPointer);
  const bool other = std::any_of(record.sources.begin(), record.sources.end(),
                                 [](auto number) { return carries(number) && number != kFlags; });
  if (!has(record.destinations, kInstructionPointer)) return Branch::kConditional;
  if (stack) return relative && other ? Branch::kIndirect : Branch::kPredicted;
  if (!flags && !other) return Branch::kPredicted;
  return !relative && other ? Branch::kIndirect : Branch::kConditional;
}

template <class Value>
void append(std::vector<std::byte>& to, std::span<const Value> values) {
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

void ChampsimImport::Sources::add(std::uint32_t load, std::uint32_t cycles) {
  const std::uint32_t since = std::min((load & kMostCycles) + cycles, kMostCycles);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (loads[i] >> 8 != load >> 8) continue;
    loads[i] = std::max(loads[i], (load & ~kMostCycles) | since);
    return;
  }
  if (count < kMost) loads[count++] = (load & ~kMostCycles) | since;
}

std::uint32_t& ChampsimImport::SiteNumbers::place_of(const SiteKey& key) {
  const std::uint64_t mixed =
      (key.ip ^ std::uint64_t{key.slot} << 56 ^ std::uint64_t{key.instructions} << 48) *
      0x9e3779b97f4a7c15ull;
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = mixed >> 32 & mask;; at = (at + 1) & mask) {
    Entry& entry = entries_[at];
    if (entry.number != 0 && entry.key != key) continue;
    entry.key = key;
    return entry.number;
  }
}

std::uint32_t& ChampsimImport::SiteNumbers::find(const SiteKey& key) {
  std::uint32_t* number = &place_of(key);
  if (*number != 0) return *number;
  if (++used_ > entries_.size() / 2) {
    const std::vector<Entry> smaller =
        std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    for (const Entry& entry : smaller) {
      if (entry.number != 0) place_of(entry.key) = entry.number;
    }
    number = &place_of(key);
  }
  return *number;
}

ChampsimImport::ChampsimImport(std::string path, ChampsimVariant variant, std::uint64_t skip,
                               std::uint64_t most)
    : writer_(std::move(path)), variant_(variant), skip_(skip), most_(most) {
  for (std::uint32_t number = 0; number < kBuiltinSites; ++number) {
    sites_.push_back(exists_on_use(number) ? unused_site() : builtin_site(number));
  }
  sources_.resize(kBuiltinSites);
  executed_twice_.resize(kBuiltinSites);
  strings_.push_back('\0');
}

bool ChampsimImport::add(std::span<const std::byte> bytes) {
  const std::size_t size = bytes_and_offsets(variant_).bytes;
  while (converted_ < most_) {
    if (partial_.empty() && bytes.size() >= size) {
      add_record(bytes.data());
      bytes = bytes.subspan(size);
      continue;
    }
    const std::size_t more = std::min(size - partial_.size(), bytes.size());
    append(partial_, bytes.first(more));
    bytes = bytes.subspan(more);
    if (partial_.size() < size) return true;
    add_record(partial_.data());
    partial_.clear();
  }
  partial_.clear();
  return false;
}

void ChampsimImport::add_record(const std::byte* bytes) {
  const Layout& layout = bytes_and_offsets(variant_);
  const auto branch = static_cast<unsigned>(bytes[8]), taken = static_cast<unsigned>(bytes[9]);
  if (branch > 1 || taken > 1) {
    throw Error(fmt::format(
        "record {} (at byte {}) has bytes 8 and 9 that don't say whether it is a taken branch; "
        "ChampSim's records have 64 bytes, those of CloudSuite's traces 96",
        read_, read_ * layout.bytes));
  }
  if (read_++ < skip_) return;
  ChampsimRecord record{};
  std::memcpy(&record.ip, bytes, sizeof(record.ip));
  record.is_branch = branch != 0;
  record.taken = taken != 0;
  std::memcpy(record.destinations.data(), bytes + layout.destinations, layout.registers_written);
  std::memcpy(record.sources.data(), bytes + layout.sources, record.sources.size());
  std::memcpy(record.stores.data(), bytes + layout.stores,
              layout.lines_written * sizeof(std::uint64_t));
  std::memcpy(record.loads.data(), bytes + layout.loads, sizeof(record.loads));
  if (is_pending_) convert(pending_, record.ip);
  pending_ = record;
  is_pending_ = true;
  ++converted_;
}

ChampsimImport::Sources ChampsimImport::read_by(const ChampsimRecord& record) const {
  Sources read;
  for (const std::uint8_t number : record.sources) {
    if (!carries(number)) continue;
    const Sources& found = registers_[number];
    for (std::uint32_t i = 0; i < found.count; ++i) read.add(found.loads[i], 0);
  }
  return read;
}

void ChampsimImport::convert(const ChampsimRecord& record, std::uint64_t next_ip) {
  const Sources addresses = read_by(record);
  Sources own;
  ++before_;
  for (std::uint32_t i = 0; i < record.loads.size(); ++i) {
    if (record.loads[i] == 0) continue;
    const std::uint32_t number = site(record.ip, kLoadSlots + i, SiteKind::kLoad, addresses);
    own.add(number << 8, 1);
    begin(number);
    put(record.loads[i] & kAddressMask);
  }
  const Sources& values = own.count > 0 ? own : addresses;
  for (std::uint32_t i = 0; i < record.stores.size(); ++i) {
    if (record.stores[i] == 0) continue;
    begin(site(record.ip, kStoreSlots + i, SiteKind::kStore, values));
    put(record.stores[i] & kAddressMask);
    put(std::uint64_t{0});
  }
  if (record.is_branch) convert_branch(record, next_ip, values);
  if (before_ == kMostBefore) pass_plain(record.ip);
  Sources result = own;
  for (std::uint32_t i = 0; own.count == 0 && i < addresses.count; ++i) {
    result.add(addresses.loads[i], 1);
  }
  for (const std::uint8_t number : record.destinations) {
    if (carries(number)) registers_[number] = result;
  }
}

void ChampsimImport::convert_branch(const ChampsimRecord& record, std::uint64_t next_ip,
                                    const Sources& read) {
  switch (branch_of(record)) {
    case Branch::kConditional:
      begin(site(record.ip, kConditionalSlot, SiteKind::kBranch, read), record.taken);
      break;
    case Branch::kIndirect:
      begin(site(record.ip, kIndirectSlot, SiteKind::kIndirectBranch, read));
      put(static_cast<std::uint32_t>(next_ip ^ next_ip >> 32));
      break;
    case Branch::kPredicted:
      break;
  }
}

// Records the instructions since the last operation.
void ChampsimImport::pass_plain(std::uint64_t ip) {
  if (before_ > 0) begin(site(ip, kPlainSlot, SiteKind::kExecute, {}));
}

// Returns the site of the next operation, which counts the instructions since the last one.
std::uint32_t ChampsimImport::site(std::uint64_t ip, std::uint32_t slot, SiteKind kind,
                                   const Sources& read) {
  const SiteKey key{.ip = ip, .slot = slot, .instructions = before_};
  before_ = 0;
  std::uint32_t& number = numbers_.find(key);
  if (number != 0) {
    if (!executed_twice_[number]) note_second_execution(number, read);
    return number;
  }
  if (sites_.size() == kMaxSites) {
    throw Error(
        fmt::format("record {} is one more instruction than a recording can tell apart "
                    "({}); convert a part of the trace",
                    read_ - 1, kMaxSites));
  }
  number = static_cast<std::uint32_t>(sites_.size());
  const auto [name, is_new] = names_.try_emplace(ip, static_cast<std::uint32_t>(strings_.size()));
  if (is_new) strings_ += fmt::format("{:#x}", ip) + '\0';
  SiteRecord record{};
  record.kind = static_cast<std::uint8_t>(kind);
  record.size = has_size(kind) ? kAccessBytes : 0;
  record.instructions = key.instructions;
  record.file = name->second;
  sites_.push_back(record);
  sources_.push_back(read);
  executed_twice_.push_back(false);
  return number;
}

// In a loop, only the second execution reads what the first one has produced.
void ChampsimImport::note_second_execution(std::uint32_t site, const Sources& read) {
  executed_twice_[site] = true;
  Sources both = read;
  const Sources& first = sources_[site];
  for (std::uint32_t i = 0; i < first.count; ++i) both.add(first.loads[i], 0);
  sources_[site] = both;
}

void ChampsimImport::begin(std::uint32_t site, bool flag) {
  if (frame_bytes_ + kMaxRecordBytes > kMaxFrameBytes) end_frame();
  ++frame_operations_;
  ++operations_;
  put((site << 1) | (flag ? 1u : 0u));
}

template <class Value>
void ChampsimImport::put(Value value) {
  std::memcpy(frame_.data() + frame_bytes_, &value, sizeof(value));
  frame_bytes_ += sizeof(value);
}

void ChampsimImport::end_frame() {
  writer_.frame(FrameKind::kOperations, 0, std::span(frame_).first(frame_bytes_),
                frame_operations_);
  frame_bytes_ = 0;
  frame_operations_ = 0;
}

void ChampsimImport::end() {
  if (!partial_.empty()) {
    throw Error(fmt::format(
        "record {} has only {} of {} bytes: the trace is cut short, or of another format", read_,
        partial_.size(), bytes_and_offsets(variant_).bytes));
  }
  if (!is_pending_) {
    throw Error(fmt::format("the trace has {} records, of which none is left to convert", read_));
  }
  convert(pending_, 0);
  pass_plain(pending_.ip);
  end_frame();
}

std::vector<std::byte> ChampsimImport::site_table() const {
  std::vector<SiteRecord> sites = sites_;
  std::vector<std::uint32_t> dependences;
  for (std::uint32_t number = kBuiltinSites; number < sites.size(); ++number) {
    SiteRecord& site = sites[number];
    const Sources& read = sources_[number];
    site.first_dependence = static_cast<std::uint32_t>(dependences.size());
    const bool is_load = site.kind == static_cast<std::uint8_t>(SiteKind::kLoad);
    (is_load ? site.address_dependences : site.data_dependences) =
        static_cast<std::uint16_t>(read.count);
    dependences.insert(dependences.end(), read.loads.begin(), read.loads.begin() + read.count);
  }
  const SiteTableHeader header{.sites = static_cast<std::uint32_t>(sites.size()),
                               .dependences = static_cast<std::uint32_t>(dependences.size()),
                               .string_bytes = static_cast<std::uint32_t>(strings_.size()),
                               .inlined_calls = 0};
  std::vector<std::byte> table;
  append(table, std::span(&header, 1));
  append(table, std::span(std::as_const(sites)));
  append(table, std::span(std::as_const(dependences)));
  append(table, std::span(strings_));
  return table;
}

void ChampsimImport::finish(const std::string& metadata) {
  writer_.frame(FrameKind::kMetadata, 0, std::as_bytes(std::span(metadata)), 0);
  const std::vector<std::byte> table = site_table();
  for (std::span<const std::byte> left(table); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxFrameBytes));
    writer_.frame(FrameKind::kSites, 0, part, 0);
    left = left.subspan(part.size());
  }
  writer_.finish();
}

}  // namespace pmemsim::trace
