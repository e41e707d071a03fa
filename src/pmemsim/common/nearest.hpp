// Suggestions for misspelt words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pmemsim {

// Returns the candidate nearest to a misspelt word, if one is near enough.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace pmemsim
