// A plan of changes to the nodes of a tree: an algorithm edits copies of nodes, so that all lines
// to change are known before the first change. The region then declares them all at once, so that
// it costs three fences however far a change spreads through the tree. A redo log needs no
// declarations. With it, the copies save searching the log for a node repeatedly, and there are no
// hints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hints.hpp"
#include "pmemsim/pm.h"

namespace workload {

template <class Node>
class Plan {
  static_assert(sizeof(Node) % PM_LINE_BYTES == 0 && alignof(Node) == PM_LINE_BYTES);

 public:
  // Returns the node as planned so far.
#ifdef PM_REDO_LOG
  const Node& operator[](const Node* node) { return edit(const_cast<Node*>(node)); }
#else
  const Node& operator[](const Node* node) const {
    for (std::size_t i = count_; i-- > 0;)
      if (changes_[i].node == node) return changes_[i].copy;
    return *node;
  }
#endif

  // Returns the node's copy, to be changed. Valid until execute().
  Node& edit(Node* node) {
    for (std::size_t i = count_; i-- > 0;)
      if (changes_[i].node == node) return changes_[i].copy;
    Change& change = add(node, false);
    pm_read(&change.copy, node, sizeof(Node));
    return change.copy;
  }

  // Returns the copy of a node that this region has allocated: it needs no declaration.
  Node& create(Node* node) {
    Change& change = add(node, true);
    change.copy = Node{};
    return change.copy;
  }

  // Declares other memory that the region will change; the program changes it after execute().
  void declare(const void* address, std::size_t bytes) { add_range(address, bytes); }

  // Declares a pointer that leads into the tree, and whose new value is known.
  void declare(Node** link, Node* target) {
    if constexpr (kHints) announce_pointer(link, target);
    add_range(link, sizeof *link);
  }

  // Declares everything, then makes the changes, and empties the plan.
  //
  // Janus: the lines' future contents are known here, before the log is written.
#ifdef PM_REDO_LOG
  void execute() {
    for (std::size_t i = 0; i < count_; ++i) store(changes_[i]);
    count_ = range_count_ = 0;
  }
#else
  void execute() {
    for (std::size_t i = 0; i < count_; ++i)
      if (changes_[i].created) {
        if constexpr (kHints) announce(changes_[i].node, &changes_[i].copy, sizeof(Node));
      } else {
        for_changed_lines(changes_[i], [this](char* line, const char* copy) {
          if constexpr (kHints) announce(line, copy, PM_LINE_BYTES);
          add_range(line, PM_LINE_BYTES);
        });
      }
    pm_log_ranges(ranges_.data(), range_count_);
    for (std::size_t i = 0; i < count_; ++i) {
      if (changes_[i].created)
        *changes_[i].node = changes_[i].copy;
      else
        for_changed_lines(changes_[i], [](char* line, const char* copy) {
          std::memcpy(line, copy, PM_LINE_BYTES);
        });
    }
    count_ = range_count_ = 0;
  }
#endif

 private:
  // A change that runs from a leaf to the root of a tree of 2^32 nodes stays below this, and so do
  // the nodes that it reads.
  static constexpr std::size_t kMaxChanges = 128;
  static constexpr std::size_t kMaxRanges = kMaxChanges * (sizeof(Node) / PM_LINE_BYTES);

  struct Change {
    Node* node;
    bool created;
    Node copy;
  };

#ifdef PM_REDO_LOG
  // Stores the words that differ: a redo log has an entry for every word.
  static void store(const Change& change) {
    if (change.created) {
      pm_write(change.node, &change.copy, sizeof(Node));
      return;
    }
    auto* words = reinterpret_cast<std::uint64_t*>(change.node);
    const auto* copy = reinterpret_cast<const std::uint64_t*>(&change.copy);
    for (std::size_t i = 0; i < sizeof(Node) / sizeof *words; ++i)
      if (pm_get(words[i]) != copy[i]) pm_set(words[i], copy[i]);
  }
#else
  template <class Action>
  static void for_changed_lines(Change& change, Action action) {
    char* line = reinterpret_cast<char*>(change.node);
    const char* copy = reinterpret_cast<const char*>(&change.copy);
    for (std::size_t at = 0; at < sizeof(Node); at += PM_LINE_BYTES)
      if (!same_line(line + at, copy + at)) action(line + at, copy + at);
  }

  // Compares without memcmp, whose loads a recording would not see where the compiler calls the C
  // library's.
  static bool same_line(const char* a, const char* b) {
    const auto* left = reinterpret_cast<const std::uint64_t*>(a);
    const auto* right = reinterpret_cast<const std::uint64_t*>(b);
    for (std::size_t i = 0; i < PM_LINE_BYTES / sizeof *left; ++i)
      if (left[i] != right[i]) return false;
    return true;
  }
#endif

  Change& add(Node* node, bool created) {
    if (count_ == kMaxChanges) overflow();
    Change& change = changes_[count_++];
    change.node = node;
    change.created = created;
    return change;
  }

  void add_range(const void* address, std::size_t bytes) {
    if (range_count_ == kMaxRanges) overflow();
    ranges_[range_count_++] = {address, bytes};
  }

  [[noreturn]] static void overflow() {
    std::fputs("a change spreads further than any tree can be deep: the tree is damaged\n", stderr);
    std::abort();
  }

  std::array<Change, kMaxChanges> changes_;
  std::array<pm_range, kMaxRanges> ranges_;
  std::size_t count_ = 0, range_count_ = 0;
};

}  // namespace workload
