// The .pmt trace format, byte for byte.
//
// docs/reference/trace_format.md explains the format. Only this header defines the layout in code.
// It has no dependencies, because the recorder's runtime shares it with the simulator.
//
// All integers are little-endian.
//
//   FileHeader
//   frames         one after the other, of any kind and thread, each with its own checksum, so
//                  that a recording streams to disk and a reader streams from it
//   FrameIndex     one FrameEntry per frame, in file order
//   FileFooter     the last bytes of the file: position and checksum of the index
//
// A thread's operations are the concatenation of its kOperations frames. No record crosses a frame.
//
// An operation is a 32-bit head, (site << 1) | flag, followed by the payload of its kind. The site
// is an index into the site table (frame kSites). The table describes every recorded instruction:
// its kind, its width, its source line, and the earlier instructions that produce its address and
// its data. The first kBuiltinSites entries are events that the runtime itself reports.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmemsim::trace {

inline constexpr char kMagic[8] = {'P', 'M', 'T', 'R', 'A', 'C', 'E', '\0'};
inline constexpr char kFooterMagic[8] = {'P', 'M', 'T', 'E', 'N', 'D', '\0', '\0'};
inline constexpr std::uint32_t kVersion = 1;

// Largest uncompressed size of a frame. A reader rejects a frame with a larger size.
inline constexpr std::uint32_t kMaxFrameBytes = 1u << 20;
inline constexpr std::uint32_t kMaxThreads = 1024;
inline constexpr std::uint32_t kMaxSites = 1u << 24;
inline constexpr std::uint32_t kMaxSyncObjects = 1u << 28;
inline constexpr std::uint32_t kMaxAccessBytes = 64;
// Highest address of a program (x86-64 has 47 bits for user space). An address plus a size never
// overflows, and the simulator can use the bits above.
inline constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 47;
// Memory intrinsics (memcpy, memset, memmove) are recorded as accesses of this width.
inline constexpr std::uint32_t kCopyBytes = 16;
inline constexpr std::uint32_t kLineBytes = 64;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;  // zero
};
static_assert(sizeof(FileHeader) == 16);

enum class FrameKind : std::uint8_t {
  kMetadata = 0,    // JSON: program, arguments, workload, seed, PM regions, counts, ...
  kSites = 1,       // SiteTableHeader, SiteRecord[], dependences (u32[]), inlining, strings
  kImage = 2,       // PM at the start of the region of interest: ImagePage records
  kWarm = 3,        // lines touched before the region of interest: WarmLine records, oldest first
  kOperations = 4,  // one thread's operations
  kTurns = 5,       // when one thread ran: Turn records
  kRaces = 6,       // what was found in the operations and turns: RacesHeader, RaceRecord[]
};
inline constexpr std::uint8_t kFrameKinds = 7;

// The header in front of every frame's compressed bytes.
struct FrameHeader {
  std::uint8_t kind;
  std::uint8_t reserved[3];    // zero
  std::uint32_t thread;        // kOperations, kTurns: dense thread number from 0; otherwise 0
  std::uint32_t raw_bytes;     // bytes after decompression
  std::uint32_t stored_bytes;  // bytes of the zstd frame that follows
  std::uint64_t operations;    // kOperations: records in this frame; otherwise 0
  std::uint64_t checksum;      // XXH64 (seed 0) of the stored bytes
};
static_assert(sizeof(FrameHeader) == 32);

constexpr bool is(const FrameHeader& header, FrameKind kind) {
  return header.kind == static_cast<std::uint8_t>(kind);
}

struct FrameEntry {
  std::uint64_t offset;  // file offset of the FrameHeader
  FrameHeader header;    // copy of the FrameHeader
};
static_assert(sizeof(FrameEntry) == 40);

struct FileFooter {
  std::uint64_t index_offset;
  std::uint64_t frames;
  std::uint64_t index_checksum;  // XXH64 (seed 0) of the index
  char magic[8];
};
static_assert(sizeof(FileFooter) == 32);

// ---- The site table -------------------------------------------------------------------------

enum class SiteKind : std::uint8_t {
  // kind               payload
  kLoad = 0,          // u64 address
  kStore = 1,         // u64 address, value[size]
  kNonTemporal = 2,   // u64 address, value[size]
  kAtomicLoad = 3,    // u64 address, u32 object, u32 version
  kAtomicStore = 4,   // u64 address, u32 object, u32 version, value[size]
  kAtomicUpdate = 5,  // read-modify-write, compare-exchange. flag: it wrote. Like kAtomicStore
  kCopyLoad = 6,      // u64 address, u8 bytes (1..kCopyBytes): part of a memory intrinsic
  kCopyStore = 7,     // u64 address, u8 bytes, value[bytes]
  kBranch = 8,        // flag: taken
  kExecute = 9,       // no payload; SiteRecord::instructions only
  kFlush = 10,        // u64 address; SiteRecord::detail is a FlushKind
  kFence = 11,        // no payload; SiteRecord::detail is a FenceKind
  kExternal = 12,     // u32 estimated instructions of code that was not instrumented. flag: of
                      // functions whose cost isn't known
  kMark = 13,         // u64 first, u64 second; SiteRecord::detail is a MarkKind
  kSync = 14,         // u64 address, u32 object, u32 version; SiteRecord::detail is a SyncKind.
                      // flag: annotation of a lock whose instructions are recorded themselves
                      // (kMutex... only)
  kRecurrence = 15,   // value that a loop carries in a register, recorded at the loop's head. flag:
                      // set if the loop iterates, clear if the loop begins
  kIndirectBranch = 16,  // u32 target: an indirect jump or call. Among the records of one site,
                         // equal numbers are equal targets
};
inline constexpr std::uint8_t kSiteKinds = 17;

enum class FlushKind : std::uint8_t { kClwb = 0, kClflushopt = 1, kClflush = 2 };
inline constexpr std::uint8_t kFlushKinds = 3;

enum class FenceKind : std::uint8_t { kSfence = 0, kMfence = 1, kLfence = 2 };
inline constexpr std::uint8_t kFenceKinds = 3;

// Marks: events that the program announces through pmemsim/pm.h, or that the runtime detects.
enum class MarkKind : std::uint8_t {
  kRoiBegin = 0,  // this thread's measured part begins
  kRoiEnd = 1,
  kRegionBegin = 2,    // first: nesting depth after the call (1 = outermost)
  kRegionEnd = 3,      // first: nesting depth before the call
  kLogRange = 4,       // first: address, second: bytes. The region will write this range.
  kPurpose = 5,        // first: a Purpose, which holds for all operations until the next kPurpose
  kNextFence = 6,      // first: a FenceMeaning of the next fence of this thread
  kAllocate = 7,       // first: address, second: bytes
  kFree = 8,           // first: address
  kHint = 9,           // first: address, second: bytes | HintKind << 32 | object << 40 (Janus)
  kFenceRegions = 10,  // asap_fence: wait until this thread's regions have committed
  kHintData = 11,      // first, second: 16 more bytes of the data that the next kHint announces
  kReadFirst = 12,     // first: address. Recovery reads this line before it rolls any region back.
  kReply = 13,    // first: address, second: bytes | ReplyTo << 32 | kReplyContinues. The program
                  // has sent these bytes.
  kRequest = 14,  // first: address, second: bytes that a socket, pipe or device has delivered
};
inline constexpr std::uint8_t kMarkKinds = 15;

// The receiver of a reply.
enum class ReplyTo : std::uint8_t {
  kPeer = 0,  // a socket, a pipe or a device: another program may depend on the reply
  kFile = 1,  // a file, a terminal, or the program's standard output or error
};
// Set if the next mark has a further part of the same reply.
inline constexpr std::uint64_t kReplyContinues = std::uint64_t{1} << 40;

// The purpose of a part of the program. Lowering drops the purposes that a design's program would
// not contain (docs/reference/trace_format.md has the table).
enum class Purpose : std::uint8_t {
  kProgram = 0,    // the program itself
  kLog = 1,        // software log: collect, look up, write, flush and fence the log entries
  kDataFlush = 2,  // flush and fence of the data that a region wrote
  kCommit = 3,     // software log: mark the region committed, which also truncates an undo log
  kRelease = 4,    // software redo log: the data are in place, truncate the log
};
inline constexpr std::uint8_t kPurposes = 5;

enum class FenceMeaning : std::uint8_t {
  kBare = 0,     // a fence of the program's own, with the meaning that x86 gives it
  kOrder = 1,    // pm_order(): earlier stores persist before later stores
  kDurable = 2,  // pm_durable(): earlier stores are persistent when it returns
};
inline constexpr std::uint8_t kFenceMeanings = 3;

enum class HintKind : std::uint8_t {  // Janus, its table 2
  kBoth = 0,
  kAddress = 1,
  kData = 2,
  kValue = 3,
  kBothBuffered = 4,
  kAddressBuffered = 5,
  kDataBuffered = 6,
  kStartBuffered = 7,
};
inline constexpr std::uint8_t kHintKinds = 8;

// Kinds of synchronisation. Every object (lock, condition variable, barrier, thread, atomic
// variable) has a dense number and a version, which counts its releases. An acquire waits until the
// version has reached the recorded one; a release raises the version to the recorded one. Atomics
// follow the same rule: an atomic load waits for the version that it read; a write raises the
// version by one.
//
// Acquires have even numbers; the matching release has the next number.
enum class SyncKind : std::uint8_t {
  kMutexLock = 0,
  kMutexUnlock = 1,
  kReadLock = 2,    // the object's version counts write unlocks
  kReadUnlock = 3,  // release of the object's companion (object + 1), which counts read unlocks
  kWriteLock = 4,   // followed by a second record, without address, for the companion
  kWriteUnlock = 5,
  kWait = 6,    // any other acquire; in older recordings also those below
  kSignal = 7,  // any other release; in older recordings also those below
  kConditionWait = 8,
  kConditionSignal = 9,  // signal or broadcast
  kBarrierWait = 10,
  kBarrierArrive = 11,
  kSemaphoreWait = 12,
  kSemaphorePost = 13,
  kThreadStart = 14,
  kThreadCreate = 15,
  kThreadJoin = 16,
  kThreadEnd = 17,
};
inline constexpr std::uint8_t kSyncKinds = 18;

// The effect of an atomic access on a lock that the program implements with the variable. The
// compiler pass writes kTakes for each site that may acquire a lock (an exchange, a
// compare-exchange). The runtime replaces it by the role that it has observed.
enum class LockRole : std::uint8_t {
  kNone = 0,       // the variable isn't a lock
  kTakes = 1,      // acquires the lock, if it writes
  kGivesBack = 2,  // releases the lock, if it writes
  kOther = 3,      // tests whether the lock is free, or initialises it
};
inline constexpr std::uint8_t kLockRoles = 4;

// Site flags.
inline constexpr std::uint8_t kSiteFullFence = 1;  // locked instruction: orders all memory accesses

struct SiteRecord {
  std::uint8_t kind;    // SiteKind
  std::uint8_t detail;  // FlushKind, FenceKind, MarkKind, SyncKind or LockRole, by kind; or 0
  std::uint8_t size;    // bytes accessed (1..kMaxAccessBytes) if the kind has a size; otherwise 0
  std::uint8_t flags;   // kSite...
  std::uint32_t instructions;  // machine instructions since the previous record of the same basic
                               // block, this one included
  std::uint32_t file;          // byte offset into the strings; 0 is the empty string
  std::uint32_t function;      // byte offset into the strings
  std::uint32_t line;          // 0: unknown
  std::uint32_t first_dependence;     // index into the dependences: the address's, then the data's
  std::uint16_t address_dependences;  // for a recurrence: dependences of its initial value
  std::uint16_t data_dependences;     // dependences of the stored value; of the condition or the
                                      // target, for a branch; of the next iteration's value, for a
                                      // recurrence
};
static_assert(sizeof(SiteRecord) == 28);

// A dependence (dependence.hpp) is (site << 8) | cycles. The value comes from the latest execution
// of that load, atomic or recurrence by this thread, through instructions that take `cycles`
// cycles.
inline constexpr std::uint32_t kMaxDependences = 8;  // dependences of each sort, per site

// A call that the compiler has inlined. Calls have numbers from 1. If a recording has inlined
// calls, two arrays follow the dependences: the number of each site's innermost call (u32[]; 0: the
// site's code hasn't been inlined), and the calls themselves (InlinedCall[]).
struct InlinedCall {
  std::uint32_t file, function, line;  // source line of the call, like a site's
  std::uint32_t outer;  // call by which the code around this call was inlined: a lower number, or 0
};
static_assert(sizeof(InlinedCall) == 16);
inline constexpr std::uint32_t kMaxInlinedCalls = kMaxSites;
inline constexpr std::uint32_t kMaxInlinedDepth = 1024;  // calls in one chain

struct SiteTableHeader {
  std::uint32_t sites;
  std::uint32_t dependences;
  std::uint32_t string_bytes;
  std::uint32_t inlined_calls;  // 0 in recordings that are older than inlined calls
};
static_assert(sizeof(SiteTableHeader) == 16);

// A site table that is longer than a frame is the concatenation of its frames.

// Built-in sites: kMark sites are kFirstMarkSite + MarkKind, kSync sites kFirstSyncSite + SyncKind.
inline constexpr std::uint32_t kExternalSite = 0;
inline constexpr std::uint32_t kFirstMarkSite = 1;
inline constexpr std::uint32_t kFirstSyncSite = kFirstMarkSite + 16;
inline constexpr std::uint32_t kBuiltinSites = 64;
static_assert(kFirstMarkSite + kMarkKinds <= kFirstSyncSite);
static_assert(kFirstSyncSite + kSyncKinds <= kBuiltinSites);

// ---- Other frames ---------------------------------------------------------------------------

// kImage record: a PM page that is not all zero. u64 address (4096-aligned), then 4096 bytes.
inline constexpr std::uint32_t kImagePageBytes = 4096;

// kWarm record: (line address | written) in order of last touch, and the thread that touched it.
struct WarmLine {
  std::uint64_t line;  // 64-byte aligned; bit 0: written
  std::uint32_t thread;
  std::uint32_t reserved;  // zero
};
static_assert(sizeof(WarmLine) == 16);

// kTurns record. The recorder runs one thread at a time. A thread's turns have increasing numbers
// and ends, and no two turns of a recording have the same number. Turns without an operation are
// left out.
struct Turn {
  std::uint64_t number;  // position in the order of all threads' turns
  std::uint64_t end;     // number of operations that the thread has executed when its turn ends
};
static_assert(sizeof(Turn) == 16);

// kRaces records: before its operation `number`, `thread` waits until the thread `other` has
// executed `count` operations (races.hpp). Records are ordered by thread, then by operation. A
// table that is longer than a frame is the concatenation of its frames.
struct RacesHeader {
  std::uint64_t races;
};
static_assert(sizeof(RacesHeader) == 8);
struct RaceRecord {
  std::uint64_t number, count;
  std::uint32_t thread, other;
};
static_assert(sizeof(RaceRecord) == 24);

}  // namespace pmemsim::trace
