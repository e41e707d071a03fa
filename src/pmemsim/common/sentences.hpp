// Texts for people that are put together from sentences.
#pragma once

#include <cstddef>
#include <string>

namespace pmemsim {

// What say(0), say(1), ... have to say, up to `count`: "one; another". Empty sentences are left
// out.
template <class Say>
std::string sentences(std::size_t count, Say say) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string sentence = say(i);
    if (!sentence.empty()) text += (text.empty() ? "" : "; ") + sentence;
  }
  return text;
}

}  // namespace pmemsim
