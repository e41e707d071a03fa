// What a program would read in an image that a crash has left, where the device doesn't hold it as
// it was written: it is encrypted, stands elsewhere, ...
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/sentences.hpp"

namespace pmemsim {

// Follows the changes of what would survive, so that a crash costs what has changed since the one
// before, not what there is.
class ImageDecoder {
 public:
  // A line reads so from now on.
  using Tell = std::function<void(Line, const LineData&)>;

  virtual ~ImageDecoder() = default;
  // Before all changes: what the device holds when the run begins, as Backend::format() has left
  // it.
  virtual void begin(const Image& /*device*/) {}
  // The device, or a queue that survives, holds that now.
  virtual void changed(Line place, const LineData& data, const Tell& tell) = 0;
  // What the operation keeps in persistent registers may have changed.
  virtual void registers_changed(const Tell& tell) = 0;
  // Empty if what survives now can be read; otherwise why it can't be: a line doesn't fit its
  // metadata, ... Asked at crashes only, for between the writes of one step it may well be so.
  // Recovery gives up then. A line whose accepted write was dropped is no reason: who drops it
  // doesn't read it any more, and only its data are as they were.
  virtual std::string problem() const { return {}; }
};

// Of several operations: what the last one has made of a write is undone first.
class DecoderChain final : public ImageDecoder {
 public:
  using Decoders = std::vector<std::unique_ptr<ImageDecoder>>;

  // In the order of the operations.
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
  // Through the first so many.
  void pass(std::size_t count, Line line, const LineData& data, const Tell& tell) {
    if (count == 0) return tell(line, data);
    decoders_[count - 1]->changed(line, data, [&](Line inner, const LineData& decoded) {
      pass(count - 1, inner, decoded, tell);
    });
  }

  const Decoders decoders_;
};

}  // namespace pmemsim
