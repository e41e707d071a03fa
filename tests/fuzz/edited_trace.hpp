// A valid trace with edits, for a fuzzer. Five bytes of the fuzzer's input make one edit; the first
// byte chooses what is changed, and the others mean:
//
//   0  a value of the metadata: which key, what kind of value, which of these, (unused)
//   1  a byte of a frame: which frame, its place in the frame (two bytes), the new byte
//   2  a frame's header: which frame, its thread, its operations (two bytes)
//
// The checksums are correct after any edits, so that the reader gets past them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmemsim/trace/writer.hpp"
#include "valid_frames.hpp"

namespace pmemsim::trace {

class EditedTrace {
 public:
  explicit EditedTrace(std::vector<Frame> frames) : frames_(std::move(frames)) {}

  void edit(std::span<const std::byte> input) {
    for (; input.size() >= 5; input = input.subspan(5)) {
      std::array<unsigned, 5> bytes{};
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::to_integer<unsigned>(input[i]);
      const auto [what, which, first, second, third] = bytes;
      Frame& frame = frames_[which % frames_.size()];
      if (what % 3 == 0) {
        values_[which % values_.size()].second = value(first, second);
      } else if (what % 3 == 1) {
        frame.raw[(first | second << 8) % frame.raw.size()] = static_cast<std::byte>(third);
      } else {
        frame.thread = first;
        frame.operations = second | third << 8;
      }
    }
  }

  void write(const std::string& path) const {
    Writer writer(path);
    const std::string json = metadata();
    for (const Frame& frame : frames_) {
      const bool is_metadata = frame.kind == FrameKind::kMetadata;
      writer.frame(frame.kind, frame.thread,
                   is_metadata ? std::as_bytes(std::span(json)) : std::span(frame.raw),
                   frame.operations);
    }
    writer.finish();
  }

 private:
  // Numbers that don't fit their type, and numbers next to a limit of the format or of a type.
  static constexpr std::array<std::string_view, 22> kNumbers = {"0",
                                                                "1",
                                                                "2",
                                                                "-1",
                                                                "1.5",
                                                                "1e300",
                                                                "-0.0",
                                                                "255",
                                                                "1023",
                                                                "1024",
                                                                "1025",
                                                                "4096",
                                                                "16777216",
                                                                "268435455",
                                                                "268435457",
                                                                "2147483648",
                                                                "4294967296",
                                                                "140737488355327",
                                                                "140737488355329",
                                                                "9223372036854775808",
                                                                "18446744073709551615",
                                                                "18446744073709551616"};

  static std::string number(unsigned which) {
    return std::string(kNumbers[which % kNumbers.size()]);
  }
  static std::string region(unsigned which) {
    return "{\"begin\": " + number(which) + ", \"end\": " + number(which / kNumbers.size()) +
           ", \"source\": \"x\"}";
  }
  static std::string value(unsigned kind, unsigned which) {
    switch (kind % 8) {
      case 0:
        return number(which);
      case 1:  // bytes that are no UTF-8, most of them
        return "\"" + std::string(1 + which % 4, static_cast<char>(0x80 | which)) + "\"";
      case 2:
        return std::string(which, '[') + std::string(which, ']');
      case 3:
        return "null";
      case 4:
        return "[" + region(which) + "]";
      case 5:  // a whole page, and one that it has in common with another
        return R"([{"begin": 4096, "end": 8192, "source": "x"}, )" + region(which) + "]";
      case 6:
        return R"(["\u001b[2J", "\ud800", ")" + std::string(which, 'x') + "\"]";
      default:
        return {};  // the key is left out
    }
  }
  std::string metadata() const {
    std::string json;
    for (const auto& [key, value] : values_) {
      if (value.empty()) continue;
      json += (json.empty() ? "{\"" : ", \"") + std::string(key) + "\": " + value;
    }
    return json + "}";
  }

  std::vector<Frame> frames_;
  std::array<std::pair<std::string_view, std::string>, 9> values_{
      {{"format", std::to_string(kVersion)},
       {"program", "\"test\""},
       {"workload", "\"unit\""},
       {"seed", "7"},
       {"threads", "2"},
       {"sync_objects", "2"},
       {"pm_regions", R"([{"begin": 4096, "end": 8192, "source": "x"}])"},
       {"regions", "1"},
       {"arguments", "[]"}}};
};

}  // namespace pmemsim::trace
