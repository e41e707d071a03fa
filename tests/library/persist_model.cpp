#include "persist_model.hpp"

#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <mutex>
#include <utility>

extern "C" {
#include "persist.h"
}

namespace {

constexpr std::uint64_t kLine = 64;

std::mutex mutex;  // fences of one thread must not pass while another takes an image

// Flushed by this thread, and not yet fenced: offset and contents at the time of the flush.
struct Flushed {
  std::uint64_t offset;
  std::array<unsigned char, kLine> contents;
};
thread_local std::vector<Flushed> in_flight;

const Page kZeros{};

const Page& contents(const std::shared_ptr<const Page>& page) { return page ? *page : kZeros; }

// Reads whole 8-byte words, as the hardware would, because another thread may be storing to the
// line.
void read_line(unsigned char* to, const unsigned char* line) {
  for (std::uint64_t at = 0; at < kLine; at += 8) {
    const std::uint64_t word =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(line + at), __ATOMIC_RELAXED);
    std::memcpy(to + at, &word, 8);
  }
}

}  // namespace

bool write_image(const std::string& path, const Image& image, std::uint64_t bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (std::uint64_t page = 0; page < image.size(); ++page) {
    if (!image[page]) continue;
    file.seekp(static_cast<std::streamoff>(page * kPageBytes));
    file.write(reinterpret_cast<const char*>(image[page]->data()), kPageBytes);
  }
  file.close();
  return file.good() && truncate(path.c_str(), static_cast<off_t>(bytes)) == 0;
}

void PersistModel::watch(unsigned char* start, std::uint64_t bytes, const Image& contents) {
  start_ = start;
  bytes_ = bytes;
  durable_ = contents;
  durable_.resize(bytes / kPageBytes);
  in_flight.clear();
}

void PersistModel::stop() {
  start_ = nullptr;
  sink_ = nullptr;
  broken_begin_ = broken_end_ = 0;
}

void PersistModel::sample(std::function<void(Image)> sink, unsigned images_per_event,
                          unsigned period, unsigned seed) {
  sink_ = std::move(sink);
  images_per_event_ = images_per_event;
  period_ = period;
  random_.seed(seed);
}

void PersistModel::break_fences(std::uint64_t begin, std::uint64_t end) {
  broken_begin_ = begin;
  broken_end_ = end;
}

bool PersistModel::sampled(unsigned period) { return sink_ && random_() % period == 0; }

// `uncertain` lists the pages that memory and PM may differ in.
Image PersistModel::crash(Survives survives, const std::vector<std::uint64_t>& uncertain) {
  Image image = durable_;
  if (survives == Survives::kNothing) return image;
  for (const std::uint64_t page : uncertain) {
    auto mixed = std::make_shared<Page>(contents(durable_[page]));
    for (std::uint64_t at = 0; at < kPageBytes; at += kLine) {
      std::array<unsigned char, kLine> now;
      read_line(now.data(), start_ + page * kPageBytes + at);
      const unsigned choice = survives == Survives::kEverything ? 1 : random_() % 3;
      for (std::uint64_t word = 0; word < kLine && choice != 0; word += 8)
        if (choice == 1 || random_() % 2)
          std::memcpy(mixed->data() + at + word, now.data() + word, 8);
    }
    image[page] = std::move(mixed);
  }
  return image;
}

void PersistModel::take_images() {
  std::vector<std::uint64_t> uncertain;
  for (std::uint64_t page = 0; page < durable_.size(); ++page)
    if (std::memcmp(start_ + page * kPageBytes, contents(durable_[page]).data(), kPageBytes) != 0)
      uncertain.push_back(page);
  for (unsigned i = 0; i < images_per_event_; ++i)
    sink_(crash(i == 0   ? Survives::kNothing
                : i == 1 ? Survives::kEverything
                         : Survives::kRandom,
                uncertain));
}

void PersistModel::flush(const unsigned char* line, std::uint64_t lines) {
  const std::lock_guard lock(mutex);
  if (!start_ || line < start_ || line >= start_ + bytes_) return;
  if (sampled(32 * period_)) take_images();
  for (; lines > 0; --lines, line += kLine) {
    Flushed flushed{static_cast<std::uint64_t>(line - start_), {}};
    read_line(flushed.contents.data(), line);
    in_flight.push_back(flushed);
  }
}

void PersistModel::fence() {
  const std::lock_guard lock(mutex);
  ++fences_;
  if (!start_) return;
  if (sampled(period_)) take_images();
  for (const Flushed& flushed : in_flight) {
    if (flushed.offset >= broken_begin_ && flushed.offset < broken_end_) continue;
    std::shared_ptr<const Page>& page = durable_[flushed.offset / kPageBytes];
    auto changed = std::make_shared<Page>(contents(page));
    std::memcpy(changed->data() + flushed.offset % kPageBytes, flushed.contents.data(), kLine);
    page = std::move(changed);
  }
  in_flight.clear();
}

PersistModel& persist_model() {
  static PersistModel model;
  return model;
}

extern "C" void persist_flush(const void* address, std::size_t lines) {
  persist_model().flush(reinterpret_cast<const unsigned char*>(
                            reinterpret_cast<std::uintptr_t>(address) / kLine * kLine),
                        lines);
}

extern "C" void persist_fence(fence_meaning meaning) {
  mark(MARK_NEXT_FENCE, meaning, 0);
  persist_model().fence();
}
