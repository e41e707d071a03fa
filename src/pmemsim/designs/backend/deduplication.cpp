#include "pmemsim/designs/backend/deduplication.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/common/mix.hpp"
#include "pmemsim/designs/backend/sealed_image.hpp"

namespace pmemsim {
namespace {

// First line number of the table of fingerprints.
constexpr std::uint64_t kTable = std::uint64_t{1} << 55;
// Capacity of the table: the number of lines in 4 GB.
constexpr std::uint64_t kFingerprints = std::uint64_t{1} << 26;
constexpr std::uint64_t kFingerprintsALine = 4;

// The number of lines that a mapping reaches (EntryLayout): lines whose numbers differ in no higher
// bits.
constexpr std::uint64_t kReach = std::uint64_t{1} << 28;
constexpr std::uint64_t window_of(Line line) { return line.number / kReach; }

// Remainders of CRC-32 (ISO 3309) for each byte, computed bit by bit.
constexpr std::array<std::uint32_t, 256> kRemainders = [] {
  std::array<std::uint32_t, 256> remainders{};
  for (std::uint32_t byte = 0; byte < remainders.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int i = 0; i < 8; ++i) {
      remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? 0xedb88320u : 0);
    }
    remainders[byte] = remainder;
  }
  return remainders;
}();

std::uint32_t crc32(const LineData& data) {
  std::uint32_t remainder = UINT32_MAX;
  for (const std::byte byte : data) {
    remainder =
        remainder >> 8 ^ kRemainders[(remainder ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return ~remainder;
}

// The index of a sub-operation in sub_operations().
constexpr std::uint32_t kTableRead = 1;

}  // namespace

Deduplication::Deduplication(const DeduplicationParameters& parameters, std::uint32_t cores)
    : parameters_(parameters), md5_("MD5"), cache_(parameters.cache, cores) {}

void Deduplication::connect(EventQueue&, const Memory&, MetadataPort& backend) {
  backend_ = &backend;
}

void Deduplication::share(LineEntries& entries) {
  entries_ = &entries;
  entries.seals().known_of_others = true;
  if (parameters_.duplicates == Duplicates::kData) entries.seals().placements = this;
}

// ---- Time

std::vector<SubOperation> Deduplication::sub_operations() const {
  const bool md5 = parameters_.fingerprint == Fingerprint::kMd5;
  std::vector<SubOperation> all{
      {.name = "D1",
       .latency = md5 ? parameters_.md5_latency : parameters_.crc32_latency,
       .work = md5 ? WorkKind::kMd5 : WorkKind::kCrc32,
       .external = {.data = true},
       .after = {"C1"}}};
  if (!md5) all.push_back({.name = "D2 table", .after = {"D1"}});
  all.push_back({.name = "D2", .after = {"D1", "D2 table"}, .finds_duplicates = true});
  all.push_back({.name = "D3", .external = {.address = true}, .after = {"D2"}});
  const bool encrypts = parameters_.entry_latency > Picoseconds{};
  all.push_back({.name = "D4",
                 .latency = parameters_.entry_latency,
                 .work = encrypts ? WorkKind::kPad : WorkKind::kNone,
                 .after = {"D3", "E1"}});
  return all;
}

std::optional<Line> Deduplication::look_up(std::uint32_t number, const Prediction& subject) {
  if (number == kTableRead) {
    const std::uint64_t entry = fingerprint_of(subject.data) % kFingerprints;
    return read_table({kTable + entry / kFingerprintsALine}, false);
  }
  const bool compares = parameters_.fingerprint == Fingerprint::kCrc32;
  if (compares && number == kTableRead + 1) return compare(subject.data);
  const bool maps = number == (compares ? 3 : 2);
  return maps ? entries_->look_up_entry(*subject.line) : std::nullopt;
}

std::optional<Line> Deduplication::read_table(Line line, bool changes) {
  const MetadataCache::Found found = cache_.look_up(line, changes);
  if (found.evicted) backend_->write_metadata(*found.evicted, {});
  return found.hit ? std::nullopt : std::optional(line);
}

// Returns the line that is read last, if there is one.
std::optional<Line> Deduplication::compare(const LineData& data) {
  const auto [first, end] = by_fingerprint_.equal_range(fingerprint_of(data));
  std::optional<Line> last;
  std::set<LineData> read;
  for (auto at = first; at != end; ++at) {
    if (!read.insert(contents_.at(at->second.number).data).second) continue;
    if (last) backend_->read_metadata(*last, {});
    last = at->second;
    ++statistics_.compared;
  }
  return last;
}

std::optional<Line> Deduplication::duplicate(const Prediction& subject) {
  const Line line = subject.line.value_or(Line{});
  if (parameters_.duplicates == Duplicates::kData) return find(line, subject.data);
  return drawn(subject.data) ? std::optional(Line{}) : std::nullopt;
}

bool Deduplication::locate(Line line, Completion done) {
  const auto missing = entries_->look_up_entry(line);
  if (missing) backend_->read_metadata(*missing, done);
  return !missing;
}

// ---- Location of data

std::uint64_t Deduplication::fingerprint_of(const LineData& data) const {
  return parameters_.fingerprint == Fingerprint::kMd5 ? md5_.of(data, {}) : crc32(data);
}

bool Deduplication::drawn(const LineData& data) const {
  std::array<std::uint64_t, kLineBytes / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), data.data(), sizeof words);
  std::uint64_t mixed = mix(parameters_.seed);
  for (const std::uint64_t word : words) mixed = mix(mixed ^ word);
  return mixed % 100 < parameters_.drawn_percent;
}

// Returns the lowest place, so that the result doesn't depend on how a table is organised.
std::optional<Line> Deduplication::find(Line line, const LineData& data) const {
  std::optional<Line> found;
  const auto [first, end] = by_fingerprint_.equal_range(fingerprint_of(data));
  for (auto at = first; at != end; ++at) {
    const Line place = at->second;
    if (window_of(place) != window_of(line) || (found && *found < place)) continue;
    if (parameters_.faults.fingerprint || contents_.at(place.number).data == data) found = place;
  }
  return found;
}

Line Deduplication::place(Line line) const {
  const auto found = places_.find(line.number);
  return found == places_.end() ? line : found->second;
}

void Deduplication::set_place(Line line, Line place) {
  if (place == line) {
    places_.erase(line.number);
  } else {
    places_[line.number] = place;
  }
}

// Returns the contents of a place. A place without contents has those of its own line, which has
// never been elsewhere.
Deduplication::Contents& Deduplication::contents_at(Line place) {
  return contents_.try_emplace(place.number).first->second;
}

std::uint32_t Deduplication::references(Line place) const {
  const auto found = contents_.find(place.number);
  return found == contents_.end() ? 1 : found->second.references;
}

bool Deduplication::is_taken(Line place) const {
  const auto space = spaces_.find(window_of(place));
  return space != spaces_.end() &&
         place.number >= (window_of(place) + 1) * kReach - space->second.taken;
}

bool Deduplication::is_free(Line place) const {
  const auto space = spaces_.find(window_of(place));
  const auto found = contents_.find(place.number);
  if (space == spaces_.end() || found == contents_.end()) return false;
  const std::vector<Line>& free = space->second.free;
  const std::optional<std::size_t> number = found->second.freed_as;
  return number && *number < free.size() && free[*number] == place;
}

// Implements rule 1 (deduplication.hpp). Besides their own places, lines have free places at the
// end of a mapping's reach.
Line Deduplication::place_for(Line line) const {
  const Line now = place(line);
  if (references(now) == 1) return now;
  const auto space = spaces_.find(window_of(line));
  if (space != spaces_.end() && !space->second.free.empty()) return space->second.free.back();
  const std::uint64_t taken = space == spaces_.end() ? 0 : space->second.taken;
  return {(window_of(line) + 1) * kReach - 1 - taken};
}

void Deduplication::take(Line place) {
  note_change(place);
  Space& space = spaces_[window_of(place)];
  if (!space.free.empty() && space.free.back() == place) {
    space.free.pop_back();
  } else {
    ++space.taken;
  }
}

// Implements rules 2 and 3 (deduplication.hpp).
void Deduplication::drop_reference(Line place) {
  note_change(place);
  Contents& contents = contents_at(place);
  --contents.references;
  if (contents.references > (parameters_.faults.references ? 1 : 0)) return;
  remove_fingerprint(contents, place);
  if (!parameters_.faults.leak) make_free(place);
}

void Deduplication::make_free(Line place) {
  std::vector<Line>& free = spaces_[window_of(place)].free;
  contents_at(place).freed_as = free.size();
  free.push_back(place);
}

void Deduplication::remove_fingerprint(Contents& contents, Line place) {
  if (!contents.fingerprint || parameters_.faults.fingerprint) return;
  const auto [first, end] = by_fingerprint_.equal_range(*contents.fingerprint);
  by_fingerprint_.erase(
      std::find_if(first, end, [&](const auto& entry) { return entry.second == place; }));
  contents.fingerprint.reset();
}

// ---- Encoding and outcome of a write

void Deduplication::encode(const Write& write, const Prepared&, Encoded& encoded) const {
  if (parameters_.duplicates == Duplicates::kDrawn) {
    if (!drawn(write.data)) return;
    encoded.duplicate = true;
    encoded.seal = entries_->entry_of(write.line);
  } else if (const auto found = find(write.line, write.data)) {
    encoded.duplicate = true;
    encoded.place = *found;
    encoded.seal = entries_->seal_at(*found);
    if (parameters_.faults.mapping) encoded.seal = entries_->entry_of(write.line);
  } else {
    encoded.place = place_for(write.line);
    entries_->begin_seal(encoded);
  }
}

void Deduplication::sent(const Write& write, const Encoded& encoded) {
  if (encoded.duplicate || encoded.seal.place == place(write.line)) return;
  if (parameters_.duplicates == Duplicates::kDrawn) return;
  take(encoded.seal.place);
  reserved_.insert(encoded.seal.place.number);
}

void Deduplication::accepted(const Write& write, const Encoded& encoded) {
  statistics_.duplicates += encoded.duplicate;
  if (parameters_.duplicates == Duplicates::kDrawn) return keep_drawn(write, encoded);
  clear_stale(write.line);
  const Line before = place(write.line);
  const Line now = encoded.seal.place;
  note_change(now);
  reserved_.erase(now.number);
  if (encoded.duplicate) {
    if (before == now) return;
    Contents& contents = contents_at(now);
    if (!parameters_.faults.count || contents.references != 2) ++contents.references;
    drop_reference(before);
    for (auto& [_, move] : before_) move.moved_since |= move.line == write.line;
  } else {
    Contents& contents = contents_at(now);
    remove_fingerprint(contents, now);
    contents.data = write.data;
    contents.counter = encoded.seal.counter;
    if (parameters_.faults.pending) add_fingerprint(write, now);
    if (before == now) return;
    ++statistics_.moved;
    contents.references = 1;
    before_[encoded.seal.counter] = {.line = write.line, .before = before};
    add_pending_references(before, 1);
  }
  set_place(write.line, now);
}

void Deduplication::keep_drawn(const Write& write, const Encoded& encoded) {
  if (encoded.duplicate) {
    kept_[write.line.number] = encoded.data;
  } else {
    kept_.erase(write.line.number);
  }
}

LineData Deduplication::decode(Line line, const LineData& data) const {
  const auto kept = kept_.find(line.number);
  return kept == kept_.end() ? data : kept->second;
}

void Deduplication::dropped(const Write& write, const Encoded& encoded, bool accepted) {
  if (encoded.duplicate) return;
  if (!accepted) return release_reserved(encoded.seal.place);
  const auto found = before_.extract(encoded.seal.counter);
  if (found.empty()) return;
  const Move& move = found.mapped();
  if (move.moved_since)
    return release_former_place(move);  // dropped with a newer write that it has merged with
  const Line now = encoded.seal.place;
  if (place(write.line) == now) {
    set_place(write.line, move.before);
    stale_[write.line.number] = {.by_entry = now, .is = move.before};
  }
  add_pending_references(now, -1);
  for (auto& [_, other] : before_) {
    if (other.before == now) other.before = move.before;
  }
  drop_reference(now);
}

// Releases a place that was taken for a write which has been dropped.
void Deduplication::release_reserved(Line place) {
  if (reserved_.erase(place.number) == 0) return;
  note_change(place);
  contents_at(place).references = 0;
  make_free(place);
}

// Releases the line's former place, to which it can't return any more.
void Deduplication::release_former_place(const Move& move) {
  add_pending_references(move.before, -1);
  drop_reference(move.before);
}

void Deduplication::written(const Write& write, const Encoded& encoded) {
  if (encoded.duplicate || parameters_.duplicates == Duplicates::kDrawn) return;
  const Line now = encoded.seal.place;
  Contents& contents = contents_at(now);
  const bool newest = contents.counter == encoded.seal.counter && contents.references > 0;
  if (newest && !contents.fingerprint) add_fingerprint(write, now);
  const auto moved = before_.extract(encoded.seal.counter);
  if (!moved.empty()) release_former_place(moved.mapped());
}

// Implements rule 3 (deduplication.hpp).
void Deduplication::add_fingerprint(const Write& write, Line place) {
  note_change(place);
  Contents& contents = contents_at(place);
  contents.fingerprint = fingerprint_of(write.data);
  by_fingerprint_.emplace(*contents.fingerprint, place);
  read_table({kTable + *contents.fingerprint % kFingerprints / kFingerprintsALine}, true);
}

// ---- Rule 4 (deduplication.hpp)

void Deduplication::note_change(Line place) {
  if (changed_) changed_->insert(place.number);
}

std::vector<Line> Deduplication::changed_places() {
  std::vector<Line> places;
  if (changed_) {
    for (const std::uint64_t place : *changed_) places.push_back({place});
  }
  changed_.emplace();
  return places;
}

void Deduplication::add_pending_references(Line place, std::int64_t more) {
  note_change(place);
  if ((pending_references_[place.number] += more) == 0) pending_references_.erase(place.number);
}

void Deduplication::clear_stale(Line line) {
  const auto stale = stale_.extract(line.number);
  if (stale.empty()) return;
  add_pending_references(stale.mapped().by_entry, 1);
  add_pending_references(stale.mapped().is, -1);
}

std::uint64_t Deduplication::rebuilt_references(Line place, const SealedImage& image) const {
  std::uint64_t references = image.references(place);
  // A line that has never been written is at its own place.
  if (references == 0 && !image.has_entry(place) && !is_taken(place)) references = 1;
  const auto pending = pending_references_.find(place.number);
  return references +
         static_cast<std::uint64_t>(pending == pending_references_.end() ? 0 : pending->second);
}

std::string Deduplication::problem(Line place, const SealedImage& image) const {
  if (reserved_.contains(place.number)) return {};
  const std::uint64_t rebuilt = rebuilt_references(place, image);
  if (rebuilt != references(place)) {
    return fmt::format(
        "deduplication counts {} lines with data at location {:#x}, but the entries in PM refer to "
        "it {} times",
        references(place), place.address(), rebuilt);
  }
  if (rebuilt > 0 && is_free(place)) {
    return fmt::format(
        "deduplication considers location {:#x} free, but {} lines have their data there",
        place.address(), rebuilt);
  }
  if (rebuilt == 0 && !is_free(place)) {
    return fmt::format(
        "deduplication considers location {:#x} used, but no line has its data there",
        place.address());
  }
  return fingerprint_problem(place, image);
}

// True if a line refers to the place by an entry that isn't stale.
bool Deduplication::has_current_reference(Line place, const SealedImage& image) const {
  const auto stale = std::ranges::count_if(
      stale_, [place](const auto& line) { return line.second.by_entry == place; });
  return image.references(place) > static_cast<std::uint64_t>(stale);
}

std::string Deduplication::fingerprint_problem(Line place, const SealedImage& image) const {
  const auto found = contents_.find(place.number);
  if (found == contents_.end() || !found->second.fingerprint) return {};
  const Contents& contents = found->second;
  if (const auto data = image.read_at(place)) {
    const LineData plain = backend_->decode_before(*this, data->first, data->second);
    if (fingerprint_of(plain) == *contents.fingerprint) return {};
  } else if (contents.references > 0 && !has_current_reference(place, image)) {
    return {};  // its fingerprint is for lines that could return to it
  }
  return fmt::format("deduplication finds data at location {:#x} that are not there",
                     place.address());
}

std::unique_ptr<ImageDecoder> Deduplication::decoder() const {
  if (parameters_.duplicates == Duplicates::kData) return nullptr;
  throw ConfigError(
      {"deduplication.duplicates=drawn models only time and traffic, not the locations of data; "
       "to crash the design, choose deduplication.duplicates=data"});
}

void Deduplication::statistics(StatisticsCollector& collector) const {
  collector.group("deduplication", statistics_);
  collector.group("fingerprint_cache", cache_.statistics());
  collector.quantity("deduplication.table_lines_written", cache_.statistics().write_backs,
                     origin_of("pm.metadata_writes"));
}

}  // namespace pmemsim
