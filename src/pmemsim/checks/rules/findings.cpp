#include "pmemsim/checks/rules/findings.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pmemsim::check {

Findings::Findings(const trace::SiteTable& sites) : sites_(sites) {
  for (std::uint32_t line = 0; line < sites.lines(); ++line) {
    const bool library = sites.string(sites.line(line).file).starts_with("library/");
    library_.push_back(library ? 1 : 0);
    elsewhere_.push_back(library || trace::in_system_header(sites, line) ? 1 : 0);
    program_lines_.push_back(trace::program_line(sites, line));
  }
}

Contexts::Call Findings::in_program(const At& at) const {
  return contexts_.outside({at.context, at.site},
                           [this](std::uint32_t line) { return elsewhere(line); });
}

void Findings::add(Kind kind, Reason reason, const At& at, const At& other) {
  const Contexts::Call program = in_program(at);
  Found& found = found_[{kind, reason, program.line, program.parent, in_program(other).line}];
  const bool earlier =
      std::tie(at.thread, at.operation) < std::tie(found.first.thread, found.first.operation);
  if (found.count++ == 0 || earlier) found.first = at;
}

void Findings::executed(const At& at) {
  const Contexts::Call program = in_program(at);
  ++executions_[{program.line, program.parent}];
}

Finding Findings::describe(const Key& key, const Found& found) const {
  Finding finding{.kind = key.kind,
                  .reason = key.reason,
                  .place = trace::place_of(sites_, key.line),
                  .count = found.count,
                  .thread = found.first.thread,
                  .operation = found.first.operation};
  for (Contexts::Node node = next_call(key.context); node != Contexts::kRoot;
       node = next_call(contexts_[node].parent)) {
    finding.calls.push_back(trace::place_of(sites_, contexts_[node].line));
  }
  if (key.other != trace::kExternalSite) finding.other = trace::place_of(sites_, key.other);
  return finding;
}

Contexts::Node Findings::next_call(Contexts::Node node) const {
  while (node != Contexts::kRoot && elsewhere(contexts_[node].line)) node = contexts_[node].parent;
  return node;
}

trace::SourcePlace Findings::caller(Contexts::Node context) const {
  const Contexts::Node node = next_call(context);
  return node == Contexts::kRoot ? trace::SourcePlace{}
                                 : trace::place_of(sites_, contexts_[node].line);
}

// Merges findings of one line and its caller: a line may have several sites, and code may be
// inlined.
std::vector<Finding> Findings::list() const {
  using Caller = std::pair<trace::SourcePlace, trace::SourcePlace>;
  std::map<Caller, std::uint64_t> executions;
  for (const auto& [place, count] : executions_) {
    executions[{trace::place_of(sites_, place.first), caller(place.second)}] += count;
  }
  std::map<std::tuple<Kind, Reason, Caller, trace::SourcePlace>, Finding> lines;
  for (const auto& [key, found] : found_) {
    Finding finding = describe(key, found);
    const Caller at{finding.place, caller(key.context)};
    const bool in_vain = key.kind == Kind::kUselessFlush || key.kind == Kind::kUselessFence;
    finding.executions = in_vain ? executions.at(at) : 0;
    const auto [entry, fresh] =
        lines.try_emplace({key.kind, key.reason, at, finding.other}, finding);
    if (fresh) continue;
    Finding& all = entry->second;
    finding.count += all.count;
    if (std::tie(finding.thread, finding.operation) < std::tie(all.thread, all.operation)) {
      all = finding;
    }
    all.count = finding.count;
  }
  std::vector<Finding> list;
  for (auto& [places, finding] : lines) list.push_back(std::move(finding));
  std::ranges::sort(list, {}, [](const Finding& each) {
    return std::tuple(each.kind, UINT64_MAX - each.count, each.thread, each.operation, each.place,
                      each.other);
  });
  return list;
}

}  // namespace pmemsim::check
