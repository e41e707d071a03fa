// Decoding of crash images, if operations have changed lines: encrypted them, moved them, and so
// on. The decoder returns the contents that a program would read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/sentences.hpp"

namespace pmemsim {

// A decoder follows the changes of the surviving contents. The cost of a crash therefore depends on
// the changes since the last crash, not on the size of the image.
class ImageDecoder {
 public:
  // Called with a line's new decoded contents.
  using Tell = std::function<void(Line, const LineData&)>;

  virtual ~ImageDecoder() = default;
  // Called before all changes, with the device's contents at the beginning of the run, as
  // Backend::format() has left them.
  virtual void begin(const Image& /*device*/) {}
  // Called when the device, or a queue that survives, has new contents for a place.
  virtual void changed(Line place, const LineData& data, const Tell& tell) = 0;
  // Called when the operation's state in persistent registers may have changed.
  virtual void registers_changed(const Tell& tell) = 0;
  // Returns the reason why recovery must reject the surviving state, such as a line that doesn't
  // match its metadata; empty if there is none. Called only at crashes, because the state may be
  // inconsistent between the writes of one step. A line whose accepted write was dropped is no
  // reason, although its metadata are newer than its data: the sender doesn't read the line.
  virtual std::string problem() const { return {}; }
};

// The decoders of several operations, which undo the effect of the last operation first.
class DecoderChain final : public ImageDecoder {
 public:
  using Decoders = std::vector<std::unique_ptr<ImageDecoder>>;

  // `decoders`: in the order of the operations.
  explicit DecoderChain(Decoders decoders) : decoders_(std::move(decoders)) {}

  void begin(const Image& device) override {
    for (const auto& decoder : decoders_) decoder->begin(device);
  }
  void changed(Line place, const LineData& data, const Tell& tell) override {
    pass(decoders_.size(), place, data, tell);
  }
  void registers_changed(const Tell& tell) override {
    for (std::size_t i = decoders_.size(); i > 0; --i) {
      decoders_[i - 1]->registers_changed(
          [&](Line line, const LineData& data) { pass(i - 1, line, data, tell); });
    }
  }
  std::string problem() const override {
    return sentences(decoders_.size(), [this](std::size_t i) { return decoders_[i]->problem(); });
  }

 private:
  // Passes a line through the first `count` decoders.
  void pass(std::size_t count, Line line, const LineData& data, const Tell& tell) {
    if (count == 0) return tell(line, data);
    decoders_[count - 1]->changed(line, data, [&](Line inner, const LineData& decoded) {
      pass(count - 1, inner, decoded, tell);
    });
  }

  const Decoders decoders_;
};

}  // namespace pmemsim
