// What somebody may have meant by a misspelt word.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pmemsim {

// The candidate nearest to a misspelt word, if one is near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace pmemsim
