// Messages that are composed of sentences.
#pragma once

#include <cstddef>
#include <string>

namespace pmemsim {

// Joins the sentences say(0), ..., say(count - 1): "one; another". Empty sentences are left out.
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
