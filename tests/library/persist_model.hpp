// A model of volatile caches in front of PM, linked in place of library/persist.c.
//
// Data that were flushed before a fence are durable. Any other stored line, and even any word of
// it, may or may not have reached PM. At flushes and fences the model can pass random crash images
// of this kind to the test.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

inline constexpr std::uint64_t kPageBytes = 4096;
using Page = std::array<unsigned char, kPageBytes>;

// A pool's pages in order; a page of zeros is null. Images share equal pages.
using Image = std::vector<std::shared_ptr<const Page>>;

// Makes a pool's file of an image; false if that fails.
bool write_image(const std::string& path, const Image& image, std::uint64_t bytes);

class PersistModel {
 public:
  // Watches a pool that is about to be opened with these contents.
  void watch(unsigned char* start, std::uint64_t bytes, const Image& contents);
  void stop();

  // `sink` gets `images_per_event` crash images at every `period`-th fence on average, and at every
  // 32nd as many flushes: one that lost everything that isn't certain, one that lost nothing, and
  // random ones.
  void sample(std::function<void(Image)> sink, unsigned images_per_event, unsigned period,
              unsigned seed);

  // Injects a fault: fences don't make the lines in this range durable.
  void break_fences(std::uint64_t begin, std::uint64_t end);

  void flush(const unsigned char* line, std::uint64_t lines);
  void fence();

  std::uint64_t fences() const { return fences_; }

 private:
  enum class Survives { kNothing, kEverything, kRandom };

  bool sampled(unsigned period);
  void take_images();
  Image crash(Survives survives, const std::vector<std::uint64_t>& uncertain);

  unsigned char* start_ = nullptr;
  std::uint64_t bytes_ = 0;
  Image durable_;
  std::function<void(Image)> sink_;
  unsigned images_per_event_ = 0, period_ = 1;
  std::uint64_t broken_begin_ = 0, broken_end_ = 0;
  std::mt19937_64 random_;
  std::uint64_t fences_ = 0;
};

// Returns the model that the library under test uses.
PersistModel& persist_model();
