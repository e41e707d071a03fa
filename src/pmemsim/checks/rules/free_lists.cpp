#include "pmemsim/checks/rules/free_lists.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pmemsim::check {
namespace {

using Addresses = std::vector<std::uint64_t>;  // In ascending order

bool any_between(const Addresses& addresses, std::uint64_t begin, std::uint64_t end) {
  const auto first = std::ranges::lower_bound(addresses, begin);
  return first != addresses.end() && *first < end;
}

class Search {
 public:
  Search(Findings& findings, const UnflushedStores& stores, const Lines& lines,
         const StoredReferences& references, const Image& memory)
      : findings_(findings),
        lines_(lines),
        references_(references),
        memory_(memory),
        objects_(references.targets()) {
    for (const auto& [place, each] : stores) {
      const Addresses words = words_of_stores(each);
      Addresses& all = unflushed_[place.line];
      all.insert(all.end(), words.begin(), words.end());
    }
    for (auto& [line, words] : unflushed_) std::ranges::sort(words);
    std::erase_if(unflushed_, [this](const auto& entry) { return !are_references(entry.second); });
  }

  // Removes source lines whose words aren't links, until all others have only links.
  void remove_others() {
    std::size_t before = 0;
    do {
      before = unflushed_.size();
      find_references();
      std::erase_if(unflushed_, [this](const auto& entry) {
        return !std::ranges::all_of(entry.second, [this](std::uint64_t word) {
          return is_unreachable(word) || is_head(word);
        }) || !std::ranges::all_of(flushed_[entry.first], [this](std::uint64_t word) {
          return is_of_used_memory(word);
        });
      });
    } while (!unflushed_.empty() && unflushed_.size() != before);
  }

  std::set<std::uint32_t> lines() const {
    std::set<std::uint32_t> found;
    for (const auto& [line, words] : unflushed_) found.insert(line);
    return found;
  }

 private:
  std::uint64_t word_at(std::uint64_t address) const {
    const LineData data = memory_.read(Line::of(address));
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + address % kLineBytes, sizeof(word));
    return word;
  }
  std::uint64_t target_of(std::uint64_t address) const {
    const std::uint64_t word = word_at(address);
    return word == 0 ? 0 : references_.target_of(address, word, lines_);
  }

  Addresses words_of_stores(const std::vector<UnflushedStore>& stores) const {
    Addresses found;
    for (const UnflushedStore& store : stores) {
      for (Words left = store.words & lines_.find(store.line)->dirty; left != 0;
           left &= static_cast<Words>(left - 1)) {
        const auto word = static_cast<std::uint64_t>(std::countr_zero(left));
        found.push_back(store.line.address() + word * kWordBytes);
      }
    }
    std::ranges::sort(found);
    return found;
  }

  // Condition 1.
  bool are_references(const Addresses& words) const {
    const auto leads = [this](std::uint64_t word) { return target_of(word) != 0; };
    return std::ranges::any_of(words, leads) && std::ranges::all_of(words, [&](std::uint64_t word) {
             return word_at(word) == 0 || leads(word);
           });
  }

  // Collects the links, and what all other words of PM lead to.
  void find_references() {
    unflushed_links_.clear();
    flushed_.clear();
    durable_.clear();
    for (const auto& [line, words] : unflushed_) {
      unflushed_links_.insert(unflushed_links_.end(), words.begin(), words.end());
    }
    std::ranges::sort(unflushed_links_);
    memory_.for_each_page([this](std::uint64_t page, const std::byte*) {
      for (std::uint64_t at = page; at < page + Image::kPageBytes; at += kWordBytes) {
        const std::uint64_t target = target_of(at);
        if (target != 0 && !std::ranges::binary_search(unflushed_links_, at)) {
          note_reference(at, target);
        }
      }
    });
    std::ranges::sort(durable_);
  }
  void note_reference(std::uint64_t address, std::uint64_t target) {
    const std::uint32_t site = references_.stored_at(address);
    const std::uint32_t line =
        site == StoredReferences::kNoSite ? site : findings_.place_of({.site = site}).line;
    if (site != StoredReferences::kNoSite && unflushed_.contains(line)) {
      flushed_[line].push_back(address);
    } else {
      durable_.push_back(target);
    }
  }

  // True if a reference has led to the word's line at any time.
  bool is_in_object(std::uint64_t word) const {
    return std::ranges::binary_search(objects_, Line::of(word).number);
  }
  bool is_reachable(Line line) const {
    return any_between(durable_, line.address(), line.address() + kLineBytes);
  }
  // Condition 2.
  bool is_unreachable(std::uint64_t word) const {
    return is_in_object(word) && !is_reachable(Line::of(word));
  }
  bool is_head(std::uint64_t word) const {
    const Line line = Line::of(word);
    const std::uint64_t target = target_of(word);
    if (target == 0 || is_reachable(line) || lines_.find(line)->persisted != 0) return false;
    const Line object = Line::of(target);
    return !is_reachable(object) &&
           any_between(unflushed_links_, object.address(), object.address() + kLineBytes);
  }
  // Condition 3.
  bool is_of_used_memory(std::uint64_t word) const {
    return is_in_object(word) && is_reachable(Line::of(word));
  }

  Findings& findings_;
  const Lines& lines_;
  const StoredReferences& references_;
  const Image& memory_;
  const std::vector<std::uint64_t> objects_;      // Lines that references have led to
  std::map<std::uint32_t, Addresses> unflushed_;  // Words of the links, by source line
  std::map<std::uint32_t, Addresses> flushed_;    // Other words of these source lines
  Addresses unflushed_links_;                     // All words of `unflushed_`
  Addresses durable_;                             // Addresses that other words have
};

// Condition 4: the source lines of links to memory that flushed references have led to, too.
std::set<std::uint32_t> lines_of_used_memory(Findings& findings, const UnflushedStores& stores,
                                             const StoredReferences& references) {
  std::set<std::uint32_t> unflushed, found;
  for (const auto& [place, each] : stores) unflushed.insert(place.line);
  references.for_each_target([&](const StoredReferences::Sites& sites) {
    std::set<std::uint32_t> links;
    bool used = false;
    for (const std::uint32_t site : sites) {
      if (site == StoredReferences::kNoSite) break;
      const std::uint32_t line = findings.place_of({.site = site}).line;
      if (unflushed.contains(line)) {
        links.insert(line);
      } else {
        used = true;
      }
    }
    if (used) found.merge(links);
  });
  return found;
}

}  // namespace

std::set<std::uint32_t> free_list_links(Findings& findings, const UnflushedStores& stores,
                                        const Lines& lines, const StoredReferences& references,
                                        const Image& memory) {
  Search search(findings, stores, lines, references, memory);
  search.remove_others();
  std::set<std::uint32_t> links = search.lines();
  if (links.empty()) return links;
  const std::set<std::uint32_t> used = lines_of_used_memory(findings, stores, references);
  std::erase_if(links, [&](std::uint32_t line) { return !used.contains(line); });
  return links;
}

}  // namespace pmemsim::check
