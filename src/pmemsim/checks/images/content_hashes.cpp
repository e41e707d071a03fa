#include "pmemsim/checks/images/content_hashes.hpp"

#include <cstring>

#include "pmemsim/common/mix.hpp"

namespace pmemsim {

std::uint64_t hash_of(Line line, const LineData& data) {
  std::uint64_t hash = mix(line.number);
  for (std::size_t at = 0; at < data.size(); at += sizeof(hash)) {
    std::uint64_t word;
    std::memcpy(&word, data.data() + at, sizeof(word));
    hash = mix(hash + word);
  }
  return hash;
}

}  // namespace pmemsim
