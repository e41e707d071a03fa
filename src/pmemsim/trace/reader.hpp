// Reader of .pmt files. It opens the file and checks the whole frame structure. Then it streams
// each thread's operations with one frame in memory at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/common/error.hpp"
#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim::trace {

// A damaged, truncated or foreign file. what() names the file, the offset and the reason.
class TraceError : public Error {
 public:
  using Error::Error;
};

// Sources of pools that pmemsim/pm.h has opened. The source says which log the program's library
// has.
inline constexpr std::string_view kUndoPool = "pm_open";
inline constexpr std::string_view kRedoPool = "pm_open, redo log";

struct PmRegion {
  std::uint64_t begin, end;  // addresses
  std::string source;        // kUndoPool, kRedoPool, the file's path, "--pm-range", "--pm-heap"

  bool is_pool() const { return source == kUndoPool || source == kRedoPool; }
};

// The log in the recorded program.
enum class ProgramLog : std::uint8_t {
  kUndo,  // an undo log, or no log
  kRedo,
};

// The contents of the metadata frame (docs/reference/trace_format.md lists its keys).
struct Metadata {
  std::string json;  // text of the metadata frame without white space
  std::string program;
  std::string workload;  // empty if the program isn't one of pmemsim's own
  std::uint64_t seed = 0;
  std::vector<PmRegion> pm_regions;
  std::uint32_t threads = 0;
  std::uint32_t sync_objects = 0;  // limit of the object numbers that kSync and the atomics use

  // Names of libraries that the program calls, and whose own stores to PM are not recorded.
  std::vector<std::string> libraries;

  bool uses_libpmemobj() const {
    return std::ranges::find(libraries, "libpmemobj") != libraries.end();
  }

  ProgramLog log() const {
    const auto has_redo_log = [](const PmRegion& region) { return region.source == kRedoPool; };
    return std::ranges::any_of(pm_regions, has_redo_log) ? ProgramLog::kRedo : ProgramLog::kUndo;
  }
};

// The source line of an instruction or of an inlined call.
struct SourceLine {
  std::uint32_t file, function;  // SiteTable::string()
  std::uint32_t line;            // 0: unknown
};

class SiteTable {
 public:
  // Parses the concatenated kSites frames. Throws TraceError with the reason alone.
  static SiteTable parse(std::span<const std::byte> raw);

  std::span<const SiteRecord> sites() const { return sites_; }
  // Returns the dependences of the address, then those of the data; format.hpp has the encoding.
  std::span<const std::uint32_t> dependences(const SiteRecord& site) const {
    return {dependences_.data() + site.first_dependence,
            std::size_t{site.address_dependences} + site.data_dependences};
  }
  std::string_view string(std::uint32_t offset) const { return strings_.data() + offset; }
  // Returns the source line of this number. The first numbers are those of the sites; inlined calls
  // follow.
  const SourceLine& line(std::uint32_t number) const { return lines_[number]; }
  std::size_t lines() const { return lines_.size(); }
  // Returns the line of the call by which the compiler inlined the code of that line; 0: not
  // inlined.
  std::uint32_t inlined_at(std::uint32_t number) const { return inlined_at_[number]; }
  // The packed_length() of each site.
  std::span<const std::uint8_t> lengths() const { return lengths_; }

 private:
  std::vector<std::uint8_t> lengths_;
  std::vector<SiteRecord> sites_;
  std::vector<std::uint32_t> dependences_;
  std::vector<SourceLine> lines_;
  std::vector<std::uint32_t> inlined_at_;  // by line
  std::string strings_;                    // ends with a zero byte

  void add_lines(std::span<const std::uint32_t> innermost, std::span<const InlinedCall> calls);
};

// One recorded operation, decoded. Fields that its kind doesn't have are zero.
struct Operation {
  std::uint64_t address;   // kMark: first; kIndirectBranch: target
  std::uint64_t second;    // kMark
  const std::byte* value;  // `size` bytes, valid until the next call of next()
  std::uint32_t site;
  std::uint32_t instructions;     // machine instructions, including this one
  std::uint32_t object, version;  // kSync and atomics
  SiteKind kind;
  std::uint8_t detail;
  std::uint8_t size;
  std::uint8_t site_flags;
  bool flag;  // branch: taken; atomic update: wrote
};

// A set of kinds of operations.
class KindSet {
 public:
  constexpr KindSet(std::initializer_list<SiteKind> kinds) {
    for (const SiteKind kind : kinds) bits_ |= 1u << static_cast<unsigned>(kind);
  }
  constexpr bool contains(std::uint8_t kind) const { return (bits_ >> kind & 1) != 0; }
  friend constexpr KindSet operator|(KindSet a, const KindSet& b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  std::uint32_t bits_ = 0;
};
static_assert(kSiteKinds <= 32);

class TraceFile {
 public:
  // Opens the file, reads index, metadata and site table, and checks them all. Throws TraceError.
  explicit TraceFile(std::string path);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile();

  const std::string& path() const { return path_; }
  const Metadata& metadata() const { return metadata_; }
  const SiteTable& sites() const { return sites_; }
  std::span<const FrameEntry> frames() const { return index_; }
  std::uint64_t operations(std::uint32_t thread) const;
  // Returns the XXH64 of the index, which covers every frame's checksum; it identifies the
  // recording.
  std::uint64_t hash() const { return hash_; }

  // Reads the stored bytes of one frame, without its header, and checks the checksum. Throws
  // TraceError.
  void read_stored(const FrameEntry& frame, std::vector<std::byte>& stored) const;
  // Decompresses one frame into `raw`, and checks length and checksum. Throws TraceError.
  void read_frame(const FrameEntry& frame, std::vector<std::byte>& raw) const;

  // Returns the first frame of this kind, or nullptr if there is none.
  const FrameEntry* first_frame(FrameKind kind) const;
  // Returns the concatenated contents of the frames of this kind. Throws TraceError, also if they
  // are longer than possible for a file of this size.
  std::vector<std::byte> read_table(FrameKind kind) const;

  // Throws TraceError with the problem at `offset` of this file, and a remedy.
  [[noreturn]] void fail(std::uint64_t offset, std::string_view reason) const;

 private:
  std::string path_;
  void read(std::uint64_t offset, void* bytes, std::size_t count) const;
  void read_index();
  void check_entry(std::size_t frame, std::uint64_t expected_offset) const;
  void read_metadata();
  void read_sites();

  int descriptor_ = -1;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t hash_ = 0;
  std::vector<FrameEntry> index_;
  Metadata metadata_;
  SiteTable sites_;
};

// The operations of one thread, in order. Keeps one decompressed frame.
class OperationStream {
 public:
  OperationStream(const TraceFile& file, std::uint32_t thread);

  // Reads the next operation. Returns false at the end. Throws TraceError on a damaged frame or
  // record. It is inline because every simulated operation passes through it.
  bool next(Operation& operation);

  // Skips to the next operation of these kinds, without decoding the skipped ones.
  void skip_to(KindSet kinds);

  // The next records of the frame, for a reader that decodes them itself: whole ones up to `end`,
  // and zeros for at least kMaxRecordBytes behind it. passed() continues at one of them, after this
  // number of operations.
  struct Records {
    const std::byte* next;
    const std::byte* end;
  };
  Records records() const { return {cursor_, end_}; }
  void passed(const std::byte* next, std::uint64_t operations) {
    cursor_ = next;
    position_ += operations;
  }

  // position() is the number of operations read so far. seek() moves to any position, for designs
  // that re-execute regions.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position);

 private:
  bool next_frame();
  std::size_t decode(const std::byte* payload, Operation& operation) const;
  std::size_t decode_atomic(const std::byte* payload, Operation& operation) const;
  std::size_t length(const std::byte* record, std::uint32_t site) const;
  void pass(std::size_t bytes);
  void check_mark(const Operation& operation) const;
  [[noreturn]] void fail_record() const;
  [[noreturn]] void fail(std::string_view reason) const;

  const TraceFile* file_;
  const SiteRecord* sites_;
  const std::uint8_t* lengths_;
  std::uint32_t site_count_;
  std::uint32_t sync_objects_;
  std::uint32_t thread_;
  std::size_t next_frame_ = 0;        // index into the file's frames
  std::size_t frame_ = 0;             // index of the frame in raw_
  std::uint64_t frame_position_ = 0;  // position of the frame's first operation
  std::vector<std::byte> raw_;        // the frame, then kMaxRecordBytes of zeros
  const std::byte* cursor_ = nullptr;
  const std::byte* end_ = nullptr;
  std::uint64_t position_ = 0;
};

namespace detail {

template <class Integer>
Integer load(const std::byte* from) {
  Integer value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace detail

// Lengths have a table of their own, because the position of the next record is on the critical
// path.
inline std::size_t OperationStream::length(const std::byte* record, std::uint32_t site) const {
  const std::size_t packed = lengths_[site];
  const auto copied = static_cast<std::size_t>(record[kHeadBytes + sizeof(std::uint64_t)]);
  return (packed & (kLengthVaries - 1)) + (copied & (std::size_t{0} - packed / kLengthVaries));
}

[[gnu::always_inline]] inline bool OperationStream::next(Operation& operation) {
  if (cursor_ == end_ && !next_frame()) [[unlikely]]
    return false;
  const std::byte* const record = cursor_;
  const auto head = detail::load<std::uint32_t>(record);
  const std::uint32_t number = head >> 1;
  if (number >= site_count_) [[unlikely]]
    fail_record();
  const SiteRecord& site = sites_[number];
  operation = {};
  operation.site = number;
  operation.kind = static_cast<SiteKind>(site.kind);
  operation.detail = site.detail;
  operation.size = site.size;
  operation.site_flags = site.flags;
  operation.instructions = site.instructions;
  operation.flag = (head & 1) != 0;
  const std::size_t bytes = decode(record + kHeadBytes, operation);
  if (bytes > static_cast<std::size_t>(end_ - record) || bytes == 0) [[unlikely]]
    fail_record();
  if (operation.kind == SiteKind::kMark) [[unlikely]]
    check_mark(operation);
  cursor_ = record + bytes;
  ++position_;
  return true;
}

// Decodes the fields that depend on the kind. Returns the length of the record, or 0 if a field is
// invalid. Reads beyond the frame's end return the zeros after it.
[[gnu::always_inline]] inline std::size_t OperationStream::decode(const std::byte* payload,
                                                                  Operation& operation) const {
  const auto first = detail::load<std::uint64_t>(payload);
  const std::byte* const rest = payload + sizeof(first);
  std::size_t bytes = kHeadBytes + sizeof(first);
  bool valid = !operation.flag;
  switch (operation.kind) {
    case SiteKind::kExecute:
    case SiteKind::kFence:
      return valid ? kHeadBytes : 0;
    case SiteKind::kBranch:
    case SiteKind::kRecurrence:
      return kHeadBytes;
    case SiteKind::kExternal:
      operation.instructions += static_cast<std::uint32_t>(first);
      return kHeadBytes + sizeof(std::uint32_t);
    case SiteKind::kIndirectBranch:
      operation.address = static_cast<std::uint32_t>(first);
      return valid ? kHeadBytes + sizeof(std::uint32_t) : 0;
    case SiteKind::kMark:
      operation.address = first;
      operation.second = detail::load<std::uint64_t>(rest);
      return valid ? bytes + sizeof(std::uint64_t) : 0;
    case SiteKind::kLoad:
    case SiteKind::kFlush:
      break;
    case SiteKind::kStore:
    case SiteKind::kNonTemporal:
      operation.value = rest;
      bytes += operation.size;
      break;
    case SiteKind::kCopyLoad:
      operation.size = static_cast<std::uint8_t>(*rest);
      bytes += 1;
      valid &= operation.size - 1u < kCopyBytes;
      break;
    case SiteKind::kCopyStore:
      operation.size = static_cast<std::uint8_t>(*rest);
      operation.value = rest + 1;
      bytes += 1 + std::size_t{operation.size};
      valid &= operation.size - 1u < kCopyBytes;
      break;
    case SiteKind::kSync:
    case SiteKind::kAtomicLoad:
    case SiteKind::kAtomicStore:
    case SiteKind::kAtomicUpdate:
      return decode_atomic(payload, operation);
  }
  operation.address = first;
  return valid && first <= kMaxAddress ? bytes : 0;
}

// Advances the cursor. The branches for common lengths compute the same sum as the last one.
// Skipped code repeats itself, so that the host's processor predicts these branches. The next
// record is then processed before the length of this one has been loaded.
inline void OperationStream::pass(std::size_t bytes) {
  if (bytes == kHeadBytes) {
    cursor_ += kHeadBytes;
  } else if (bytes == kHeadBytes + 8) {
    cursor_ += kHeadBytes + 8;
  } else if (bytes == kHeadBytes + 16) {
    cursor_ += kHeadBytes + 16;
  } else {
    cursor_ += bytes;
  }
}

inline void OperationStream::skip_to(KindSet kinds) {
  do {
    for (; cursor_ != end_; ++position_) {
      const std::uint32_t site_number = detail::load<std::uint32_t>(cursor_) >> 1;
      if (site_number >= site_count_) [[unlikely]]
        fail_record();
      if (kinds.contains(sites_[site_number].kind)) return;
      const std::size_t bytes = length(cursor_, site_number);
      if (bytes > static_cast<std::size_t>(end_ - cursor_)) [[unlikely]]
        fail_record();
      pass(bytes);
    }
  } while (next_frame());
}

}  // namespace pmemsim::trace
