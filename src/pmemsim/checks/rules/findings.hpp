// Collects findings, one for each pair of locations with their callers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "pmemsim/analysis/contexts.hpp"
#include "pmemsim/checks/rules/finding.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

using trace::Contexts;

// One operation of a recording.
struct At {
  std::uint32_t thread = 0;
  std::uint32_t site = 0;
  Contexts::Node context = Contexts::kRoot;
  std::uint64_t operation = 0;  // Number in the thread, from 0
};

class Findings {
 public:
  explicit Findings(const trace::SiteTable& sites);

  Contexts& contexts() { return contexts_; }
  const Contexts& contexts() const { return contexts_; }
  std::span<const trace::SiteRecord> sites() const { return sites_.sites(); }
  // True if the site is in pm.h's library.
  bool in_library(std::uint32_t site) const { return library_[site] != 0; }

  // A source line and a call path to it, whichever sites of these lines the compiler has made.
  struct Place {
    std::uint32_t line = 0;
    Contexts::Node path = Contexts::kRoot;
    auto operator<=>(const Place&) const = default;
  };
  Place place_of(const At& at) { return {source_lines_[at.site], path_of(at.context)}; }

  void add(Kind kind, Reason reason, const At& at) { add(kind, reason, at, At{}); }
  // The operations of OtherOrder; `held` is the one behind which its thread is held.
  struct Order {
    At store, fence, held;
  };
  void add(Kind kind, Reason reason, const At& at, const At& other,
           const std::optional<Order>& order = {});
  // Gives findings another reason if their second operation is on one of these source lines.
  void replace_reason(Kind kind, Reason from, Reason to, const std::set<std::uint32_t>& lines);
  // Counts executions of a flush or a fence, to compare with its useless ones.
  void executed(const At& at);

  // Returns all findings: first those that can lose data; in each part, the most frequent first.
  // Findings that differ only in calls behind the innermost one are merged, unless `each_path`.
  std::vector<Finding> list(bool each_path) const;

 private:
  struct Key {
    Kind kind;
    Reason reason;
    Contexts::Call at, other;
    auto operator<=>(const Key&) const = default;
  };
  struct Found {
    std::uint64_t count = 0;
    At first{};
    std::optional<Order> order{};
  };

  // Returns the operation's line in the program, outside the library and system headers.
  Contexts::Call in_program(const At& at) const;
  OtherOrder describe(const Order& order) const;
  Finding describe(const Key& key, const Found& found) const;
  Contexts::Node path_of(Contexts::Node context);
  bool outside_program(std::uint32_t line) const { return outside_program_[line] != 0; }
  // Returns the next call in the program's own code, or kRoot.
  Contexts::Node next_call(Contexts::Node node) const;
  // Returns the calls in the program's own code that lead to a call path's end, the innermost
  // first.
  std::vector<trace::SourceLocation> calls_to(Contexts::Node context) const;

  const trace::SiteTable& sites_;
  // By line; a site has the number of its line. library_ is true if the line is in pm.h's library,
  // outside_program_ if it is in the library or a system header.
  std::vector<std::uint8_t> library_, outside_program_;
  std::vector<std::uint32_t> source_lines_;  // By line: a number of its source line
  Contexts contexts_;
  // The call paths by source lines, and the path of each call path by sites.
  Contexts paths_;
  std::vector<Contexts::Node> path_of_{Contexts::kRoot};
  std::map<Key, Found> found_;
  std::map<Contexts::Call, std::uint64_t> executions_;
};

}  // namespace pmemsim::check
