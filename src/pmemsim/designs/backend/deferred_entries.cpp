#include "pmemsim/designs/backend/deferred_entries.hpp"

#include <algorithm>
#include <utility>

namespace pmemsim {

void DeferredEntries::connect(EventQueue& queue, MetadataPort& backend, Completion persistent) {
  queue_ = &queue;
  backend_ = &backend;
  persistent_ = persistent;
}

// Implements rule 1 (deferred_entries.hpp): once an entry has to be written with its data, this is
// never undone.
void DeferredEntries::stored(Line line, EntryNeed need) {
  if (EntryNeed* const known = needs_.find(line)) {
    *known = std::max(*known, need);
  } else {
    needs_.insert(line) = need;
  }
}

EntryNeed DeferredEntries::need(Line line) const {
  // Lines of hardware logs have no entry here: no program stores to them.
  const EntryNeed* const known = needs_.find(line);
  const EntryNeed need = known != nullptr ? *known : EntryNeed::kTogether;
  return backend_->injected_faults().log_entries && need == EntryNeed::kTogether ? EntryNeed::kLater
                                                                                 : need;
}

void DeferredEntries::deferred(Line entries) {
  ++statistics_.deferred;
  changed_.push_back(entries);
}

// Implements rule 4 (deferred_entries.hpp).
void DeferredEntries::write_back(Line entries) {
  ++started_;
  ++statistics_.written_back;
  Completion persistent = persistent_;
  persistent.argument = entries.number;
  backend_->write_back_entries(entries, persistent);
}

void DeferredEntries::written_back(Time now) {
  ++written_;
  for (; !waiting_.empty() && waiting_.front().until <= written_; waiting_.pop_front()) {
    queue_->schedule(now, Phase::kController, waiting_.front().done);
  }
}

// Implements rule 3 (deferred_entries.hpp).
bool DeferredEntries::publish(Completion done) {
  if (backend_->injected_faults().publication) return true;
  for (const Line entries : std::exchange(changed_, {})) {
    if (cache_.mark_clean(entries)) write_back(entries);
  }
  if (written_ == started_) return true;
  ++statistics_.commits_held;
  waiting_.push_back({started_, done});
  return false;
}

void DeferredEntries::forget(const Completion& done) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.done == done; });
}

std::string DeferredEntries::pending() const {
  if (waiting_.empty()) return {};
  return std::to_string(waiting_.size()) + " commits wait for entries of lines to be written";
}

}  // namespace pmemsim
