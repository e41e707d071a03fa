// Functions that a program calls to make its stores persistent.
//
// Most programs flush and fence in small functions that others call (`persist(&node)`), so that one
// instruction serves all of its callers. Reports therefore name the caller.
//
// A store to persistent memory belongs to the innermost function on its call path that also flushes
// or fences, itself or in a callee. A function is a flush function if it flushes or fences and no
// store belongs to it. Non-temporal stores do not count here, since they are part of flushing.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "pmemsim/analysis/contexts.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {

class FlushFunctions {
 public:
  FlushFunctions(const SiteTable& sites, const Contexts& contexts)
      : sites_(sites), contexts_(contexts) {}

  // Adds a flush or a fence with its call path.
  void add_flush(const Contexts::Call& flush) {
    durable_.insert(function_of(flush.line));
    for (Contexts::Node node = flush.parent; node != Contexts::kRoot;
         node = contexts_[node].parent) {
      durable_.insert(function_of(contexts_[node].line));
    }
  }
  // Adds a store to persistent memory, after all flushes and fences have been added.
  void add_store(const Contexts::Call& store) {
    std::uint32_t function = function_of(store.line);
    Contexts::Node node = store.parent;
    while (!durable_.contains(function) && node != Contexts::kRoot) {
      function = function_of(contexts_[node].line);
      node = contexts_[node].parent;
    }
    storing_.insert(function);
  }

  // True if the line's function flushes or fences, itself or in a callee.
  bool persists(std::uint32_t line) const { return durable_.contains(function_of(line)); }
  // True if a store belongs to the line's function.
  bool stores(std::uint32_t line) const { return storing_.contains(function_of(line)); }

 private:
  std::uint32_t function_of(std::uint32_t line) const { return sites_.line(line).function; }

  const SiteTable& sites_;
  const Contexts& contexts_;
  // Functions that flush or fence, themselves or in functions that they call; functions to which
  // stores belong.
  std::unordered_set<std::uint32_t> durable_, storing_;
};

}  // namespace pmemsim::trace
