#include "pmemsim/analysis/edited_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "pmemsim/trace/site_flags.hpp"
#include "pmemsim/trace/source_location.hpp"
#include "pmemsim/trace/writer.hpp"

namespace pmemsim::trace {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

template <class Value>
void append(std::vector<std::byte>& to, const Value& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class Value>
void append_all(std::vector<std::byte>& to, const std::vector<Value>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class Value>
std::vector<Value> take(std::span<const std::byte>& from, std::size_t count) {
  std::vector<Value> values(count);
  if (count > 0) std::memcpy(values.data(), from.data(), count * sizeof(Value));
  from = from.subspan(count * sizeof(Value));
  return values;
}

// The additions at one statement.
struct Statement {
  bool flush = false, flush_loaded = false, fence_before = false, fence_after = false;
};

// The statements of the edits, and the one of each site.
class Statements {
 public:
  Statements(const SiteTable& table, const Edits& edits) {
    std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> numbers;
    for (const Edits::AtStatement& edit : edits.at_statements) {
      const auto number = static_cast<std::uint32_t>(all_.size());
      const auto [found, added] = numbers.try_emplace({edit.file, edit.line}, number);
      if (added) all_.emplace_back();
      Statement& statement = all_[found->second];
      statement.flush |= edit.what == Edits::What::kFlush;
      statement.flush_loaded |= edit.what == Edits::What::kFlushLoaded;
      statement.fence_before |= edit.what == Edits::What::kFenceBefore;
      statement.fence_after |= edit.what == Edits::What::kFenceAfter;
    }
    for (std::uint32_t site = 0; site < table.sites().size(); ++site) {
      const SourceLocation place = location_of(table, site);
      const auto found = numbers.find({place.file, place.line});
      of_site_.push_back(found == numbers.end() ? kNone : found->second);
    }
  }

  // Returns the number of the site's statement; kNone: nothing is added there.
  std::uint32_t number(std::uint32_t site) const { return of_site_[site]; }
  const Statement& operator[](std::uint32_t number) const { return all_[number]; }

 private:
  std::vector<Statement> all_;
  std::vector<std::uint32_t> of_site_;
};

// The copy's table of sites: those of added and omitted operations follow their anchors. They are
// not appended to the table, since the order of sites tells to which compiled function a
// site belongs (kSiteNewFunction).
class EditedSites {
 public:
  EditedSites(const TraceFile& trace, const std::set<std::uint32_t>& anchors,
              const std::set<std::uint32_t>& left_out, const std::set<std::uint32_t>& skipped)
      : raw_(trace.read_table(FrameKind::kSites)) {
    std::span<const std::byte> rest = raw_;
    header_ = take<SiteTableHeader>(rest, 1).front();
    sites_ = take<SiteRecord>(rest, header_.sites);
    dependences_ = take<std::uint32_t>(rest, header_.dependences);
    innermost_ = take<std::uint32_t>(rest, header_.inlined_calls > 0 ? header_.sites : 0);
    rest_.assign(rest.begin(), rest.end());
    std::uint32_t next = 0;
    for (std::uint32_t site = 0; site < header_.sites; ++site) {
      const bool anchor = anchors.contains(site), omitted = left_out.contains(site);
      const bool skips = site >= kBuiltinSites && skipped.contains(site);
      numbers_.push_back({next, anchor, omitted, skips});
      next += 1 + (anchor ? 2 : 0) + (omitted ? 1 : 0) + (skips ? 1 : 0);
    }
  }

  std::uint32_t of(std::uint32_t site) const { return numbers_[site].number; }
  std::uint32_t flush_behind(std::uint32_t anchor) const { return numbers_[anchor].number + 1; }
  std::uint32_t fence_behind(std::uint32_t anchor) const { return numbers_[anchor].number + 2; }
  std::uint32_t omitted(std::uint32_t site) const {
    return numbers_[site].number + (numbers_[site].anchor ? 3 : 1);
  }
  std::uint32_t skipped(std::uint32_t site) const {
    return omitted(site) + (numbers_[site].omitted ? 1 : 0);
  }

  std::vector<std::byte> table() const {
    std::vector<SiteRecord> sites;
    std::vector<std::uint32_t> innermost;
    for (std::uint32_t site = 0; site < header_.sites; ++site) {
      const Number& number = numbers_[site];
      sites.push_back(sites_[site]);
      if (number.anchor) {
        sites.push_back(added(site, SiteKind::kFlush, static_cast<int>(FlushKind::kClwb)));
        sites.push_back(added(site, SiteKind::kFence, static_cast<int>(FenceKind::kSfence)));
      }
      if (number.omitted) {
        sites.push_back(without_effect(site));
        sites.back().instructions = std::max(sites_[site].instructions, 1u) - 1;
      }
      if (number.skipped) {
        sites.push_back(without_effect(site));
        sites.back().instructions = 0;
      }
      if (!innermost_.empty()) innermost.resize(sites.size(), innermost_[site]);
    }
    SiteTableHeader header = header_;
    header.sites = static_cast<std::uint32_t>(sites.size());
    std::vector<std::byte> table;
    append(table, header);
    append_all(table, sites);
    for (const std::uint32_t dependence : dependences_) append(table, renumbered(dependence));
    append_all(table, innermost);
    append_all(table, rest_);
    return table;
  }

 private:
  struct Number {
    std::uint32_t number;
    bool anchor, omitted, skipped;
  };

  SiteRecord without_effect(std::uint32_t number) const {
    SiteRecord site = added(number, SiteKind::kExecute, 0);
    site.flags = sites_[number].flags & (kSiteInlined | kSiteEntry | kSiteExit);
    return site;
  }

  SiteRecord added(std::uint32_t anchor, SiteKind kind, int detail) const {
    SiteRecord site{};
    site.kind = static_cast<std::uint8_t>(kind);
    site.detail = static_cast<std::uint8_t>(detail);
    site.flags = sites_[anchor].flags & kSiteInlined;
    site.instructions = 1;
    site.file = sites_[anchor].file;
    site.function = sites_[anchor].function;
    site.line = sites_[anchor].line;
    return site;
  }

  std::uint32_t renumbered(std::uint32_t dependence) const {
    constexpr std::uint32_t kCycles = 0xff;
    return (dependence & (kDivides | kCycles)) | of(dependence_site(dependence)) << 8;
  }

  std::vector<std::byte> raw_, rest_;
  SiteTableHeader header_{};
  std::vector<SiteRecord> sites_;
  std::vector<std::uint32_t> dependences_, innermost_;
  std::vector<Number> numbers_;
};

// Numbers of a thread's operations before which something is added, ascending, once per addition.
class Additions {
 public:
  void add_before(std::uint64_t number) { numbers_.push_back(number); }
  // Returns the new number of an operation.
  std::uint64_t of(std::uint64_t number) const { return number + up_to(number); }
  // Returns how many operations the first `count` ones are now, with those added behind the last.
  std::uint64_t with_following(std::uint64_t count) const { return count + up_to(count); }
  // The same, without those behind the last one.
  std::uint64_t without_following(std::uint64_t count) const {
    return count == 0 ? 0 : count + up_to(count - 1);
  }
  std::uint64_t count() const { return numbers_.size(); }

 private:
  std::uint64_t up_to(std::uint64_t number) const {
    return static_cast<std::uint64_t>(std::ranges::upper_bound(numbers_, number) -
                                      numbers_.begin());
  }
  std::vector<std::uint64_t> numbers_;
};

// Appends the records of a thread to frames of the copy.
class RecordWriter {
 public:
  RecordWriter(Writer& writer, std::uint32_t thread) : writer_(writer), thread_(thread) {}

  void head(std::uint32_t site, bool flag = false) {
    if (raw_.size() + kMaxRecordBytes > kMaxFrameBytes) end_frame();
    append(raw_, site << 1 | (flag ? 1u : 0u));
    ++operations_;
  }
  void word(std::uint64_t word) { append(raw_, word); }

  // Appends the operation with the site's new number; `instructions` are those of the site.
  void operation(const Operation& operation, std::uint32_t site, std::uint32_t instructions) {
    const auto kind = static_cast<std::uint8_t>(operation.kind);
    const RecordLayout& layout = layout_of(kind);
    head(site, operation.flag);
    if (operation.kind == SiteKind::kExternal) append(raw_, operation.instructions - instructions);
    if (operation.kind == SiteKind::kIndirectBranch) {
      append(raw_, static_cast<std::uint32_t>(operation.address));
    }
    if (operation.kind == SiteKind::kMark) {
      append(raw_, operation.address);
      append(raw_, operation.second);
    }
    if (layout.access != 0) append(raw_, operation.address);
    if (layout.object != 0) append(raw_, operation.object);
    if (layout.object != 0) append(raw_, operation.version);
    if (layout.copied != 0) append(raw_, operation.size);
    if (layout.value != 0) {
      raw_.insert(raw_.end(), operation.value, operation.value + operation.size);
    }
  }

  void end_frame() {
    if (operations_ > 0) writer_.frame(FrameKind::kOperations, thread_, raw_, operations_);
    raw_.clear();
    operations_ = 0;
  }

 private:
  Writer& writer_;
  const std::uint32_t thread_;
  std::vector<std::byte> raw_;
  std::uint64_t operations_ = 0;
};

// Copies the operations of one thread.
class ThreadCopy {
 public:
  ThreadCopy(const TraceFile& trace, const Edits& edits, const Statements& statements,
             const EditedSites& sites, std::uint32_t thread, Writer& writer)
      : trace_(trace),
        statements_(statements),
        sites_(sites),
        stream_(trace, thread),
        adds_(!edits.only_sites),
        left_out_(adds_ ? edits.left_out : LeftOut{}, thread),
        skipped_(adds_ ? edits.skipped : LeftOut{}, thread),
        pm_(trace.metadata()),
        out_(writer, thread) {
    if (!adds_) return;
    for (const LeftOut& call : edits.fenced_calls) fenced_calls_.emplace_back(call, thread);
  }

  // Returns where something was added; adds its number to `added`.
  Additions copy(Added& added) {
    Operation operation;
    while (stream_.next(operation)) {
      number_ = stream_.position() - 1;
      one(operation);
    }
    number_ = stream_.position();
    add_behind_statement();
    add_behind_call();
    out_.end_frame();
    added.flushes += added_.flushes;
    added.fences += added_.fences;
    return std::move(additions_);
  }

 private:
  void one(const Operation& operation) {
    const std::uint32_t statement = adds_ ? statements_.number(operation.site) : kNone;
    if (statement != statement_) add_behind_statement();
    if (statement != statement_) fenced_before_ = false;
    statement_ = statement;
    bool of_fenced_call = false;
    for (LeftOutOfThread& call : fenced_calls_) of_fenced_call |= call.leaves_out(number_);
    if (!of_fenced_call && ends_call(operation)) add_behind_call();
    if (skipped_.leaves_out(number_) && operation.site >= kBuiltinSites) {
      return leave_out(operation, sites_.skipped(operation.site));
    }
    if (left_out_.leaves_out(number_)) {
      return leave_out(operation, sites_.omitted(operation.site));
    }
    note_meaning(operation);
    const bool of_statement = statement != kNone && accesses_pm(operation);
    const bool stores = of_statement && stores_something(operation);
    if (stores && statements_[statement].fence_before && !fenced_before_) {
      add_fence(operation.site);
      fenced_before_ = true;
    }
    const std::uint32_t own = trace_.sites().sites()[operation.site].instructions;
    out_.operation(operation, sites_.of(operation.site), own);
    if (of_statement) note_access(operation, statements_[statement]);
    if (of_fenced_call) call_ = operation.site;
  }

  // A mark that gives the next fence a meaning must not apply to the fence after the omitted one.
  void leave_out(const Operation& operation, std::uint32_t site) {
    out_.head(site);
    if (operation.kind != SiteKind::kFence || !next_fence_has_meaning_) return;
    out_.head(mark_site(MarkKind::kNextFence));
    out_.word(static_cast<std::uint64_t>(FenceMeaning::kBare));
    out_.word(0);
    additions_.add_before(number_ + 1);
    next_fence_has_meaning_ = false;
  }

  void note_meaning(const Operation& operation) {
    if (operation.site == mark_site(MarkKind::kNextFence)) next_fence_has_meaning_ = true;
    if (operation.kind == SiteKind::kFence) next_fence_has_meaning_ = false;
  }

  // True if what follows may depend on the flushes before.
  static bool ends_call(const Operation& operation) {
    return stores_something(operation) || operation.kind == SiteKind::kFlush ||
           operation.kind == SiteKind::kFence || operation.kind == SiteKind::kMark ||
           operation.kind == SiteKind::kSync;
  }

  bool accesses_pm(const Operation& operation) {
    return (stores_something(operation) || loads_something(operation)) &&
           pm_.contains(operation.address);
  }

  void note_access(const Operation& operation, const Statement& statement) {
    const bool stored = stores_something(operation);
    const bool loaded = statement.flush_loaded && loads_something(operation);
    if (stored || loaded) anchor_ = operation.site;
    if ((!stored || !statement.flush) && !loaded) return;
    const std::uint64_t last = operation.address + operation.size - 1;
    for (Line line = Line::of(operation.address); line.address() <= last; ++line.number) {
      if (std::ranges::find(lines_, line.number) == lines_.end()) lines_.push_back(line.number);
    }
  }

  void add_behind_statement() {
    if (anchor_ == kNone) return;
    const Statement& statement = statements_[statements_.number(anchor_)];
    for (const std::uint64_t line : lines_) {
      out_.head(sites_.flush_behind(anchor_));
      out_.word(Line{line}.address());
      ++added_.flushes;
      additions_.add_before(number_);
    }
    if (statement.fence_after) add_fence(anchor_);
    lines_.clear();
    anchor_ = kNone;
  }

  void add_behind_call() {
    if (call_ != kNone) add_fence(call_);
    call_ = kNone;
  }

  void add_fence(std::uint32_t anchor) {
    out_.head(sites_.fence_behind(anchor));
    ++added_.fences;
    additions_.add_before(number_);
  }

  const TraceFile& trace_;
  const Statements& statements_;
  const EditedSites& sites_;
  OperationStream stream_;
  const bool adds_;
  LeftOutOfThread left_out_, skipped_;
  std::vector<LeftOutOfThread> fenced_calls_;
  PmAddresses pm_;
  RecordWriter out_;
  Additions additions_;
  Added added_;
  std::uint64_t number_ = 0;         // Number of the current operation
  std::uint32_t statement_ = kNone;  // Statement of the last operation
  bool next_fence_has_meaning_ = false;
  bool fenced_before_ = false;        // Its fence before has been added
  std::uint32_t anchor_ = kNone;      // Site of its last access that counts; kNone: none
  std::vector<std::uint64_t> lines_;  // Lines that are to be flushed
  std::uint32_t call_ = kNone;        // Site of a flush behind which a fence is due
};

class Copy {
 public:
  Copy(const TraceFile& trace, const Edits& edits, const std::string& path)
      : trace_(trace),
        edits_(edits),
        statements_(trace.sites(), edits),
        sites_(trace, anchors(), sites_of_both(edits.left_out, edits.reserved),
               sites_of_both(edits.skipped, edits.reserved_skipped)),
        writer_(path) {}

  Added write() {
    for (std::uint32_t thread = 0; thread < trace_.metadata().threads; ++thread) {
      ThreadCopy copy(trace_, edits_, statements_, sites_, thread, writer_);
      additions_.push_back(copy.copy(added_));
    }
    write_frames(FrameKind::kMetadata, metadata());
    write_frames(FrameKind::kSites, sites_.table());
    if (trace_.first_frame(FrameKind::kRaces) != nullptr) write_frames(FrameKind::kRaces, races());
    std::vector<std::byte> bytes;
    for (const FrameEntry& entry : trace_.frames()) {
      if (is(entry.header, FrameKind::kTurns)) {
        writer_.frame(FrameKind::kTurns, entry.header.thread, turns(entry), 0);
      } else if (is(entry.header, FrameKind::kImage) || is(entry.header, FrameKind::kWarm)) {
        trace_.read_stored(entry, bytes);
        writer_.frame(entry.header, bytes);
      }
    }
    writer_.finish();
    return added_;
  }

 private:
  std::set<std::uint32_t> anchors() const {
    std::set<std::uint32_t> sites;
    for (std::uint32_t site = 0; site < trace_.sites().sites().size(); ++site) {
      if (statements_.number(site) != kNone) sites.insert(site);
    }
    for (const LeftOut& call : edits_.fenced_calls) sites.merge(sites_of(call));
    return sites;
  }
  std::set<std::uint32_t> sites_of_both(const LeftOut& one, const LeftOut& other) const {
    std::set<std::uint32_t> sites;
    if (one != nullptr) sites.merge(sites_of(one));
    if (other != nullptr) sites.merge(sites_of(other));
    return sites;
  }
  std::set<std::uint32_t> sites_of(const LeftOut& operations) const {
    std::set<std::uint32_t> sites;
    for (std::uint32_t thread = 0; thread < operations->size(); ++thread) {
      OperationStream stream(trace_, thread);
      Operation operation;
      LeftOutOfThread wanted(operations, thread);
      while (stream.next(operation)) {
        if (wanted.leaves_out(stream.position() - 1)) sites.insert(operation.site);
      }
    }
    return sites;
  }

  std::vector<std::byte> metadata() const {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(trace_.metadata().json);
    std::uint64_t added = 0;
    for (const Additions& of_thread : additions_) added += of_thread.count();
    if (json.contains("operations")) {
      json["operations"] = json["operations"].get<std::uint64_t>() + added;
    }
    const std::string text = json.dump();
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }

  std::vector<std::byte> turns(const FrameEntry& entry) const {
    std::vector<std::byte> raw;
    trace_.read_frame(entry, raw);
    std::span<const std::byte> rest = raw;
    std::vector<Turn> turns = take<Turn>(rest, raw.size() / sizeof(Turn));
    for (Turn& turn : turns) {
      turn.end = additions_[entry.header.thread].with_following(turn.end);
    }
    std::vector<std::byte> edited;
    append_all(edited, turns);
    return edited;
  }

  std::vector<std::byte> races() const {
    const std::vector<std::byte> table = trace_.read_table(FrameKind::kRaces);
    std::span<const std::byte> rest = table;
    std::vector<std::byte> edited;
    append(edited, take<RacesHeader>(rest, 1).front());
    for (RaceRecord race : take<RaceRecord>(rest, rest.size() / sizeof(RaceRecord))) {
      race.number = additions_.at(race.thread).of(race.number);
      race.count = additions_.at(race.other).without_following(race.count);
      append(edited, race);
    }
    return edited;
  }

  // Writes a table, which may be longer than a frame.
  void write_frames(FrameKind kind, std::span<const std::byte> table) {
    for (; !table.empty();
         table = table.subspan(std::min<std::size_t>(table.size(), kMaxFrameBytes))) {
      writer_.frame(kind, 0, table.first(std::min<std::size_t>(table.size(), kMaxFrameBytes)), 0);
    }
  }

  const TraceFile& trace_;
  const Edits& edits_;
  const Statements statements_;
  const EditedSites sites_;
  Writer writer_;
  std::vector<Additions> additions_;  // By thread
  Added added_;
};

}  // namespace

Added write_edited_copy(const TraceFile& trace, const Edits& edits, const std::string& path) {
  return Copy(trace, edits, path).write();
}

}  // namespace pmemsim::trace
