// Display of text that others have chosen, such as names in a recording, on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pmemsim {

// Returns the number of bytes of the character at the front of `text` if a terminal only displays
// it. Such a character is valid UTF-8 and not a control character. Returns 0 otherwise.
inline std::size_t printable_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  unsigned code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr unsigned kLeast[] = {0, 0, 0xa0, 0x800, 0x10000};  // below 0xa0: control characters
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kLeast[bytes] && code <= 0x10ffff && !surrogate ? bytes : 0;
}

// Returns a text of the same length, with `?` for each byte that a terminal might not simply
// display.
inline std::string printable(std::string_view text) {
  std::string shown(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = printable_character(text.substr(at));
    if (bytes == 0) shown[at] = '?';
    at += bytes == 0 ? 1 : bytes;
  }
  return shown;
}

}  // namespace pmemsim
