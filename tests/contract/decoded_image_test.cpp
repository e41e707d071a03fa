// Crash runs read the image change by change. `pmemsim decode` reads it at once, with a file of the
// device and the surviving registers. Both read the same contents at every crash.
#include "pmemsim/designs/backend/decoded_image.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"
#include "pmemsim/machine/memory/memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "long_tests.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "shared_regions.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kMetadata = kLineBytes << 53;  // below it are programs' lines

// Follows a run as the crash engine does, and decodes every so many points' image from nothing.
class Follower final : public PersistenceObserver {
 public:
  Follower(const Machine& machine, std::uint64_t every)
      : machine_(machine), decoder_(machine.design().backend().parts().decoder()), every_(every) {
    decoder_->begin(machine.pm().device());
    machine.pm().device().for_each_page([&](std::uint64_t address, const std::byte* page) {
      device_.write(address, page, Image::kPageBytes);
    });
    machine.pm_space().newest().for_each_page([&](std::uint64_t address, const std::byte* page) {
      plain_.write(address, page, Image::kPageBytes);
    });
  }

  void persisted(const Write& write, PersistencePoint, Time) override {
    update(write);
    point();
  }
  void persisted_with_next(const Write& write) override { update(write); }
  void dropped(const Write& write, Time) override {
    ++drops;
    follow(write.line, machine_.pm().surviving(write.line));
    point();
  }
  void survivors_changed(Time) override {
    decoder_->registers_changed(tell());
    point();
  }

  std::uint64_t points = 0, compared = 0, drops = 0;
  std::uint64_t unreadable = 0, duplicated_lines = 0, corrected = 0, compressed = 0, moved = 0,
                nodes = 0;
  std::string problem;

 private:
  ImageDecoder::Tell tell() {
    return [this](Line line, const LineData& data) { plain_.write(line, data); };
  }
  void update(const Write& write) {
    LineData data = device_.read(write.line);
    take_bytes(data, write.data, write.bytes);
    follow(write.line, data);
  }
  void follow(Line place, const LineData& data) {
    decoder_->registers_changed(tell());
    device_.write(place, data);
    decoder_->changed(place, data, tell());
  }

  void point() {
    ++points;
    if (!problem.empty()) return;
    problem = decoder_->problem();
    if (points % every_ == 0 && problem.empty()) compare();
  }
  void compare() {
    ++compared;
    DeviceImage device = device_image(device_);
    machine_.design().backend().parts().add_spare_bits(device);
    const SurvivingRegisters registers = machine_.design().backend().parts().registers();
    const DecodedImage decoded = decode(through_a_file(device), registers);
    problem = decoded.problem;
    note_what_there_was(device, registers, decoded);
    compare_pages(decoded.plain, plain_, decoded.plain);
    compare_pages(decoded.plain, plain_, plain_);
  }
  // Compares the pages of `pages`, which one of the two images has.
  void compare_pages(const Image& one, const Image& other, const Image& pages) {
    pages.for_each_page([&](std::uint64_t address, const std::byte*) {
      if (address >= kMetadata) return;
      for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
        const Line line = Line::of(address + at);
        if (one.read(line) == other.read(line)) continue;
        problem = "line " + std::to_string(line.number) + " is another";
      }
    });
  }
  static DeviceImage through_a_file(const DeviceImage& device) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("pmemsim-device-" + std::to_string(getpid()) + ".image");
    write_device_image(device, path.string());
    DeviceImage read = read_device_image(path.string());
    std::filesystem::remove(path);
    EXPECT_EQ(read, device);
    return read;
  }
  // Counts lines that need decoding, so that a comparison of trivial images is noticed.
  void note_what_there_was(const DeviceImage& device, const SurvivingRegisters& registers,
                           const DecodedImage& decoded) {
    unreadable += decoded.unreadable.size();
    duplicated_lines += decoded.duplicated_lines;
    corrected += decoded.corrected;
    for (const auto& [place, line] : device) {
      compressed += line.compressed;
      nodes += is_node(place);
    }
    if (registers.levelling) {
      for (const auto& [_, region] : registers.levelling->regions) {
        moved += region.start() > 0 || region.gap() < registers.levelling->region_lines;
      }
    }
  }

  const Machine& machine_;
  const std::unique_ptr<ImageDecoder> decoder_;
  const std::uint64_t every_;
  Image device_, plain_;
};

struct Backends {
  std::string_view operations;
  std::uint64_t Follower::* something;  // that there must have been
  std::string_view metadata_atomicity = "write-through";
  std::string_view persist_nodes = "leaves";
};

class DecodedImages : public testing::TestWithParam<Backends> {};
INSTANTIATE_TEST_SUITE_P(
    Backends, DecodedImages,
    testing::Values(Backends{"encryption,integrity", &Follower::unreadable},
                    Backends{"deduplication", &Follower::duplicated_lines},
                    Backends{"deduplication,encryption", &Follower::duplicated_lines},
                    Backends{"encryption,integrity,error-correction", &Follower::corrected},
                    Backends{"deduplication,encryption,integrity", &Follower::duplicated_lines},
                    Backends{"wear-leveling", &Follower::moved},
                    Backends{"compression,error-correction", &Follower::compressed},
                    Backends{"deduplication,encryption,integrity,wear-leveling", &Follower::moved},
                    Backends{"compression,deduplication,encryption,integrity,"
                             "error-correction,wear-leveling",
                             &Follower::compressed},
                    Backends{"encryption,integrity", &Follower::unreadable, "selective"},
                    Backends{"deduplication,encryption,integrity", &Follower::unreadable,
                             "selective"},
                    Backends{"encryption,integrity", &Follower::nodes, "write-through", "all"},
                    Backends{"deduplication,encryption,integrity,wear-leveling", &Follower::moved,
                             "selective", "all"}));

std::vector<Setting> settings_of(std::string_view atomicity, const Backends& backends) {
  const std::string_view operations = backends.operations;
  const bool nodes = backends.persist_nodes == "all";
  std::vector<KeyValue> more{{"ordering", "x86"},
                             {"atomicity", atomicity},
                             {"core.count", "3"},
                             {"l1.size", "256B"},
                             {"l1.ways", "2"},
                             {"l2.size", "0B"},
                             {"shared.size", "16KiB"},
                             {"shared.size_per_core", "0B"},
                             {"shared.ways", "2"},
                             {"pm.controllers", "2"},
                             {"pm.wpq_entries", nodes ? "12" : "8"},
                             {"log.ring_size", "8KiB"},
                             {"backend", operations}};
  const auto has = [&](std::string_view name) {
    return operations.find(name) != std::string_view::npos;
  };
  if (has("encryption")) {
    more.emplace_back("backend.metadata_atomicity", backends.metadata_atomicity);
  }
  if (has("integrity")) more.emplace_back("integrity.persist_nodes", backends.persist_nodes);
  if (has("error-correction")) more.emplace_back("error_correction.flipped_bits", "1");
  if (has("wear-leveling")) {
    more.emplace_back("wear_leveling.region_lines", "8");
    more.emplace_back("wear_leveling.writes_per_move", "3");
  }
  return settings(more);
}

// Designs that drop accepted writes, and designs that don't.
constexpr std::array<std::string_view, 5> kAtomicities{"none", "asap", "hw-redo", "hw-undo", "lad"};

TEST_P(DecodedImages, FullDecodingEqualsIncrementalDecoding) {
  const std::uint64_t every = amount(8u, 6u, 2u);
  std::uint64_t compared = 0, something = 0;
  for (const std::string_view atomicity : kAtomicities) {
    SharedRegions program(
        {.seed = 1, .threads = 3, .regions = 40, .lines_per_lock = 6, .values = 3});
    const TemporaryTrace temporary(program.builder);
    const trace::TraceFile file(temporary.path());
    Machine machine(configure(settings_of(atomicity, GetParam())), file);
    machine.format();
    Follower follower(machine, every);
    machine.observe(&follower);
    ASSERT_TRUE(machine.run({}));
    EXPECT_EQ(follower.problem, "") << atomicity << ", point " << follower.points;
    compared += follower.compared;
    something += follower.*GetParam().something;
  }
  EXPECT_GT(compared, 2000 / every);
  EXPECT_GT(something, 0u);
}

}  // namespace
}  // namespace pmemsim
