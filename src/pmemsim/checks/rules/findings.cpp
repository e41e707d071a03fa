#include "pmemsim/checks/rules/findings.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pmemsim::check {

Findings::Findings(const trace::SiteTable& sites) : sites_(sites) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // By file and line
  for (std::uint32_t line = 0; line < sites.lines(); ++line) {
    const bool library = sites.string(sites.line(line).file).starts_with("library/");
    library_.push_back(library ? 1 : 0);
    outside_program_.push_back(library || trace::in_system_header(sites, line) ? 1 : 0);
    const trace::SourceLine& source = sites.line(trace::program_line(sites, line));
    source_lines_.push_back(numbers.try_emplace({source.file, source.line}, line).first->second);
  }
}

Contexts::Call Findings::in_program(const At& at) const {
  return contexts_.outside({at.context, at.site},
                           [this](std::uint32_t line) { return outside_program(line); });
}

void Findings::add(Kind kind, Reason reason, const At& at, const At& other,
                   const std::optional<Order>& order) {
  Found& found = found_[{kind, reason, in_program(at), in_program(other)}];
  const bool earlier =
      std::tie(at.thread, at.operation) < std::tie(found.first.thread, found.first.operation);
  if (found.count++ > 0 && !earlier) return;
  found.first = at;
  found.order = order;
}

void Findings::replace_reason(Kind kind, Reason from, Reason to,
                              const std::set<std::uint32_t>& lines) {
  if (lines.empty()) return;
  std::map<Key, Found> replaced;
  std::erase_if(found_, [&](const auto& entry) {
    const auto& [key, found] = entry;
    if (key.kind != kind || key.reason != from || key.other.line >= sites_.sites().size() ||
        !lines.contains(source_lines_[key.other.line])) {
      return false;
    }
    replaced.emplace(Key{kind, to, key.at, key.other}, found);
    return true;
  });
  found_.merge(replaced);
}

void Findings::executed(const At& at) { ++executions_[in_program(at)]; }

OtherOrder Findings::describe(const Order& order) const {
  const Contexts::Call store = in_program(order.store);
  OtherOrder described{.store = trace::location_of(sites_, store.line),
                       .store_calls = calls_to(store.parent),
                       .thread = order.held.thread,
                       .operation = order.held.operation};
  const Contexts::Call fence = in_program(order.fence);
  if (fence.line == trace::kExternalSite) return described;
  described.fence = trace::location_of(sites_, fence.line);
  described.fence_calls = calls_to(fence.parent);
  return described;
}

Finding Findings::describe(const Key& key, const Found& found) const {
  Finding finding{.kind = key.kind,
                  .reason = key.reason,
                  .place = trace::location_of(sites_, key.at.line),
                  .calls = calls_to(key.at.parent),
                  .count = found.count,
                  .thread = found.first.thread,
                  .operation = found.first.operation};
  if (key.other.line != trace::kExternalSite) {
    finding.other = trace::location_of(sites_, key.other.line);
    finding.other_calls = calls_to(key.other.parent);
  }
  if (found.order) finding.order = describe(*found.order);
  return finding;
}

std::vector<trace::SourceLocation> Findings::calls_to(Contexts::Node context) const {
  std::vector<trace::SourceLocation> calls;
  for (Contexts::Node node = next_call(context); node != Contexts::kRoot;
       node = next_call(contexts_[node].parent)) {
    calls.push_back(trace::location_of(sites_, contexts_[node].line));
  }
  return calls;
}

// A node's parent has a lower number.
Contexts::Node Findings::path_of(Contexts::Node context) {
  while (path_of_.size() <= context) {
    const Contexts::Call& call = contexts_[static_cast<Contexts::Node>(path_of_.size())];
    path_of_.push_back(paths_.called(path_of_[call.parent], source_lines_[call.line]));
  }
  return path_of_[context];
}

Contexts::Node Findings::next_call(Contexts::Node node) const {
  while (node != Contexts::kRoot && outside_program(contexts_[node].line))
    node = contexts_[node].parent;
  return node;
}

// A line may have several sites, and code may be inlined, so findings that differ in that alone are
// merged.
std::vector<Finding> Findings::list(bool each_path) const {
  using Places = std::vector<trace::SourceLocation>;
  // Returns a location with its callers, or with the innermost one.
  const auto with_calls = [](const trace::SourceLocation& place, const Places& calls, bool all) {
    Places places{place};
    const std::size_t count = all ? calls.size() : std::min<std::size_t>(calls.size(), 1);
    places.insert(places.end(), calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count));
    return places;
  };
  std::map<Places, std::uint64_t> executions;
  for (const auto& [at, count] : executions_) {
    const Places calls = calls_to(at.parent);
    executions[with_calls(trace::location_of(sites_, at.line), calls, false)] += count;
  }
  std::map<std::tuple<Kind, Reason, Places, Places>, Finding> merged;
  for (const auto& [key, found] : found_) {
    Finding finding = describe(key, found);
    const Places at = with_calls(finding.place, finding.calls, each_path);
    const bool useless = key.kind == Kind::kUselessFlush || key.kind == Kind::kUselessFence;
    if (useless) {
      finding.executions = executions.at(with_calls(finding.place, finding.calls, false));
    }
    const auto [entry, fresh] = merged.try_emplace(
        {key.kind, key.reason, at, with_calls(finding.other, finding.other_calls, each_path)},
        finding);
    if (fresh) continue;
    Finding& all = entry->second;
    finding.count += all.count;
    if (std::tie(finding.thread, finding.operation) < std::tie(all.thread, all.operation)) {
      all = finding;
    }
    all.count = finding.count;
  }
  std::vector<Finding> list;
  for (auto& [places, finding] : merged) list.push_back(std::move(finding));
  std::ranges::sort(list, {}, [](const Finding& each) {
    return std::tuple(each.kind, UINT64_MAX - each.count, each.thread, each.operation, each.place,
                      each.calls, each.other, each.other_calls);
  });
  return list;
}

}  // namespace pmemsim::check
