#include "pmemsim/trace/names.hpp"

#include <array>

namespace pmemsim::trace {
namespace {

constexpr std::array<std::string_view, kSiteKinds> kSiteKindNames = {
    "load",      "store",      "non_temporal", "atomic_load", "atomic_store",   "atomic_update",
    "copy_load", "copy_store", "branch",       "execute",     "flush",          "fence",
    "external",  "mark",       "sync",         "recurrence",  "indirect_branch"};
constexpr std::array<std::string_view, kFlushKinds> kFlushNames = {"clwb", "clflushopt", "clflush"};
constexpr std::array<std::string_view, kFenceKinds> kFenceNames = {"sfence", "mfence", "lfence"};
constexpr std::array<std::string_view, kMarkKinds> kMarkNames = {
    "roi_begin",     "roi_end",    "region_begin", "region_end", "log_range",
    "purpose",       "next_fence", "allocate",     "free",       "hint",
    "fence_regions", "hint_data",  "read_first",   "reply",      "request"};
constexpr std::array<std::string_view, kSyncKinds> kSyncNames = {
    "mutex_lock",    "mutex_unlock",   "read_lock",      "read_unlock",    "write_lock",
    "write_unlock",  "wait",           "signal",         "condition_wait", "condition_signal",
    "barrier_wait",  "barrier_arrive", "semaphore_wait", "semaphore_post", "thread_start",
    "thread_create", "thread_join",    "thread_end"};
constexpr std::array<std::string_view, kLockRoles> kRoleNames = {"no_lock", "takes", "gives_back",
                                                                 "of_lock"};
constexpr std::array<std::string_view, kPurposes> kPurposeNames = {"program", "log", "data_flush",
                                                                   "commit", "release"};
constexpr std::array<std::string_view, kFenceMeanings> kMeaningNames = {"bare", "order", "durable"};

}  // namespace

std::string_view name_of(SiteKind kind) { return kSiteKindNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(FlushKind kind) { return kFlushNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(FenceKind kind) { return kFenceNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(MarkKind kind) { return kMarkNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(SyncKind kind) { return kSyncNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(LockRole role) { return kRoleNames[static_cast<std::size_t>(role)]; }
std::string_view name_of(Purpose purpose) {
  return kPurposeNames[static_cast<std::size_t>(purpose)];
}
std::string_view name_of(FenceMeaning meaning) {
  return kMeaningNames[static_cast<std::size_t>(meaning)];
}

}  // namespace pmemsim::trace
