#include "pmemsim/checks/images/group_values.hpp"

#include <cstring>
#include <utility>

#include "pmemsim/common/mix.hpp"
#include "pmemsim/trace/initial_state.hpp"

namespace pmemsim {

GroupValues::GroupValues(const trace::TraceFile& trace, const ProgramHistory& history,
                         const GuaranteedOrder& order)
    : history_(history), order_(order), there_(order.groups()), versions_(history.words()) {
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> page) {
    image_.write(address, page.data(), page.size());
    for (std::uint64_t at = 0; at < page.size(); at += kLineBytes) {
      changed_.insert(Line::of(address + at).number);
    }
  });
}

void GroupValues::set(Group group, bool there) {
  if (there_[group] == there) return;
  there_[group] = there;
  for (const ProgramHistory::UnitId unit : order_.units(group)) {
    for (const ProgramHistory::Write& write : history_.writes(unit)) {
      if (there) {
        put(write);
      } else {
        take(write);
      }
    }
  }
}

void GroupValues::put(const ProgramHistory::Write& write) {
  if (write.version > versions_[write.word]) set_version(write.word, write.version);
}

void GroupValues::take(const ProgramHistory::Write& write) {
  if (versions_[write.word] != write.version) return;
  const ProgramHistory::Word& word = history_.word(write.word);
  std::uint32_t version = write.version - 1;
  while (version > 0 && !there_[order_.group_of(word.version(version).unit)]) --version;
  set_version(write.word, version);
}

void GroupValues::set_version(ProgramHistory::WordId word, std::uint32_t version) {
  const ProgramHistory::Word& found = history_.word(word);
  const auto hash_of = [&](std::uint32_t which) {
    return mix(mix(found.address) + found.version(which).value);
  };
  hash_ ^= hash_of(versions_[word]) ^ hash_of(version);
  versions_[word] = version;
  std::array<std::byte, sizeof(std::uint64_t)> bytes;
  std::memcpy(bytes.data(), &found.version(version).value, bytes.size());
  image_.write(found.address, bytes.data(), bytes.size());
  changed_.insert(Line::of(found.address).number);
}

std::vector<Line> GroupValues::take_changed() {
  std::vector<Line> lines;
  for (const std::uint64_t number : std::exchange(changed_, {})) lines.push_back(Line{number});
  return lines;
}

}  // namespace pmemsim
