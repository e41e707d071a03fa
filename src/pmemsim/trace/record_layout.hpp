// The fields in the records of each kind, and the built-in sites. They express format.hpp's rules
// as tables, which the reader, the recorder and the tests share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::trace {

// The layout of a record. `fixed` is the number of bytes before its value: the head and the fixed
// part of the payload. The masks are all ones if the kind has the field and zero otherwise.
struct RecordLayout {
  std::uint64_t access = 0;  // u64 address after the head
  std::uint32_t object = 0;  // u32 object and u32 version after the address
  std::uint32_t flag = 0;    // bit 0 of the head is in use
  std::uint32_t copied = 0;  // u8 bytes after the address
  std::uint32_t value = 0;   // the accessed bytes follow the fixed part
  std::uint32_t fixed = 4;
};

inline constexpr std::uint32_t kHeadBytes = 4;
// Length of the longest record. A decoder reads at most this far past the end of a frame.
inline constexpr std::uint32_t kMaxRecordBytes = kHeadBytes + 16 + kMaxAccessBytes;

inline constexpr std::array<RecordLayout, kSiteKinds> kLayouts = [] {
  std::array<RecordLayout, kSiteKinds> layouts{};
  const auto of = [&](SiteKind kind) -> RecordLayout& {
    return layouts[static_cast<std::size_t>(kind)];
  };
  for (const SiteKind kind :
       {SiteKind::kLoad, SiteKind::kStore, SiteKind::kNonTemporal, SiteKind::kAtomicLoad,
        SiteKind::kAtomicStore, SiteKind::kAtomicUpdate, SiteKind::kCopyLoad, SiteKind::kCopyStore,
        SiteKind::kFlush, SiteKind::kSync}) {
    of(kind).access = ~std::uint64_t{0};
    of(kind).fixed += 8;
  }
  for (const SiteKind kind :
       {SiteKind::kAtomicLoad, SiteKind::kAtomicStore, SiteKind::kAtomicUpdate, SiteKind::kSync}) {
    of(kind).object = ~std::uint32_t{0};
    of(kind).fixed += 8;
  }
  for (const SiteKind kind : {SiteKind::kCopyLoad, SiteKind::kCopyStore}) {
    of(kind).copied = ~std::uint32_t{0};
    of(kind).fixed += 1;
  }
  for (const SiteKind kind : {SiteKind::kStore, SiteKind::kNonTemporal, SiteKind::kAtomicStore,
                              SiteKind::kAtomicUpdate, SiteKind::kCopyStore}) {
    of(kind).value = ~std::uint32_t{0};
  }
  of(SiteKind::kBranch).flag = of(SiteKind::kAtomicUpdate).flag = 1;
  of(SiteKind::kRecurrence).flag = of(SiteKind::kSync).flag = 1;
  of(SiteKind::kExternal).flag = 1;
  of(SiteKind::kExternal).fixed += 4;
  of(SiteKind::kIndirectBranch).fixed += 4;
  of(SiteKind::kMark).fixed += 16;
  return layouts;
}();

constexpr const RecordLayout& layout_of(std::uint8_t kind) { return kLayouts[kind]; }

// Returns the length of a site's records in one byte, so that finding the next record takes one
// look-up. The result is the length of the fixed part and the value. With kLengthVaries, the caller
// adds the byte after the address.
inline constexpr std::uint8_t kLengthVaries = 0x80;
static_assert(kMaxRecordBytes < kLengthVaries);
constexpr std::uint8_t packed_length(const SiteRecord& site) {
  const RecordLayout& layout = layout_of(site.kind);
  return static_cast<std::uint8_t>((layout.fixed + (site.size & layout.value)) |
                                   ((layout.copied & layout.value) != 0 ? kLengthVaries : 0));
}

// True if SiteRecord::size gives the width of the access for this kind.
constexpr bool has_size(SiteKind kind) { return kind <= SiteKind::kAtomicUpdate; }
constexpr bool is_atomic(SiteKind kind) {
  return kind >= SiteKind::kAtomicLoad && kind <= SiteKind::kAtomicUpdate;
}
// True if the kind produces a value that later sites can depend on.
constexpr bool has_result(SiteKind kind) {
  return kind == SiteKind::kLoad || kind == SiteKind::kAtomicLoad ||
         kind == SiteKind::kAtomicUpdate || kind == SiteKind::kCopyLoad ||
         kind == SiteKind::kRecurrence;
}

// True if the mark's first word is an address; 0: no address.
constexpr bool has_address(MarkKind kind) {
  return kind == MarkKind::kLogRange || kind == MarkKind::kAllocate || kind == MarkKind::kFree ||
         kind == MarkKind::kHint || kind == MarkKind::kReadFirst || kind == MarkKind::kReply ||
         kind == MarkKind::kRequest;
}

// Returns a site without effect, for unused numbers of built-in sites.
constexpr SiteRecord unused_site() {
  SiteRecord site{};
  site.kind = static_cast<std::uint8_t>(SiteKind::kExecute);
  return site;
}
// Returns the built-in site of this number, which is below kBuiltinSites.
constexpr SiteRecord builtin_site(std::uint32_t number) {
  SiteRecord site = unused_site();
  if (number == kExternalSite) {
    site.kind = static_cast<std::uint8_t>(SiteKind::kExternal);
  } else if (number >= kFirstMarkSite && number < kFirstMarkSite + kMarkKinds) {
    site.kind = static_cast<std::uint8_t>(SiteKind::kMark);
    site.detail = static_cast<std::uint8_t>(number - kFirstMarkSite);
  } else if (number >= kFirstSyncSite && number < kFirstSyncSite + kSyncKinds) {
    site.kind = static_cast<std::uint8_t>(SiteKind::kSync);
    site.detail = static_cast<std::uint8_t>(number - kFirstSyncSite);
  }
  return site;
}
constexpr std::uint32_t mark_site(MarkKind kind) {
  return kFirstMarkSite + static_cast<std::uint32_t>(kind);
}
constexpr std::uint32_t sync_site(SyncKind kind) {
  return kFirstSyncSite + static_cast<std::uint32_t>(kind);
}

// True if only recordings with records of the built-in site have it. In all others the site is
// unused, so that they are the same as recordings of older versions.
constexpr bool exists_on_use(std::uint32_t site) {
  return site == mark_site(MarkKind::kReply) || site == mark_site(MarkKind::kRequest);
}

// True if old recordings may lack the built-in site's kind, so that the site is unused there.
constexpr bool came_later(std::uint32_t site) {
  return site >= sync_site(SyncKind::kConditionWait) ||
         (site >= mark_site(MarkKind::kReadFirst) && site < kFirstSyncSite);
}

// True for synchronisation records that wait for a version; all others raise a version.
constexpr bool is_acquire(SyncKind kind) { return static_cast<std::uint8_t>(kind) % 2 == 0; }
// True for acquisitions of mutexes and reader-writer locks, whose holders are in a critical
// section.
constexpr bool is_lock(SyncKind kind) { return kind <= SyncKind::kWriteUnlock && is_acquire(kind); }
constexpr bool is_unlock(SyncKind kind) {
  return kind <= SyncKind::kWriteUnlock && !is_acquire(kind);
}
// True for the second record of a write lock, which waits for the count of read unlocks.
constexpr bool is_companion(SyncKind kind, std::uint64_t address) {
  return kind == SyncKind::kWriteLock && address == 0;
}

}  // namespace pmemsim::trace
