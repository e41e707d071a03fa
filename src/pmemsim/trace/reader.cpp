#include "pmemsim/trace/reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include <nlohmann/json.hpp>

#include "pmemsim/common/printable.hpp"
#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/frame_file.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "a .pmt file is read without conversion");

constexpr std::uint32_t kMaxStringBytes = 1u << 28;
constexpr int kMaxMetadataDepth = 16;  // nesting of arrays and objects; pmemsim's own need 3
// Compression ratio that no table of sites or races exceeds.
constexpr std::uint64_t kMaxTableCompression = 256;
constexpr std::array<std::string_view, kFrameKinds> kFrameNames = {
    "metadata", "site table", "image", "warm-up", "operations", "turns", "table of races"};

std::string_view name_of(const FrameHeader& header) { return kFrameNames[header.kind]; }

// Returns the value of a metadata key that may be absent.
template <class Value>
Value value_or(const nlohmann::ordered_json& json, const char* key, Value otherwise) {
  const auto found = json.find(key);
  return found == json.end() ? otherwise : found->get<Value>();
}

std::uint64_t unsigned_number(const nlohmann::ordered_json& json, const char* key) {
  const auto& value = json.at(key);
  if (!value.is_number_unsigned()) {
    throw TraceError(fmt::format("\"{}\" is not a number from 0 to 2^64 - 1", key));
  }
  return value.get<std::uint64_t>();
}

// Checks the types of keys that the simulator doesn't use, because readers of the JSON rely on
// them.
void check_other_keys(const nlohmann::ordered_json& json) {
  if (json.contains("regions")) unsigned_number(json, "regions");
  for (const char* key : {"arguments", "partial"}) value_or(json, key, std::vector<std::string>());
  if (json.contains("unrecorded")) {
    const auto& unrecorded = json["unrecorded"];
    for (const char* key : {"bytes", "places"}) unsigned_number(unrecorded, key);
    const auto& lowest = unrecorded.at("lowest");
    if (!lowest.is_array() || lowest.empty())
      throw TraceError(
          "\"lowest\" is not a list of "
          "locations");
    for (const auto& place : lowest) {
      for (const char* key : {"begin", "end"}) unsigned_number(place, key);
    }
  }
  if (!json.contains("flushes_outside_pm")) return;
  unsigned_number(json, "flushes");
  for (const auto& memory : json["flushes_outside_pm"]) {
    for (const char* key : {"begin", "end", "flushes"}) unsigned_number(memory, key);
    if (memory.contains("asked")) unsigned_number(memory, "asked");
    const auto kind = memory.at("memory").get<std::string>();
    if (kind == "file" || kind == "data") memory.at("path").get<std::string>();
  }
}

Metadata parse_metadata(std::string_view text) {
  Metadata metadata;
  const auto json = nlohmann::ordered_json::parse(
      text, [](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
        if (depth > kMaxMetadataDepth) throw TraceError("it is nested too deeply");
        return true;
      });
  metadata.json = json.dump();
  metadata.program = json.at("program").get<std::string>();
  metadata.workload = value_or(json, "workload", std::string());
  if (json.contains("seed")) metadata.seed = unsigned_number(json, "seed");
  metadata.libraries = value_or(json, "libraries", std::vector<std::string>());
  check_other_keys(json);
  for (const auto& region : json.at("pm_regions")) {
    metadata.pm_regions.push_back({unsigned_number(region, "begin"), unsigned_number(region, "end"),
                                   region.at("source").get<std::string>()});
    const PmRegion& added = metadata.pm_regions.back();
    if (added.begin >= added.end || added.end > kMaxAddress) {
      throw TraceError("a PM region ends before it begins, or is outside the address space");
    }
  }
  const std::uint64_t threads = unsigned_number(json, "threads");
  if (threads > kMaxThreads) throw TraceError(fmt::format("more than {} threads", kMaxThreads));
  metadata.threads = static_cast<std::uint32_t>(threads);
  const std::uint64_t sync_objects = unsigned_number(json, "sync_objects");
  if (sync_objects > kMaxSyncObjects) {
    throw TraceError(fmt::format("more than {} synchronisation objects", kMaxSyncObjects));
  }
  metadata.sync_objects = static_cast<std::uint32_t>(sync_objects);
  return metadata;
}

// Takes `count` values from the front of `raw`.
template <class Value>
std::vector<Value> take(std::span<const std::byte>& raw, std::size_t count) {
  std::vector<Value> values(count);
  if (count > 0) std::memcpy(values.data(), raw.data(), count * sizeof(Value));
  raw = raw.subspan(count * sizeof(Value));
  return values;
}

std::uint8_t details_of(SiteKind kind) {
  switch (kind) {
    case SiteKind::kFlush:
      return kFlushKinds;
    case SiteKind::kFence:
      return kFenceKinds;
    case SiteKind::kMark:
      return kMarkKinds;
    case SiteKind::kSync:
      return kSyncKinds;
    case SiteKind::kAtomicLoad:
    case SiteKind::kAtomicStore:
    case SiteKind::kAtomicUpdate:
      return kLockRoles;
    default:
      return 1;
  }
}

bool is_builtin(const SiteRecord& site, std::uint32_t number) {
  const auto equals = [&](const SiteRecord& wanted) {
    return std::memcmp(&site, &wanted, sizeof(site)) == 0;
  };
  return equals(builtin_site(number)) || (came_later(number) && equals(unused_site()));
}

// Returns what is wrong with a site, or nullptr.
const char* problem_of(const SiteRecord& site, std::uint32_t number,
                       const std::vector<SiteRecord>& sites,
                       const std::vector<std::uint32_t>& dependences, std::size_t string_bytes) {
  if (site.kind >= kSiteKinds) return "has an unknown kind";
  const auto kind = static_cast<SiteKind>(site.kind);
  if (number < kBuiltinSites) {
    return is_builtin(site, number) ? nullptr : "is not the required built-in one";
  }
  if (kind == SiteKind::kMark || kind == SiteKind::kSync) return "must be a built-in one";
  if (site.detail >= details_of(kind)) return "has an unknown detail";
  if (has_size(kind) ? site.size < 1 || site.size > kMaxAccessBytes : site.size != 0) {
    return "has an invalid size";
  }
  if ((site.flags & ~kSiteFlags) != 0) return "has unknown flags";
  if (site.file >= string_bytes || site.function >= string_bytes) {
    return "refers to a string that does not exist";
  }
  if (site.address_dependences > kMaxDependences || site.data_dependences > kMaxDependences ||
      std::size_t{site.first_dependence} + site.address_dependences + site.data_dependences >
          dependences.size()) {
    return "has dependences that do not exist";
  }
  const int count = site.address_dependences + site.data_dependences;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t source = dependence_site(dependences[site.first_dependence + i]);
    if (source >= sites.size() || !has_result(static_cast<SiteKind>(sites[source].kind))) {
      return "depends on an operation that has no value";
    }
  }
  return nullptr;
}

// Returns the bytes of the table that follow its header.
std::uint64_t bytes_of(const SiteTableHeader& header) {
  const std::uint64_t words =
      std::uint64_t{header.dependences} + (header.inlined_calls > 0 ? header.sites : 0);
  return header.sites * sizeof(SiteRecord) + words * sizeof(std::uint32_t) +
         header.inlined_calls * sizeof(InlinedCall) + header.string_bytes;
}

}  // namespace

SiteTable SiteTable::parse(std::span<const std::byte> raw) {
  if (raw.size() < sizeof(SiteTableHeader)) throw TraceError("the site table is truncated");
  const SiteTableHeader header = take<SiteTableHeader>(raw, 1).front();
  if (header.sites < kBuiltinSites || header.sites > kMaxSites ||
      header.dependences > header.sites * 2 * kMaxDependences || header.string_bytes == 0 ||
      header.string_bytes > kMaxStringBytes || header.inlined_calls > kMaxInlinedCalls ||
      bytes_of(header) != raw.size()) {
    throw TraceError("the site table's sizes contradict each other");
  }
  SiteTable table;
  table.sites_ = take<SiteRecord>(raw, header.sites);
  table.dependences_ = take<std::uint32_t>(raw, header.dependences);
  const auto innermost = take<std::uint32_t>(raw, header.inlined_calls > 0 ? header.sites : 0);
  const auto calls = take<InlinedCall>(raw, header.inlined_calls);
  table.strings_.reserve(raw.size());
  for (std::string_view left(reinterpret_cast<const char*>(raw.data()), raw.size());
       !left.empty();) {
    const std::string_view name = left.substr(0, left.find('\0'));
    table.strings_ += printable(name);
    if (name.size() < left.size()) table.strings_ += '\0';
    left.remove_prefix(std::min(left.size(), name.size() + 1));
  }
  if (table.strings_.front() != '\0' || table.strings_.back() != '\0') {
    throw TraceError("the site table's strings don't begin and end with a zero byte");
  }
  for (std::uint32_t number = 0; number < header.sites; ++number) {
    const char* problem = problem_of(table.sites_[number], number, table.sites_, table.dependences_,
                                     table.strings_.size());
    if (problem != nullptr) throw TraceError(fmt::format("site {} {}", number, problem));
    table.lengths_.push_back(packed_length(table.sites_[number]));
  }
  table.add_lines(innermost, calls);
  return table;
}

void SiteTable::add_lines(std::span<const std::uint32_t> innermost,
                          std::span<const InlinedCall> calls) {
  const auto first_call = static_cast<std::uint32_t>(sites_.size());
  const auto line_of = [&](std::uint32_t call) { return call == 0 ? 0 : first_call + call - 1; };
  for (const SiteRecord& site : sites_) lines_.push_back({site.file, site.function, site.line});
  inlined_at_.resize(sites_.size());
  for (std::uint32_t site = 0; site < innermost.size(); ++site) {
    if (innermost[site] > calls.size() || (site < kBuiltinSites && innermost[site] != 0)) {
      throw TraceError(fmt::format("site {} was inlined by a call that does not exist", site));
    }
    inlined_at_[site] = line_of(innermost[site]);
  }
  std::vector<std::uint32_t> depths(calls.size() + 1);
  for (std::uint32_t number = 1; number <= calls.size(); ++number) {
    const InlinedCall& call = calls[number - 1];
    if (call.file >= strings_.size() || call.function >= strings_.size()) {
      throw TraceError(
          fmt::format("inlined call {} refers to a string that does not exist", number));
    }
    if (call.outer >= number) {
      throw TraceError(fmt::format("inlined call {} is inside a later one", number));
    }
    depths[number] = depths[call.outer] + 1;
    if (depths[number] > kMaxInlinedDepth) {
      throw TraceError(fmt::format("inlined call {} is inside more than {} others", number,
                                   kMaxInlinedDepth - 1));
    }
    lines_.push_back({call.file, call.function, call.line});
    inlined_at_.push_back(line_of(call.outer));
  }
}

TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw TraceError(
        fmt::format("{}: the trace could not be opened: {}", path_, std::strerror(errno)));
  }
  try {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      throw TraceError(fmt::format("{}: this is not a regular file", path_));
    }
    file_bytes_ = static_cast<std::uint64_t>(status.st_size);
    read_index();
    read_metadata();
    read_sites();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

TraceFile::~TraceFile() { close(descriptor_); }

void TraceFile::fail(std::uint64_t offset, std::string_view reason) const {
  throw TraceError(
      fmt::format("{}: byte {}: {}; the file is damaged, record it again", path_, offset, reason));
}

void TraceFile::read(std::uint64_t offset, void* bytes, std::size_t count) const {
  auto* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw TraceError(fmt::format("{}: byte {}: the trace could not be read: {}", path_, offset,
                                   got < 0 ? std::strerror(errno) : "the file became shorter"));
    }
    to += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
}

void TraceFile::read_index() {
  FileHeader header{};
  if (file_bytes_ >= sizeof(header)) read(0, &header, sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    throw TraceError(
        fmt::format("{}: byte 0: this is not a .pmt file; `pmemsim record` writes one", path_));
  }
  if (header.version != kVersion) {
    throw TraceError(
        header.version > kVersion
            ? fmt::format("{}: byte 8: written by a newer pmemsim (format {}, this one reads {}); "
                          "update pmemsim, or record it again with this one",
                          path_, header.version, kVersion)
            : fmt::format(
                  "{}: byte 8: format {} is unknown, this pmemsim reads {}; record the program "
                  "again",
                  path_, header.version, kVersion));
  }
  if (header.reserved != 0) fail(12, "reserved bytes are not zero");

  FileFooter footer{};
  if (file_bytes_ < sizeof(header) + sizeof(footer)) fail(file_bytes_, "the file is truncated");
  const std::uint64_t footer_offset = file_bytes_ - sizeof(footer);
  read(footer_offset, &footer, sizeof(footer));
  if (std::memcmp(footer.magic, kFooterMagic, sizeof(kFooterMagic)) != 0) {
    fail(footer_offset, "the footer is missing, so the file is truncated");
  }
  if (footer.frames > file_bytes_ / sizeof(FrameEntry) || footer.index_offset > footer_offset ||
      footer_offset - footer.index_offset != footer.frames * sizeof(FrameEntry)) {
    fail(footer_offset, "the footer contradicts the file's size");
  }
  index_.resize(footer.frames);
  read(footer.index_offset, index_.data(), footer.frames * sizeof(FrameEntry));
  hash_ = XXH64(index_.data(), footer.frames * sizeof(FrameEntry), 0);
  if (hash_ != footer.index_checksum) fail(footer.index_offset, "the index's checksum is wrong");

  std::uint64_t offset = sizeof(FileHeader);
  for (std::size_t frame = 0; frame < index_.size(); ++frame) {
    check_entry(frame, offset);
    offset += sizeof(FrameHeader) + index_[frame].header.stored_bytes;
  }
  if (offset != footer.index_offset) fail(offset, "the frames do not extend to the index");
}

void TraceFile::check_entry(std::size_t frame, std::uint64_t expected_offset) const {
  const auto& [offset, header] = index_[frame];
  if (offset != expected_offset) fail(expected_offset, "a frame is not at its offset in the index");
  if (header.kind >= kFrameKinds) fail(offset, "a frame has an unknown kind");
  const bool operations = is(header, FrameKind::kOperations);
  const bool turns = is(header, FrameKind::kTurns);
  if (header.reserved[0] != 0 || header.reserved[1] != 0 || header.reserved[2] != 0 ||
      header.raw_bytes == 0 || header.raw_bytes > kMaxFrameBytes || header.stored_bytes == 0 ||
      header.stored_bytes > stored_bound(header.raw_bytes) ||
      (operations ? header.operations == 0 || header.operations > header.raw_bytes / kHeadBytes
                  : header.operations != 0) ||
      (operations || turns ? header.thread >= kMaxThreads : header.thread != 0) ||
      (turns && header.raw_bytes % sizeof(Turn) != 0) ||
      (is(header, FrameKind::kImage) && header.raw_bytes % (8 + kImagePageBytes) != 0) ||
      (is(header, FrameKind::kWarm) && header.raw_bytes % sizeof(WarmLine) != 0)) {
    fail(offset, "a frame's header is invalid");
  }
}

void TraceFile::read_metadata() {
  const auto of_kind = [](const FrameEntry& entry) {
    return is(entry.header, FrameKind::kMetadata);
  };
  const auto found = std::find_if(index_.begin(), index_.end(), of_kind);
  if (found == index_.end() || std::find_if(found + 1, index_.end(), of_kind) != index_.end()) {
    fail(sizeof(FileHeader), "there must be exactly one metadata frame");
  }
  std::vector<std::byte> raw;
  read_frame(*found, raw);
  const auto not_understood = [&](std::string_view reason) {
    fail(found->offset, fmt::format("the metadata are invalid ({})", printable(reason)));
  };
  try {
    metadata_ = parse_metadata({reinterpret_cast<const char*>(raw.data()), raw.size()});
  } catch (const nlohmann::json::exception& error) {
    not_understood(error.what());
  } catch (const TraceError& error) {
    not_understood(error.what());
  }
  // Each object was used at least once, and no two uses are compressed to less than one byte.
  if (metadata_.sync_objects > file_bytes_) {
    fail(found->offset, "the metadata counts more synchronisation objects than the file has bytes");
  }
  std::vector<bool> present(metadata_.threads);
  for (const FrameEntry& entry : index_) {
    const bool operations = is(entry.header, FrameKind::kOperations);
    if (!operations && !is(entry.header, FrameKind::kTurns)) continue;
    if (entry.header.thread >= metadata_.threads) {
      fail(entry.offset,
           fmt::format("{} of a thread that is not in the metadata", name_of(entry.header)));
    }
    if (operations) present[entry.header.thread] = true;
  }
  if (std::find(present.begin(), present.end(), false) != present.end()) {
    fail(found->offset, "the metadata counts a thread that has no operations");
  }
}

void TraceFile::read_sites() {
  const FrameEntry* first = first_frame(FrameKind::kSites);
  if (first == nullptr) fail(sizeof(FileHeader), "the site table is missing");
  const std::vector<std::byte> table = read_table(FrameKind::kSites);
  try {
    sites_ = SiteTable::parse(table);
  } catch (const TraceError& error) {
    fail(first->offset, error.what());
  }
}

const FrameEntry* TraceFile::first_frame(FrameKind kind) const {
  const auto first =
      std::ranges::find_if(index_, [&](const FrameEntry& entry) { return is(entry.header, kind); });
  return first == index_.end() ? nullptr : &*first;
}

std::vector<std::byte> TraceFile::read_table(FrameKind kind) const {
  std::vector<std::byte> raw, table;
  for (const FrameEntry& entry : index_) {
    if (!is(entry.header, kind)) continue;
    read_frame(entry, raw);
    if (table.size() + raw.size() > sizeof(SiteTableHeader) + kMaxTableCompression * file_bytes_) {
      fail(entry.offset, fmt::format("the {} is too long", name_of(entry.header)));
    }
    table.insert(table.end(), raw.begin(), raw.end());
  }
  return table;
}

std::uint64_t TraceFile::operations(std::uint32_t thread) const {
  std::uint64_t count = 0;
  for (const FrameEntry& entry : index_) {
    if (is(entry.header, FrameKind::kOperations) && entry.header.thread == thread) {
      count += entry.header.operations;
    }
  }
  return count;
}

void TraceFile::read_stored(const FrameEntry& entry, std::vector<std::byte>& stored) const {
  FrameHeader header{};
  read(entry.offset, &header, sizeof(header));
  if (std::memcmp(&header, &entry.header, sizeof(header)) != 0) {
    fail(entry.offset, "a frame's header differs from the index");
  }
  stored.resize(header.stored_bytes);
  read(entry.offset + sizeof(header), stored.data(), stored.size());
  if (XXH64(stored.data(), stored.size(), 0) != header.checksum) {
    fail(entry.offset, fmt::format("the checksum of a frame ({}) is wrong", name_of(header)));
  }
}

void TraceFile::read_frame(const FrameEntry& entry, std::vector<std::byte>& raw) const {
  const FrameHeader& header = entry.header;
  std::vector<std::byte> stored;
  read_stored(entry, stored);
  raw.resize(header.raw_bytes);
  const std::size_t got = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(got) || got != header.raw_bytes) {
    fail(entry.offset, fmt::format("a frame ({}) can't be decompressed", name_of(header)));
  }
}

OperationStream::OperationStream(const TraceFile& file, std::uint32_t thread)
    : file_(&file),
      sites_(file.sites().sites().data()),
      lengths_(file.sites().lengths().data()),
      site_count_(static_cast<std::uint32_t>(file.sites().sites().size())),
      sync_objects_(file.metadata().sync_objects),
      thread_(thread) {}

bool OperationStream::next_frame() {
  const auto frames = file_->frames();
  if (end_ != nullptr && position_ - frame_position_ != frames[frame_].header.operations) {
    fail("the frame contains a different number of operations than its header states");
  }
  for (; next_frame_ < frames.size(); ++next_frame_) {
    const FrameEntry& entry = frames[next_frame_];
    if (!is(entry.header, FrameKind::kOperations) || entry.header.thread != thread_) continue;
    file_->read_frame(entry, raw_);
    raw_.resize(entry.header.raw_bytes + kMaxRecordBytes);
    std::memset(raw_.data() + entry.header.raw_bytes, 0, kMaxRecordBytes);
    cursor_ = raw_.data();
    end_ = cursor_ + entry.header.raw_bytes;
    frame_position_ = position_;
    frame_ = next_frame_++;
    return true;
  }
  return false;
}

void OperationStream::seek(std::uint64_t position) {
  const auto frames = file_->frames();
  if (end_ == nullptr || position < frame_position_ ||
      position - frame_position_ >= frames[frame_].header.operations) {
    // Finds the frame that contains the position; earlier frames need not be decompressed.
    position_ = 0;
    cursor_ = end_ = nullptr;
    for (next_frame_ = 0; next_frame_ < frames.size(); ++next_frame_) {
      const FrameHeader& header = frames[next_frame_].header;
      if (!is(header, FrameKind::kOperations) || header.thread != thread_) continue;
      if (position - position_ < header.operations) break;
      position_ += header.operations;
    }
    if (!next_frame()) {
      if (position == position_) return;
      throw Error(fmt::format("{}: thread {} has {} operations; there is no operation {}",
                              file_->path(), thread_, position_, position));
    }
  }
  cursor_ = raw_.data();
  position_ = frame_position_;
  Operation skipped;
  while (position_ < position) next(skipped);
}

// Decodes an atomic access or a synchronisation operation.
std::size_t OperationStream::decode_atomic(const std::byte* payload, Operation& operation) const {
  operation.address = detail::load<std::uint64_t>(payload);
  operation.object = detail::load<std::uint32_t>(payload + 8);
  operation.version = detail::load<std::uint32_t>(payload + 12);
  const RecordLayout& layout = layout_of(static_cast<std::uint8_t>(operation.kind));
  if (layout.value != 0) operation.value = payload + 16;
  const bool valid = operation.address <= kMaxAddress && operation.object < sync_objects_ &&
                     (layout.flag != 0 || !operation.flag);
  return valid ? layout.fixed + (operation.size & layout.value) : 0;
}

void OperationStream::check_mark(const Operation& mark) const {
  const auto kind = static_cast<MarkKind>(mark.detail);
  const bool range = kind == MarkKind::kLogRange || kind == MarkKind::kAllocate;
  if (kind == MarkKind::kPurpose && mark.address >= kPurposes) fail("unknown purpose");
  if (kind == MarkKind::kNextFence && mark.address >= kFenceMeanings) fail("unknown fence meaning");
  if (kind == MarkKind::kHint && ((mark.second >> 32) & 0xff) >= kHintKinds) fail("unknown hint");
  if (has_address(kind) && mark.address > kMaxAddress) {
    fail("a mark's address is invalid");
  }
  if (range && mark.second > kMaxAddress) fail("a mark's size is invalid");
}

void OperationStream::fail_record() const {
  fail("the record is invalid, or extends beyond its frame");
}

void OperationStream::fail(std::string_view reason) const {
  file_->fail(file_->frames()[frame_].offset,
              fmt::format("thread {}, operation {}: {}", thread_, position_, reason));
}

}  // namespace pmemsim::trace
