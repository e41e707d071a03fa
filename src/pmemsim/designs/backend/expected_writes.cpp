#include "pmemsim/designs/backend/expected_writes.hpp"

#include <algorithm>
#include <bit>

namespace pmemsim {
namespace {

constexpr unsigned kPredictedNodeBits =
    8;  // bits of the node in a completion's argument; above is the slot
constexpr std::uint64_t kPredictedNodeMask = (1u << kPredictedNodeBits) - 1;

template <class Visit>
void for_each_node(NodeSet nodes, Visit visit) {
  for (; nodes != 0; nodes &= nodes - 1) visit(static_cast<std::size_t>(std::countr_zero(nodes)));
}

constexpr Time plus(Time since, Picoseconds latency) {
  return since == kNever ? kNever : since + latency;
}

}  // namespace

ExpectedWrites::ExpectedWrites(const std::vector<BackendOperation*>& operations,
                               const OperationGraph& graph, const BackendParameters& parameters,
                               WorkStatistics& work)
    : operations_(operations), graph_(graph), parameters_(parameters), work_(work) {
  first_nodes_.resize(operations.size());
  const auto& nodes = graph.nodes();
  for (std::size_t node = nodes.size(); node-- > 0;) {
    first_nodes_[nodes[node].operation] = static_cast<std::uint32_t>(node);
  }
  for (const std::size_t node : graph.order()) {
    for_each_node(nodes[node].before, [&](std::size_t before) {
      earliest_[node] = std::max(earliest_[node], earliest_[before] + nodes[before].sub.latency);
    });
  }
}

void ExpectedWrites::connect(EventQueue& queue, MetadataPort& backend) {
  queue_ = &queue;
  backend_ = &backend;
}

// ---- Predictions

void ExpectedWrites::prepare(PreparedId id, const Prediction& prediction) {
  const std::uint32_t* const there = expected_.find({id.number});
  const std::uint32_t slot = there != nullptr ? *there : slots_.take();
  Expected& expected = slots_[slot];
  if (there == nullptr) {
    expected = {};
    expected_.insert({id.number}) = slot;
  }
  const bool other_data = expected.subject.data != prediction.data;
  const bool had_data = expected.subject.whole();
  expected.subject = prediction;
  if (prediction.line && expected.address == kNoSlot) add_to_address(expected);
  if (!prediction.whole() || (had_data && !other_data)) return;
  expected.data_since = queue_->now();
  fetch(graph_.of_data(), prediction, expected.fetches,
        completion<&ExpectedWrites::data_fetched>(*this), slot);
}

void ExpectedWrites::add_to_address(Expected& expected) {
  const Line line = *expected.subject.line;
  if (const std::uint32_t* const known = by_line_.find(line)) {
    expected.address = *known;
    ++address_slots_[*known].predictions;
    return;
  }
  const std::uint32_t slot = address_slots_.take();
  expected.address = by_line_.insert(line) = slot;
  address_slots_[slot] = {.line = line,
                          .since = queue_->now(),
                          .fetches = {},
                          .predictions = 1,
                          .place = static_cast<std::uint32_t>(addresses_.size())};
  addresses_.push_back(slot);
  fetch(graph_.all() & ~graph_.of_data(), {.line = line}, address_slots_[slot].fetches,
        completion<&ExpectedWrites::address_fetched>(*this), slot);
}

// Implements rule 3 (expected_writes.hpp).
void ExpectedWrites::fetch(NodeSet nodes, const Prediction& subject, Fetches& fetches,
                           Completion done, std::uint64_t slot) {
  const Inputs known{.address = subject.line.has_value(), .data = subject.whole()};
  for_each_node(nodes, [&](std::size_t node) {
    const OperationGraph::Node& what = graph_.nodes()[node];
    if (!what.inputs.within(known)) return;
    const auto missing = operations_[what.operation]->look_up(what.number, subject);
    if (!missing) return;
    ++statistics_.metadata_reads;
    if (parameters_.miss_latency != Picoseconds{}) {
      fetches.available_at[node] = queue_->now() + parameters_.miss_latency;
      return;
    }
    fetches.available_at[node] = kNever;
    ++fetches.pending;
    done.argument = slot << kPredictedNodeBits | node;
    backend_->read_metadata(*missing, done);
  });
}

void ExpectedWrites::address_fetched(std::uint64_t slot_and_node, Time now) {
  const auto slot = static_cast<std::uint32_t>(slot_and_node >> kPredictedNodeBits);
  Fetches& fetches = address_slots_[slot].fetches;
  fetches.available_at[slot_and_node & kPredictedNodeMask] = now;
  --fetches.pending;
  release_if_idle(slot);
}

void ExpectedWrites::data_fetched(std::uint64_t slot_and_node, Time now) {
  const auto slot = static_cast<std::uint32_t>(slot_and_node >> kPredictedNodeBits);
  Fetches& fetches = slots_[slot].fetches;
  fetches.available_at[slot_and_node & kPredictedNodeMask] = now;
  --fetches.pending;
  release_expected_if_idle(slot);
}

// ---- Rule 2 (expected_writes.hpp)

ExpectedWrites::When ExpectedWrites::when(const AddressResults* address, const Expected& expected,
                                          bool with_data) const {
  When when;
  for (const std::size_t node : graph_.order()) {
    const OperationGraph::Node& what = graph_.nodes()[node];
    const Fetches& fetches =
        what.inputs.data || address == nullptr ? expected.fetches : address->fetches;
    Time began = fetches.available_at[node];
    if (what.sub.external.address) {
      began = std::max(began, address == nullptr ? kNever : address->since);
    }
    if (what.sub.external.data) {
      began = std::max(began, with_data ? expected.data_since : kNever);
    }
    for_each_node(what.before,
                  [&](std::size_t before) { began = std::max(began, when.done[before]); });
    if (began != kNever && parameters_.outdated_results == OutdatedResults::kAtOnce) {
      began =
          std::max(began, operations_[what.operation]->changed_at(what.number, expected.subject));
    }
    when.began[node] = began;
    when.done[node] = plus(began, what.sub.latency);
  }
  return when;
}

// Counts nodes that have been executed. `running_too`: counts running ones, too, which are counted
// nowhere else.
void ExpectedWrites::count(const When& when, NodeSet nodes, bool running_too) {
  const Time now = queue_->now();
  for_each_node(nodes, [&](std::size_t node) {
    const bool done = when.done[node] <= now;
    const bool running = !done && when.began[node] < now;
    if (done || (running && running_too)) ++work_.of(graph_.nodes()[node].sub.work).executed;
  });
}

ExpectedWrites::Progress ExpectedWrites::take(PreparedId id, bool with_data) {
  const std::uint32_t slot = *expected_.find({id.number});
  expected_.erase({id.number});
  Expected& expected = slots_[slot];
  AddressResults* const address =
      expected.address == kNoSlot ? nullptr : &address_slots_[expected.address];
  const When found = when(address, expected, with_data);
  count(found, graph_.all(), false);
  if (address != nullptr && parameters_.outdated_results == OutdatedResults::kAtOnce) {
    address->since = queue_->now();  // rule 4 (expected_writes.hpp)
  }
  remove_from_address(expected);
  release_expected_if_idle(slot);
  return progress(found);
}

ExpectedWrites::Progress ExpectedWrites::progress(const When& when) const {
  const Time now = queue_->now();
  Progress progress{.done_at = when.done};
  for (std::size_t node = 0; node < graph_.nodes().size(); ++node) {
    if (when.done[node] <= now) {
      progress.done |= set_of(node);
    } else if (when.began[node] <= now) {
      progress.running |= set_of(node);
    }
  }
  return progress;
}

// Implements rule 6 (expected_writes.hpp).
ExpectedWrites::Progress ExpectedWrites::progress_by_known_inputs(Line line,
                                                                  const Prepared& prepared) {
  if (const std::uint32_t* const known = by_line_.find(line)) address_slots_[*known].used = true;
  if (has(prepared.now_used)) slots_[*expected_.find({prepared.now_used.number})].used = true;
  When found;
  for (const std::size_t node : graph_.order()) {
    const OperationGraph::Node& what = graph_.nodes()[node];
    Time began{};
    if (what.sub.external.address) began = prepared.known->address;
    if (what.sub.external.data) began = std::max(began, prepared.known->data);
    for_each_node(what.before,
                  [&](std::size_t before) { began = std::max(began, found.done[before]); });
    found.began[node] = began;
    found.done[node] = plus(began, what.sub.latency);
  }
  count(found, graph_.all(), false);
  return progress(found);
}

void ExpectedWrites::discard(PreparedId id) {
  const std::uint32_t* const there = expected_.find({id.number});
  if (there == nullptr) return;  // a write has taken it over
  const std::uint32_t slot = *there;
  expected_.erase({id.number});
  Expected& expected = slots_[slot];
  const AddressResults* const address =
      expected.address == kNoSlot ? nullptr : &address_slots_[expected.address];
  if (!expected.used) count(when(address, expected, true), graph_.of_data(), true);
  remove_from_address(expected);
  release_expected_if_idle(slot);
}

void ExpectedWrites::remove_from_address(Expected& expected) {
  expected.wanted = false;
  if (expected.address == kNoSlot) return;
  AddressResults& address = address_slots_[expected.address];
  if (--address.predictions == 0) {
    if (!address.used) {
      count(when(&address, expected, false), graph_.all() & ~graph_.of_data(), true);
    }
    by_line_.erase(address.line);
    address_slots_[addresses_.back()].place = address.place;
    addresses_[address.place] = addresses_.back();
    addresses_.pop_back();
    release_if_idle(expected.address);
  }
}

void ExpectedWrites::release_if_idle(std::uint32_t slot) {
  const AddressResults& address = address_slots_[slot];
  if (address.predictions == 0 && address.fetches.pending == 0) address_slots_.release(slot);
}

void ExpectedWrites::release_expected_if_idle(std::uint32_t slot) {
  const Expected& expected = slots_[slot];
  if (!expected.wanted && expected.fetches.pending == 0) slots_.release(slot);
}

// ---- Rule 4 (expected_writes.hpp)

void ExpectedWrites::accepted(const Write& write, const Encoded& encoded) {
  if (parameters_.outdated_results != OutdatedResults::kAtOnce ||
      parameters_.faults.metadata_changed) {
    return;
  }
  for (const std::uint32_t slot : addresses_) {
    AddressResults& address = address_slots_[slot];
    if (address.line == write.line) {
      restart(address);
    } else {
      renew(write, encoded, address);
    }
  }
}

void ExpectedWrites::restart(AddressResults& address) {
  Expected nothing;
  nothing.subject.line = address.line;
  const NodeSet nodes = graph_.all() & ~graph_.of_data();
  const When found = when(&address, nothing, false);
  count(found, nodes, true);
  for_each_node(
      nodes, [&](std::size_t node) { statistics_.renewed += found.began[node] < queue_->now(); });
  address.since = queue_->now();
}

// Counts the nodes that had been started. changed_at() returns the time at which they start again.
void ExpectedWrites::renew(const Write& write, const Encoded& encoded,
                           const AddressResults& other) {
  for (std::size_t operation = 0; operation < operations_.size(); ++operation) {
    const auto first = operations_[operation]->outdates(write, encoded, other.line);
    if (!first) continue;
    const NodeSet outdated = graph_.from(first_nodes_[operation] + *first) & ~graph_.of_data();
    for_each_node(outdated, [&](std::size_t node) {
      if (queue_->now() <= other.since + earliest_[node]) return;
      ++statistics_.renewed;
      ++work_.of(graph_.nodes()[node].sub.work).executed;
    });
  }
}

void ExpectedWrites::statistics(StatisticsCollector& collector) const {
  collector.group("backend", statistics_);
}

}  // namespace pmemsim
