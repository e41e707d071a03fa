// An image whose lines are sealed, as recovery reads it: with the keys and the persistent register
// of the tree's roots, and nothing else.
//
//   1  A line's entry is looked up in the image: where its data are, and their MAC, which must be
//      that of what is there; otherwise the line can't be read. A crash leaves such a line only
//      where its data have been dropped, or where a write didn't take its entry along. No place may
//      have had two contents with one counter: whoever has seen both has their XOR.
//   2  The tree is built of all lines of entries anew. If a root isn't the register's, somebody has
//      changed entries, and nothing of the image is believed. Its nodes in PM are looked at if
//      each is persistent with what is below it: they must be those of this tree, so that who
//      verifies a line by its path alone believes what is here believed.
//   3  Which lines refer to a place follows from the entries alone. What somebody keeps of that in
//      volatile tables is held against it, at the places that either has changed since the last
//      time, so that a crash costs what has changed. While entries in PM are behind the tables, as
//      recovery will put them back, there is nothing to compare; what has changed is kept for
//      later.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/merkle_tree.hpp"

namespace pmemsim {

class PlaceKeeper;

// What a line holds that can't be read.
LineData unreadable_line();

// What an image is opened with; nullptr where it isn't sealed so.
struct ImageKeys {
  const LineCipher* cipher = nullptr;
  const LineHash* authenticator = nullptr;
  bool macs_have_address = true;
  std::uint32_t tree_levels = 1;
  std::function<const MerkleTree::Roots&()> roots{};  // what their register holds
  bool nodes_persisted = false;
  PlaceKeeper* keeper = nullptr;
  std::function<bool()> entries_behind{};  // lines' data are in PM, and their entries aren't
};

class SealedImage final : public ImageDecoder {
 public:
  SealedImage(const EntryLayout& layout, ImageKeys keys);

  void begin(const Image& device) override;
  void changed(Line place, const LineData& data, const Tell& tell) override;
  void registers_changed(const Tell&) override {}
  std::string problem() const override;
  // Lines whose MAC isn't that of what they hold.
  const std::set<Line>& unreadable() const { return unreadable_; }

  // Lines whose data are at another's place.
  std::uint64_t elsewhere() const;

  // By its entry.
  Line place(Line line) const { return entry(line).place; }
  bool has_entry(Line line) const { return entry(line).counter != 0; }
  // Lines that have an entry, and their data there.
  std::uint64_t references(Line place) const;
  // A line of these whose data can be read, and the data.
  std::optional<std::pair<Line, LineData>> read_at(Line place) const;

 private:
  void entries_changed(Line place, const LineData& before, const LineData& data, const Tell& tell);
  void map(Line line, Line from, Line to);
  Seal entry(Line line) const { return layout_.get(device_.read(layout_.line_of(line)), line); }
  LineData read(Line line);
  std::optional<LineData> open(const Seal& entry) const;
  bool is_at_home(Line place) const;
  void note_pad(const Seal& entry);
  void note_format(Line place, const LineData& before);
  void note_nodes(std::uint64_t leaf);
  std::string problem_of_nodes() const;
  std::string problem_of_places() const;

  const EntryLayout layout_;
  const ImageKeys keys_;
  Image device_;
  mutable MerkleTree tree_;
  std::set<Line> unreadable_;
  std::map<std::pair<Line, std::uint64_t>, LineData> sealed_;  // by place and counter
  bool pad_used_twice_ = false;
  bool formatted_ = false;  // lines were there before
  mutable std::set<Line> nodes_to_compare_;
  std::map<Line, std::set<Line>>
      mapped_;                         // by place: lines of other addresses whose data are there
  mutable std::set<Line> to_compare_;  // places, with who keeps tables of them
};

}  // namespace pmemsim
