// Decoder of an image whose lines are sealed. It uses only the keys and the persistent register
// of the tree's roots, as recovery does.
//
//   1  A line's entry in the image has the location of its data, and their MAC. If the MAC doesn't
//      match the contents of that location, the line can't be read. A crash leaves such a line only
//      where its data have been dropped, or where a write was accepted without its entry. No
//      location may have had two contents with one counter: an attacker who has seen both knows the
//      XOR of their plaintexts.
//   2  The tree is rebuilt from all lines of entries. If a root isn't the register's, an attacker
//      has changed entries, and the whole image is rejected. If nodes are persistent with what is
//      below them, those in PM are checked, too. They must equal the nodes of the rebuilt tree, so
//      that verifying a line by its path alone yields the same result.
//   3  The lines that refer to a location follow from the entries alone. An operation's volatile
//      tables of locations are compared with these references. Only locations that have changed in
//      the image or in the tables since the last comparison are checked, so that the cost of a
//      crash depends on the changes. While entries in PM are older than the tables (recovery will
//      restore their data), nothing is compared, and the changed locations are checked later.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/merkle_tree.hpp"

namespace pmemsim {

class PlacementTables;

// Returns the contents that represent a line that can't be read.
LineData unreadable_line();

// The keys and registers that an image is decoded with; nullptr where it isn't sealed that way.
struct ImageKeys {
  const LineCipher* cipher = nullptr;
  const LineHash* authenticator = nullptr;
  bool macs_have_address = true;
  std::uint32_t tree_levels = 1;
  std::function<const MerkleTree::Roots&()> roots{};  // returns the roots in their register
  bool nodes_persisted = false;
  PlacementTables* placements = nullptr;
  std::function<bool()> entries_behind{};  // true if PM has data without their entries
};

class SealedImage final : public ImageDecoder {
 public:
  SealedImage(const EntryLayout& layout, ImageKeys keys);

  void begin(const Image& device) override;
  void changed(Line place, const LineData& data, const Tell& tell) override;
  void registers_changed(const Tell&) override {}
  std::string problem() const override;
  // Returns the lines whose MAC isn't the MAC of their contents.
  const std::set<Line>& unreadable() const { return unreadable_; }

  // Returns the number of lines whose data are at another line's place.
  std::uint64_t duplicated_lines() const;

  // Returns the place of the line's data, by its entry.
  Line place(Line line) const { return entry(line).place; }
  bool has_entry(Line line) const { return entry(line).counter != 0; }
  // Returns the number of lines that have an entry, and their data at that place.
  std::uint64_t references(Line place) const;
  // Returns one of these lines whose data can be read, and the data.
  std::optional<std::pair<Line, LineData>> read_at(Line place) const;

 private:
  void entries_changed(Line place, const LineData& before, const LineData& data, const Tell& tell);
  void map(Line line, Line from, Line to);
  Seal entry(Line line) const { return layout_.get(device_.read(layout_.line_of(line)), line); }
  LineData read(Line line);
  std::optional<LineData> open(const Seal& entry) const;
  bool is_at_home(Line place) const;
  void note_pad(const Seal& entry);
  void note_initial_seal(Line place, const LineData& before);
  void note_nodes(std::uint64_t leaf);
  std::string problem_of_nodes() const;
  std::string problem_of_places() const;

  const EntryLayout layout_;
  const ImageKeys keys_;
  Image device_;
  mutable MerkleTree tree_;
  std::set<Line> unreadable_;
  std::map<std::pair<Line, std::uint64_t>, LineData> sealed_;  // contents of each place and counter
  bool pad_used_twice_ = false;
  bool was_initialised_ = false;  // begin() was called: lines may have initial seals
  mutable std::set<Line> nodes_to_compare_;
  std::map<Line, std::set<Line>> mapped_;  // lines at another's place, by place
  mutable std::set<Line> to_compare_;      // places to compare with the PlacementTables
};

}  // namespace pmemsim
