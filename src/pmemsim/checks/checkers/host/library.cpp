#include "pmemsim/checks/checkers/host/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "pmemsim/checks/checkers/host/page_watch.hpp"
#include "pmemsim/checks/checkers/host/side_effects.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kLineBytes = 64;

// Size in B up to which a check is expected to read a whole region.
constexpr std::size_t kWhole = std::size_t{64} << 20;

void* mapped(std::uint64_t address, std::size_t size, int protection, int flags, int file) {
  return mmap(reinterpret_cast<void*>(address), size, protection, MAP_NORESERVE | flags, file, 0);
}

// Maps the pages in advance, so that children need not fault them in one by one. If the system does
// not support this, children fault them in.
void prepare_pages(void* bytes, std::size_t size) {
  madvise(bytes, size, MADV_HUGEPAGE);
  madvise(bytes, size, MADV_POPULATE_READ);
}

// Reserves memory for the region, at its recorded address if that is free.
pmemsim_region reserve_region(const HostRegion& region) {
  const auto at = [&](std::uint64_t address, int flags) {
    return mapped(address, region.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
                  -1);
  };
  void* bytes = MAP_FAILED;
  if (region.recorded_at % kHostPageBytes == 0) bytes = at(region.recorded_at, MAP_FIXED_NOREPLACE);
  if (bytes == MAP_FAILED) bytes = at(0, 0);
  if (bytes == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  if (region.size <= kWhole) prepare_pages(bytes, region.size);
  return {.bytes = bytes, .size = region.size, .recorded_at = region.recorded_at};
}

bool is_moved(const pmemsim_region& region) {
  return reinterpret_cast<std::uint64_t>(region.bytes) != region.recorded_at;
}

bool has_died(const CheckerAnswer& answer) {
  return answer.ending == CheckerAnswer::Ending::kSignal ||
         answer.ending == CheckerAnswer::Ending::kExited;
}

std::string in_hex(std::uint64_t number) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

// Reserves the regions first, before the library is loaded to their addresses.
Library::Library(const std::vector<HostRegion>& regions, const std::string& path,
                 const std::string& reads) {
  for (const HostRegion& region : regions) {
    regions_.push_back(reserve_region(region));
    const int file = open(region.image.c_str(), O_RDONLY | O_CLOEXEC);
    void* bytes = mapped(0, region.size, PROT_READ, MAP_SHARED, file);
    if (bytes == MAP_FAILED) throw std::system_error(errno, std::generic_category());
    sources_.push_back({file, static_cast<const std::byte*>(bytes)});
  }
  std::size_t pages = 0;
  for (const pmemsim_region& region : regions_) pages += pages_of(region.size);
  if (!reads_.join(reads, pages)) throw std::system_error(errno, std::generic_category());
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error("the library could not be loaded: " + std::string(dlerror()));
  }
  check_ = reinterpret_cast<decltype(check_)>(dlsym(library, "pmemsim_check"));
  if (check_ == nullptr) {
    throw std::runtime_error(
        "the library has no function pmemsim_check; define it as pmemsim/check.h describes (in C++ "
        "within extern \"C\")");
  }
  if (dlsym(library, "pmemsim_check_needs_recorded_addresses") == nullptr) return;
  for (const pmemsim_region& region : regions_) {
    if (!is_moved(region)) continue;
    throw std::runtime_error(
        "the library needs persistent memory at the recorded address, but " +
        in_hex(region.recorded_at) +
        " is in use or not the start of a page; record again with PM at another address, or write "
        "a checker that does not need the address");
  }
}

void Library::changed(std::span<const std::uint64_t> lines) {
  for (const std::uint64_t line : lines) {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const std::uint64_t begin = regions_[i].recorded_at, end = begin + regions_[i].size;
      const std::uint64_t first = std::max(line * kLineBytes, begin);
      const std::uint64_t last = std::min((line + 1) * kLineBytes, end);
      if (first >= last) continue;
      std::memcpy(static_cast<std::byte*>(regions_[i].bytes) + (first - begin),
                  sources_[i].bytes + (first - begin), last - first);
    }
  }
}

void Library::all_changed() {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const std::byte* from = sources_[i].bytes;
    auto* to = static_cast<std::byte*>(regions_[i].bytes);
    for_each_page_of(sources_[i].file, regions_[i].size, [&](std::size_t at, std::size_t size) {
      if (std::memcmp(to + at, from + at, size) != 0) std::memcpy(to + at, from + at, size);
    });
  }
}

std::optional<CheckerAnswer> Library::check_image(Watch& watch, bool watched) {
  if (!watched && apart_ == 0) return check_in_turn(watch);
  if (!watched) --apart_;
  in_turn_ = 0;  // The waiting child is ended, even if it could make more checks
  return watch.run([&](Watch::Report& report) { check(report, watched); });
}

std::optional<CheckerAnswer> Library::check_in_turn(Watch& watch) {
  const bool starts = !watch.child_waits();
  if (starts) inherit_regions(false);
  const auto answer = watch.run_on([&](Watch::Report& report) { check_in_turn(report, watch); });
  if (starts) inherit_regions(true);
  if (watch.child_waits()) {
    ++in_turn_;
    return answer;
  }
  const bool had_answered = in_turn_ > 0;
  child_ended();
  // The cause of the child's end need not be this image: its processor time may be limited, for
  // example.
  if (!had_answered || !answer || !has_died(*answer)) return answer;
  return watch.run([&](Watch::Report& report) { check(report, false); });
}

// If a child inherited the regions, this process would have to copy the pages that it changes
// meanwhile.
void Library::inherit_regions(bool inherit) const {
  for (const pmemsim_region& region : regions_) {
    madvise(region.bytes, region.size, inherit ? MADV_DOFORK : MADV_DONTFORK);
  }
}

void Library::child_ended() {
  constexpr std::uint64_t kWorthIt = 8;  // Checks; measured cost of such a child's start
  apart_ = std::exchange(in_turn_, 0) + 1 >= kWorthIt ? 0 : 2 * apart_before_ + 1;
  apart_before_ = apart_;
}

// Makes one check, in a child.
void Library::check(Watch::Report& report, bool watched) const {
  PageWatch watch(regions_);
  if (watched) {
    for (std::size_t i = 0; i < regions_.size(); ++i) watch.map(regions_[i], sources_[i].file);
  }
  const int status = check_(regions_.data(), regions_.size());
  if (watched) report.reads = watch.report_pages(reads_.pages());
  std::fflush(nullptr);
  report.status = status;
  report.returned = true;
}

// Makes checks in a child until one has side effects, which end with the child.
void Library::check_in_turn(Watch::Report& report, const Watch& watch) const {
  std::vector<SideEffects::Region> regions;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    regions.push_back({regions_[i].bytes, regions_[i].size, sources_[i].file});
  }
  SideEffects effects(std::move(regions), &report);
  for (;;) {
    report.status = effects.run(check_, regions_);
    if (effects.any()) break;
    watch.await_next();
  }
  std::fflush(nullptr);
  report.returned = true;
}

}  // namespace pmemsim
