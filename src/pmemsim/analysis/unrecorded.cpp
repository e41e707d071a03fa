#include "pmemsim/analysis/unrecorded.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/contents.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/writer.hpp"

namespace pmemsim::trace {
namespace {

constexpr std::uint64_t kPage = kImagePageBytes;

constexpr KindSet kStores{SiteKind::kStore, SiteKind::kNonTemporal, SiteKind::kAtomicStore,
                          SiteKind::kAtomicUpdate, SiteKind::kCopyStore};

using Page = std::array<std::byte, kPage>;
constexpr Page kZeroPage{};

// A reader of the file that contents.hpp describes.
class Contents {
 public:
  explicit Contents(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) fail("can't be read");
    ContentsRecord record{};
    while (file_.read(reinterpret_cast<char*>(&record), sizeof(record))) take(record);
    if (file_.gcount() != 0) fail("is incomplete");
    file_.clear();
  }

  // Calls visit(page) for each page whose contents are in the file, in ascending order.
  template <class Visit>
  void for_each_given(Visit visit) const {
    for (const auto& [begin, pages] : pages_) {
      if (pages.are == PagesAre::kGiven) visit(begin);
    }
  }

  // Returns the contents of the page, read into `page` if necessary; nullptr if they are unknown.
  const Page* find(std::uint64_t number, const Page& image, Page& page) {
    auto found = pages_.upper_bound(number);
    if (found == pages_.begin() || (--found)->second.end <= number) return nullptr;
    if (found->second.are == PagesAre::kAsInImage) return &image;
    if (found->second.are == PagesAre::kZero) return &kZeroPage;
    file_.seekg(found->second.offset);
    if (!file_.read(reinterpret_cast<char*>(page.data()), kPage)) fail("is incomplete");
    return &page;
  }

 private:
  struct Pages {
    std::uint64_t end;  // number of the page after the last one
    PagesAre are;
    std::streamoff offset;  // position in the file of given contents
  };

  void take(const ContentsRecord& record) {
    if (record.begin % kPage != 0 || record.pages == 0 || record.begin > kMaxAddress ||
        static_cast<std::uint32_t>(record.are) >= kPagesAre ||
        (record.are == PagesAre::kGiven && record.pages != 1)) {
      fail("has an invalid record");
    }
    const std::uint64_t begin = record.begin / kPage, end = begin + record.pages;
    discard_earlier(begin, end);
    pages_[begin] = {end, record.are, file_.tellg()};
    if (record.are == PagesAre::kGiven) file_.seekg(kPage, std::ios::cur);
  }
  // Discards earlier records of [begin, end).
  void discard_earlier(std::uint64_t begin, std::uint64_t end) {
    split(begin);
    split(end);
    pages_.erase(pages_.lower_bound(begin), pages_.lower_bound(end));
  }
  void split(std::uint64_t number) {
    auto found = pages_.lower_bound(number);
    if (found == pages_.begin()) return;
    Pages& before = (--found)->second;
    if (before.end <= number) return;
    pages_[number] = before;
    before.end = number;
  }

  [[noreturn]] void fail(const char* what) const {
    throw TraceError(
        fmt::format("{}: the contents of persistent memory at the end: the file {}", path_, what));
  }

  std::string path_;
  std::ifstream file_;
  std::map<std::uint64_t, Pages> pages_;  // by the number of the first page
};

// The last stores of one thread to each byte.
class LastStores {
 public:
  struct Bytes {
    Page value{};
    std::array<std::uint64_t, kPage / 64> stored{};  // bit mask of the stored bytes

    bool holds(std::size_t at) const { return (stored[at / 64] >> at % 64 & 1) != 0; }
  };

  LastStores(const TraceFile& trace, std::uint32_t thread) {
    PmAddresses pm(trace.metadata());
    OperationStream stream(trace, thread);
    Operation operation;
    for (stream.skip_to(kStores); stream.next(operation); stream.skip_to(kStores)) {
      if (!stores_something(operation) || !pm.contains(operation.address)) continue;
      store(operation.address, {operation.value, operation.size});
    }
  }

  const Bytes* find(std::uint64_t page) const {
    const auto found = pages_.find(page);
    return found == pages_.end() ? nullptr : &found->second;
  }
  template <class Visit>
  void for_each_page(Visit visit) const {
    for (const auto& [page, bytes] : pages_) visit(page);
  }

 private:
  void store(std::uint64_t address, std::span<const std::byte> value) {
    const std::size_t offset = address % kPage;
    const std::size_t here = std::min<std::size_t>(value.size(), kPage - offset);
    Bytes& bytes = page(address / kPage);
    std::memcpy(bytes.value.data() + offset, value.data(), here);
    for (std::size_t at = offset; at < offset + here; ++at) {
      bytes.stored[at / 64] |= std::uint64_t{1} << at % 64;
    }
    if (here < value.size()) store(address + here, value.subspan(here));
  }
  Bytes& page(std::uint64_t number) {
    Found& found = found_[number % found_.size()];
    if (found.number != number) found = {number, &pages_[number]};
    return *found.bytes;
  }

  struct Found {
    std::uint64_t number = UINT64_MAX;
    Bytes* bytes = nullptr;
  };
  std::unordered_map<std::uint64_t, Bytes> pages_;
  std::array<Found, 1024> found_;  // recently used pages, by the last bits of their numbers
};

class Comparison {
 public:
  Comparison(const TraceFile& trace, const std::string& contents)
      : trace_(trace), pm_(trace.metadata()), contents_(contents) {
    for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
      threads_.emplace_back(trace, thread);
    }
  }

  Unrecorded go() {
    std::unordered_set<std::uint64_t> imaged;
    for_each_image_page(trace_, [&](std::uint64_t address, std::span<const std::byte> bytes) {
      Page image;
      std::ranges::copy(bytes, image.begin());
      imaged.insert(address / kPage);
      compare(address / kPage, image);
    });
    std::vector<std::uint64_t> others;
    const auto note = [&](std::uint64_t page) {
      if (!imaged.contains(page)) others.push_back(page);
    };
    contents_.for_each_given(note);
    for (const LastStores& thread : threads_) thread.for_each_page(note);
    std::ranges::sort(others);
    others.erase(std::ranges::unique(others).begin(), others.end());
    for (const std::uint64_t page : others) compare(page, kZeroPage);
    return summarized();
  }

 private:
  void compare(std::uint64_t number, const Page& image) {
    Page given;
    const Page* held = contents_.find(number, image, given);
    if (held == nullptr) return;
    std::vector<const LastStores::Bytes*> stores;
    for (const LastStores& thread : threads_) {
      if (const LastStores::Bytes* bytes = thread.find(number)) stores.push_back(bytes);
    }
    if (stores.empty() && *held == image) return;
    for (std::size_t at = 0; at < kPage; ++at) {
      const std::uint64_t address = number * kPage + at;
      if (!may_hold((*held)[at], at, image, stores) && pm_.contains(address)) note(address);
    }
  }

  // Implements rule 2.
  static bool may_hold(std::byte held, std::size_t at, const Page& image,
                       std::span<const LastStores::Bytes* const> stores) {
    bool stored = false;
    for (const LastStores::Bytes* bytes : stores) {
      if (!bytes->holds(at)) continue;
      if (bytes->value[at] == held) return true;
      stored = true;
    }
    return !stored && held == image[at];
  }

  // Records a changed byte. Bytes of a page arrive in order, pages in any order.
  void note(std::uint64_t address) {
    ++found_.bytes;
    if (!ranges_.empty() && ranges_.back().end <= address && touch(ranges_.back().end, address)) {
      ranges_.back().end = address + 1;
    } else {
      ranges_.push_back({address, address + 1});
    }
  }
  // True if the words are adjacent or the same.
  static bool touch(std::uint64_t end, std::uint64_t begin) {
    return begin / kWordBytes - (end - 1) / kWordBytes <= 1;
  }

  Unrecorded summarized() {
    std::ranges::sort(ranges_, {}, &Unrecorded::Range::begin);
    std::vector<Unrecorded::Range> joined;
    for (const Unrecorded::Range& range : ranges_) {
      if (!joined.empty() && touch(joined.back().end, range.begin)) {
        joined.back().end = range.end;
      } else {
        joined.push_back(range);
      }
    }
    found_.places = joined.size();
    joined.resize(std::min(joined.size(), Unrecorded::kMostRanges));
    found_.lowest = std::move(joined);
    return std::move(found_);
  }

  const TraceFile& trace_;
  PmAddresses pm_;
  Contents contents_;
  std::vector<LastStores> threads_;
  Unrecorded found_;
  std::vector<Unrecorded::Range> ranges_;
};

std::string metadata_with(const Unrecorded& unrecorded, const std::string& metadata) {
  auto json = nlohmann::ordered_json::parse(metadata);
  auto lowest = nlohmann::ordered_json::array();
  for (const Unrecorded::Range& range : unrecorded.lowest) {
    lowest.push_back({{"begin", range.begin}, {"end", range.end}});
  }
  json["unrecorded"] = {
      {"bytes", unrecorded.bytes}, {"places", unrecorded.places}, {"lowest", lowest}};
  return json.dump() + "\n";
}

}  // namespace

Unrecorded find_unrecorded(const TraceFile& trace, const std::string& contents) {
  return Comparison(trace, contents).go();
}

void store_unrecorded(const std::string& path, const std::string& contents) {
  const TraceFile trace(path);
  const Unrecorded unrecorded = find_unrecorded(trace, contents);
  if (unrecorded.bytes == 0) return;
  const std::string metadata = metadata_with(unrecorded, trace.metadata().json);
  Writer writer(path);
  writer.frame(FrameKind::kMetadata, 0, std::as_bytes(std::span(metadata)), 0);
  writer.copy(trace, FrameKind::kMetadata);
  writer.finish();
}

}  // namespace pmemsim::trace
