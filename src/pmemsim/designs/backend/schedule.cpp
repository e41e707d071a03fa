#include "pmemsim/designs/backend/schedule.hpp"

#include <bit>
#include <utility>

namespace pmemsim {
namespace {

constexpr unsigned kNodeBits = 8;  // bits of the node in a completion's argument; above is the slot

constexpr std::uint64_t slot_and_node(std::uint32_t slot, std::uint32_t node) {
  return std::uint64_t{slot} << kNodeBits | node;
}
constexpr std::uint32_t slot_in(std::uint64_t both) {
  return static_cast<std::uint32_t>(both >> kNodeBits);
}
constexpr std::uint32_t node_in(std::uint64_t both) {
  return static_cast<std::uint32_t>(both & ((1u << kNodeBits) - 1));
}

}  // namespace

OperationSchedule::OperationSchedule(std::vector<BackendOperation*> operations,
                                     OperationGraph graph, std::uint32_t units,
                                     const BackendParameters& parameters)
    : operations_(std::move(operations)),
      graph_(std::move(graph)),
      units_(units),
      parameters_(parameters) {
  for (const OperationGraph::Node& node : graph_.nodes()) {
    works_done_.of(node.sub.work).exists = true;
  }
  if (parameters_.outdated_results != OutdatedResults::kWhenWritten) {
    expected_writes_.emplace(operations_, graph_, parameters_, works_done_);
  }
}

void OperationSchedule::connect(EventQueue& queue, MetadataPort& backend) {
  queue_ = &queue;
  backend_ = &backend;
  if (expected_writes_) expected_writes_->connect(queue, backend);
}

Inputs OperationSchedule::known(const Work& work) const {
  return {.address = work.subject.line.has_value(), .data = work.subject.whole()};
}

// ---- Predictions

void OperationSchedule::prepare(PreparedId id, const Prediction& prediction) {
  if (expected_writes_) return expected_writes_->prepare(id, prediction);
  const std::uint32_t* const there = expected_.find({id.number});
  const std::uint32_t slot = there != nullptr ? *there : works_.take();
  Work& work = works_[slot];
  if (there == nullptr) {
    work = {.subject = prediction};
    expected_.insert({id.number}) = slot;
  } else {
    if (known(work).data && work.subject.data != prediction.data)
      discard_data_results(work);  // rule 5 (schedule.hpp)
    work.subject = prediction;
  }
  execute_ready(slot);
}

void OperationSchedule::discard_data_results(Work& work) { discard_nodes(work, graph_.of_data()); }

// Removes nodes from those that are done. If one of them has found a duplicate, skipped nodes are
// no longer skipped.
void OperationSchedule::discard_nodes(Work& work, NodeSet nodes) {
  const std::vector<OperationGraph::Node>& all = graph_.nodes();
  for (std::size_t node = 0; node < all.size(); ++node) {
    if (!all[node].sub.finds_duplicates || (nodes & set_of(node)) == 0) continue;
    work.done &= ~std::exchange(work.skipped, 0);
    work.duplicate_at.reset();
  }
  work.done &= ~nodes;
  work.useless |= work.running & nodes;
}

// Implements rule 4 (schedule.hpp), in an order in which nodes can be executed: nodes that follow
// an outdated one are lost with it.
void OperationSchedule::discard_outdated(Work& work, TakenOver& taken) {
  if (parameters_.faults.outdated) return;
  for (std::size_t node = 0; node < graph_.nodes().size(); ++node) {
    if ((work.done & ~work.skipped & set_of(node)) == 0) continue;
    const OperationGraph::Node& what = graph_.nodes()[node];
    BackendOperation& operation = *operations_[what.operation];
    const bool outdated =
        what.sub.finds_duplicates
            ? operation.duplicate(work.subject) != work.duplicate_at
            : operation.changed_at(what.number, work.subject) >= work.done_at[node];
    if (!outdated) continue;
    (what.sub.finds_duplicates ? taken.duplicate : taken.outdated) = true;
    const NodeSet done = work.done;
    discard_nodes(work, graph_.from(node));
    statistics_.outdated += static_cast<std::uint64_t>(std::popcount(done & ~work.done));
  }
}

void OperationSchedule::accepted(const Write& write, const Encoded& encoded) {
  if (expected_writes_) expected_writes_->accepted(write, encoded);
}

void OperationSchedule::discard(PreparedId id) {
  if (expected_writes_) return expected_writes_->discard(id);
  const std::uint32_t* const there = expected_.find({id.number});
  if (there == nullptr) return;  // a write has taken it over
  const std::uint32_t slot = *there;
  expected_.erase({id.number});
  abandon(slot);
}

// ---- Writes

bool OperationSchedule::write(const Write& write, const Prepared& prepared, Completion done) {
  TakenOver taken;
  const std::uint32_t slot = take_over(write, prepared, taken);
  if (observer_ != nullptr) {
    observer_->arrived(done.argument, write, prepared, taken, queue_->now());
  }
  Work& work = works_[slot];
  ++statistics_.writes;
  if (complete(work)) {
    ++statistics_.done_before;
    return complete_at_once(slot, done);
  }
  if (acknowledges_on_arrival()) find_duplicate(work);
  execute_ready(slot);
  if (complete(work)) return complete_at_once(slot, done);  // its sub-operations took no time
  if (acknowledges_on_arrival()) {
    notify_done(done, {});
    return true;
  }
  work.finished = done;
  arrived_.insert({done.argument}) = slot;
  return false;
}

bool OperationSchedule::complete_at_once(std::uint32_t slot, const Completion& done) {
  release_if_idle(slot);
  notify_done(done, {});
  return true;
}

// Implements rule 7 (schedule.hpp).
void OperationSchedule::find_duplicate(Work& work) {
  for (const OperationGraph::Node& node : graph_.nodes()) {
    if (!node.sub.finds_duplicates) continue;
    work.duplicate_at = operations_[node.operation]->duplicate(work.subject);
  }
}

// Implements rule 4 (schedule.hpp).
std::uint32_t OperationSchedule::take_over(const Write& write, const Prepared& prepared,
                                           TakenOver& taken) {
  if (expected_writes_) return take_over_expected(write, prepared, taken);
  const std::uint32_t* const there = prepared.id ? expected_.find({prepared.id.number}) : nullptr;
  const Prediction subject{.line = write.line, .data = write.data, .bytes = kWholeLine};
  std::uint32_t slot = kNoSlot;
  if (there == nullptr) {
    slot = works_.take();
    works_[slot] = {.subject = subject};
  } else {
    slot = *there;
    works_[slot].subject = subject;
    expected_.erase({prepared.id.number});
    if (!prepared.data) discard_data_results(works_[slot]);
    taken.unfinished = !complete(works_[slot]);
    statistics_.executed_before += !taken.unfinished;
    discard_outdated(works_[slot], taken);
    if (works_[slot].waits) {  // it waits among the writes from now on
      std::erase(expected_waiting_, slot);
      works_[slot].waits = false;
    }
  }
  works_[slot].expected = false;
  works_[slot].arrived = queue_->now();
  return slot;
}

// Takes over a prediction of ExpectedWrites. Its running nodes continue here.
std::uint32_t OperationSchedule::take_over_expected(const Write& write, const Prepared& prepared,
                                                    TakenOver& taken) {
  const std::uint32_t slot = works_.take();
  Work& work = works_[slot];
  work = {.subject = {.line = write.line, .data = write.data, .bytes = kWholeLine},
          .arrived = queue_->now(),
          .expected = false};
  if (!prepared.known && (!prepared.id || !expected_writes_->has(prepared.id))) return slot;
  const ExpectedWrites::Progress found =
      prepared.known ? expected_writes_->progress_by_known_inputs(write.line, prepared)
                     : expected_writes_->take(prepared.id, prepared.data.has_value());
  work.done = found.done;
  work.running = found.running;
  work.done_at = found.done_at;
  if (work.running != 0) get_unit(slot);
  for (NodeSet running = work.running; running != 0; running &= running - 1) {
    const auto node = static_cast<std::uint32_t>(std::countr_zero(running));
    if (stages_ != nullptr) log_sub_operation(slot, node, found.done_at[node]);
    queue_->schedule(found.done_at[node], Phase::kController,
                     completion<&OperationSchedule::node_done>(*this, slot_and_node(slot, node)));
  }
  for (std::size_t node = 0; node < graph_.nodes().size(); ++node) {
    if ((work.done & set_of(node)) != 0) look_for_duplicate(work, node);
  }
  taken.unfinished = !complete(work);
  statistics_.executed_before += !taken.unfinished;
  return slot;
}

// Implements rule 5 (schedule.hpp).
void OperationSchedule::coalesced(const Write& both, const Completion& done) {
  ++statistics_.coalesced;
  const std::uint32_t* const there = arrived_.find({done.argument});
  if (there == nullptr) return;
  const std::uint32_t slot = *there;
  Work& work = works_[slot];
  if (work.subject.data != both.data) discard_data_results(work);
  work.subject.data = both.data;
  execute_ready(slot);
}

void OperationSchedule::forget(const Completion& done) {
  const std::uint32_t* const there = arrived_.find({done.argument});
  if (there == nullptr) return;
  const std::uint32_t slot = *there;
  arrived_.erase({done.argument});
  works_[slot].finished = {};
  if (!complete(works_[slot])) abandon(slot);  // otherwise end() is about to be called
}

// ---- Units

// Implements rules 1 and 2 (schedule.hpp). Sub-operations that take no time may make others ready
// at once.
void OperationSchedule::execute_ready(std::uint32_t slot) {
  Work& work = works_[slot];
  if (work.starting) return;
  work.starting = true;
  while (const NodeSet ready = graph_.ready(work.done, known(work)) & ~work.running) {
    if (!get_unit(slot)) break;
    start(slot, static_cast<std::uint32_t>(std::countr_zero(ready)));
  }
  work.starting = false;
  if (work.running == 0 && !work.waits && work.has_unit) release_unit(slot);
}

bool OperationSchedule::get_unit(std::uint32_t slot) {
  Work& work = works_[slot];
  if (work.has_unit) return true;
  if (units_ == 0 || busy_units_ < units_) {
    ++busy_units_;
    work.has_unit = true;
    if (stages_ != nullptr) log_unit(slot, Stage::kUnitTaken);
    return true;
  }
  if (!work.waits) {
    work.waits = true;
    work.waits_since = queue_->now();
    waiting(work).push_back(slot);
  }
  return false;
}

std::vector<std::string> OperationSchedule::names() const {
  std::vector<std::string> names;
  for (const OperationGraph::Node& node : graph_.nodes()) names.push_back(node.sub.name);
  return names;
}

void OperationSchedule::log_unit(std::uint32_t slot, Stage stage) const {
  const Work& work = works_[slot];
  stages_->add({.stage = stage,
                .flag = work.expected,
                .id = slot,
                .line = work.subject.line.value_or(Line{}),
                .at = {queue_->now()}});
}

void OperationSchedule::log_sub_operation(std::uint32_t slot, std::uint32_t node, Time end) const {
  stages_->add(
      {.stage = Stage::kSubOperation, .part = node, .id = slot, .at = {queue_->now(), end}});
}

void OperationSchedule::release_unit(std::uint32_t released) {
  works_[released].has_unit = false;
  if (stages_ != nullptr) log_unit(released, Stage::kUnitReleased);
  --busy_units_;
  while (busy_units_ < units_) {
    std::deque<std::uint32_t>& first =
        writes_waiting_.empty() ? expected_waiting_ : writes_waiting_;
    if (first.empty()) break;
    const std::uint32_t slot = first.front();
    first.pop_front();
    Work& next = works_[slot];
    next.waits = false;
    if (!next.expected) next.unit_wait += queue_->now() - next.waits_since;
    execute_ready(slot);
    if (next.expected || !complete(next)) continue;  // otherwise its sub-operations took no time
    queue_->schedule(queue_->now(), Phase::kController,
                     completion<&OperationSchedule::end>(*this, slot));
  }
  if (busy_units_ < units_ && free_) {
    queue_->schedule(queue_->now(), Phase::kController, std::exchange(free_, {}));
  }
}

bool OperationSchedule::starts_at_once(Completion free) {
  if (units_ == 0 || busy_units_ < units_) return true;
  free_ = free;
  return false;
}

// ---- Sub-operations

void OperationSchedule::start(std::uint32_t slot, std::uint32_t node) {
  Work& work = works_[slot];
  work.running |= set_of(node);
  const OperationGraph::Node& what = graph_.nodes()[node];
  const auto missing = operations_[what.operation]->look_up(what.number, work.subject);
  if (!missing) return begin(slot, node);
  ++statistics_.metadata_reads;
  const Completion fetched =
      completion<&OperationSchedule::fetched>(*this, slot_and_node(slot, node));
  if (parameters_.miss_latency == Picoseconds{}) return backend_->read_metadata(*missing, fetched);
  queue_->schedule(queue_->now() + parameters_.miss_latency, Phase::kController, fetched);
}

// Implements rule 3 (schedule.hpp).
void OperationSchedule::fetched(std::uint64_t both, Time) { begin(slot_in(both), node_in(both)); }

void OperationSchedule::begin(std::uint32_t slot, std::uint32_t node) {
  const Picoseconds latency = graph_.nodes()[node].sub.latency;
  if (latency == Picoseconds{} && works_[slot].starting) return finish_node(slot, node);
  const Time end = queue_->now() + latency;
  if (stages_ != nullptr) log_sub_operation(slot, node, end);
  queue_->schedule(end, Phase::kController,
                   completion<&OperationSchedule::node_done>(*this, slot_and_node(slot, node)));
}

void OperationSchedule::node_done(std::uint64_t both, Time now) {
  const std::uint32_t slot = slot_in(both);
  finish_node(slot, node_in(both));
  Work& work = works_[slot];
  if (!work.needed) return release_if_idle(slot);
  execute_ready(slot);
  if (!work.expected && complete(work)) end(slot, now);
}

void OperationSchedule::finish_node(std::uint32_t slot, std::uint32_t node) {
  Work& work = works_[slot];
  ++works_done_.of(graph_.nodes()[node].sub.work).executed;
  work.running &= ~set_of(node);
  const bool useless = (work.useless & set_of(node)) != 0;
  work.useless &= ~set_of(node);
  if (useless) return;
  work.done |= set_of(node);
  work.done_at[node] = queue_->now();
  look_for_duplicate(work, node);
}

// Called for a sub-operation that is done.
void OperationSchedule::look_for_duplicate(Work& work, std::size_t node) {
  const OperationGraph::Node& what = graph_.nodes()[node];
  if (!what.sub.finds_duplicates) return;
  if (work.expected || !acknowledges_on_arrival()) {
    work.duplicate_at = operations_[what.operation]->duplicate(work.subject);
  }
  if (!work.duplicate_at) return;
  work.skipped = graph_.unless_duplicate() & ~work.done & ~work.running;  // rule 6 (schedule.hpp)
  work.done |= work.skipped;
}

// ---- Completion

void OperationSchedule::end(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  Work& work = works_[slot];
  const bool forgotten = !work.finished && !acknowledges_on_arrival();
  if (forgotten) return release_if_idle(slot);
  const Picoseconds waited = now - work.arrived;
  statistics_.time += waited;
  statistics_.unit_wait += work.unit_wait;
  if (!work.finished) return release_if_idle(slot);  // no write is stalled
  const Completion finished = work.finished;
  notify_done(finished, waited);
  arrived_.erase({finished.argument});
  release_if_idle(slot);
  finished(now);
}

void OperationSchedule::abandon(std::uint32_t slot) {
  Work& work = works_[slot];
  work.needed = false;
  if (std::exchange(work.waits, false)) std::erase(waiting(work), slot);
  release_if_idle(slot);
}

// Releases the unit, unless it is still running sub-operations, which it finishes.
void OperationSchedule::release_if_idle(std::uint32_t slot) {
  Work& work = works_[slot];
  if (work.running != 0) return;
  if (!work.expected && complete(work)) count_used(work);
  if (work.has_unit) release_unit(slot);
  works_.release(slot);
}

// Counts the results that are used. Sub-operations that only written data need are unused if the
// data are elsewhere, whenever that was found.
void OperationSchedule::count_used(const Work& work) {
  NodeSet left = work.done & ~work.skipped;
  if (work.duplicate_at) left &= ~graph_.unless_duplicate();
  for (; left != 0; left &= left - 1) {
    const auto node = static_cast<std::size_t>(std::countr_zero(left));
    ++works_done_.of(graph_.nodes()[node].sub.work).used;
  }
}

void OperationSchedule::statistics(StatisticsCollector& collector) const {
  collector.group("backend", statistics_);
  collector.group("backend", works_done_);
  if (expected_writes_) expected_writes_->statistics(collector);
}

std::string OperationSchedule::pending() const {
  if (arrived_.size() == 0) return {};
  return std::to_string(arrived_.size()) + " writes wait for their operations";
}

}  // namespace pmemsim
