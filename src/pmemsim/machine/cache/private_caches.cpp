#include "pmemsim/machine/cache/private_caches.hpp"

#include <algorithm>

namespace pmemsim {
namespace {

bool remove(CacheArray<PrivateLine>& cache, Line line) {
  if (!cache.present()) return false;
  const std::size_t way = cache.find(line);
  if (way == kNoWay) return false;
  const bool dirty = cache.meta(way).state == LineState::kModified;
  cache.remove(way);
  return dirty;
}

bool demote(CacheArray<PrivateLine>& cache, Line line, LineState from, LineState to) {
  if (!cache.present()) return false;
  const std::size_t way = cache.find(line);
  if (way == kNoWay) return false;
  LineState& state = cache.meta(way).state;
  const bool dirty = state == LineState::kModified;
  if (state == from || to == LineState::kShared) state = to;
  return dirty;
}

}  // namespace

PrivateCaches::Lookup PrivateCaches::look_up_l2(Line line, Slot start) {
  const Slot start_l2 = start + l1_tag_latency_;
  const std::size_t way = l2_.present() ? l2_.find(line) : kNoWay;
  if (way == kNoWay) return {false, false, LineState::kShared, start_l2 + l2_tag_latency_};
  l2_.touch(way);
  const PrivateLine found = l2_.meta(way);
  const Slot ready = std::max(start_l2 + l2_latency_, found.ready);
  install_l1(line, {ready, found.state});
  return {true, false, found.state, ready, ready};
}

void PrivateCaches::install_l1(Line line, const PrivateLine& meta) {
  const std::size_t victim = l1_.victim(line);
  if (l1_.occupied(victim) && l1_.meta(victim).state == LineState::kModified && l2_.present()) {
    // The L2 includes the L1, so that the victim is in the L2.
    l2_.meta(l2_.find(l1_.line(victim))).state = LineState::kModified;
  }
  l1_.install(victim, line, meta);
}

Departure PrivateCaches::fill(Line line, LineState state, Slot ready) {
  Departure departure;
  CacheArray<PrivateLine>& outer = l2_.present() ? l2_ : l1_;
  if (outer.find(line) != kNoWay) {  // an upgrade: the line is still in the private caches
    for (CacheArray<PrivateLine>* cache : {&l1_, &l2_}) {
      const std::size_t way = cache->present() ? cache->find(line) : kNoWay;
      if (way != kNoWay) cache->meta(way) = {ready, state};
    }
    if (l1_.find(line) == kNoWay) install_l1(line, {ready, state});
    return departure;
  }
  const std::size_t victim = outer.victim(line);
  if (outer.occupied(victim)) {
    departure.happened = true;
    departure.line = outer.line(victim);
    departure.dirty = outer.meta(victim).state == LineState::kModified;
    if (l2_.present()) departure.dirty |= remove(l1_, departure.line);
  }
  outer.install(victim, line, {ready, state});
  if (l2_.present()) install_l1(line, {ready, state});
  return departure;
}

bool PrivateCaches::modified(Line line) const {
  for (const CacheArray<PrivateLine>* cache : {&l1_, &l2_}) {
    const std::size_t way = cache->present() ? cache->find(line) : kNoWay;
    if (way != kNoWay && cache->meta(way).state == LineState::kModified) return true;
  }
  return false;
}

bool PrivateCaches::invalidate(Line line) {
  const bool in_l1 = remove(l1_, line);
  return remove(l2_, line) || in_l1;
}

bool PrivateCaches::downgrade(Line line) {
  const bool in_l1 = demote(l1_, line, LineState::kModified, LineState::kShared);
  return demote(l2_, line, LineState::kModified, LineState::kShared) || in_l1;
}

bool PrivateCaches::mark_clean(Line line) {
  const bool in_l1 = demote(l1_, line, LineState::kModified, LineState::kExclusive);
  return demote(l2_, line, LineState::kModified, LineState::kExclusive) || in_l1;
}

}  // namespace pmemsim
