// An image whose lines are sealed, as recovery reads it: with the keys and the persistent register
// of the tree's roots, and nothing else.
//
//   1  A line's entry is looked up in the image: where its data are, and their MAC, which must be
//   that
//      of what is there; otherwise the line can't be read. A crash leaves such a line only where
//      its data have been dropped, or where a write didn't take its entry along.
//      No place may have had two contents with one counter: whoever has seen both has their XOR.
//   2  The tree is built of all lines of entries anew. If a root isn't the register's, somebody has
//      changed entries, and nothing of the image is believed.
#pragma once

#include <map>
#include <set>

#include "pmemsim/backend/image_decoder.hpp"
#include "pmemsim/backend/line_entries.hpp"

namespace pmemsim {

// What a line holds that can't be read.
LineData unreadable_line();

class SealedImage final : public ImageDecoder {
 public:
  SealedImage(const EntryLayout& layout, const Seals& seals);

  void changed(Line place, const LineData& data, const Tell& tell) override;
  void registers_changed(const Tell&) override {}
  std::string problem() const override;
  // Lines whose MAC isn't that of what they hold.
  std::uint64_t unreadable() const { return unreadable_.size(); }

 private:
  void entries_changed(Line place, const LineData& before, const LineData& data, const Tell& tell);
  void map(Line line, Line from, Line to);
  LineData read(Line line);
  void note_pad(const Seal& entry, const LineData& sealed);

  const EntryLayout layout_;
  const Seals seals_;
  Image device_;
  mutable MerkleTree tree_;
  std::set<Line> unreadable_;
  std::map<std::pair<Line, std::uint64_t>, LineData> sealed_;  // by place and counter
  bool pad_used_twice_ = false;
  std::map<Line, std::set<Line>>
      mapped_;  // by place: lines of other addresses whose data are there
};

}  // namespace pmemsim
