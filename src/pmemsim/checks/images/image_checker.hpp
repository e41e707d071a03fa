// A checker of images. It may check several at once, and may report the pages that it has read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pmemsim/checks/checkers/checker_pool.hpp"

namespace pmemsim {

class ImageChecker {
 public:
  virtual ~ImageChecker() = default;

  // Shows the image. `changed`: lines in which it may differ from the image shown before.
  // `watched`: the checker's reads are to be reported.
  virtual void show(const Image& image, std::span<const Line> changed, bool watched) = 0;
  // Waits until all shown images are checked.
  virtual void finish() = 0;
  virtual bool rejects() const = 0;
  // Returns the number of the first rejected image, counted from 0 in the order of show().
  virtual std::optional<std::uint64_t> first_rejected() const = 0;
  // Returns the pages that were read of each accepted image, by the number as in first_rejected().
  virtual std::map<std::uint64_t, std::vector<std::uint64_t>> take_reads() = 0;
};

class PoolOfCheckers : public ImageChecker {
 public:
  PoolOfCheckers(CheckerPool& pool, CheckerProcess::KeepGoing keep_going)
      : pool_(pool), keep_going_(std::move(keep_going)) {}

  void show(const Image& image, std::span<const Line> changed, bool watched) override {
    pool_.show(image, changed, keep_going_, watched);
  }
  void finish() override { pool_.finish(keep_going_); }
  bool rejects() const override { return !pool_.rejected().empty(); }
  std::optional<std::uint64_t> first_rejected() const override {
    if (!rejects()) return std::nullopt;
    return pool_.rejected().begin()->first;
  }
  std::map<std::uint64_t, std::vector<std::uint64_t>> take_reads() override {
    return pool_.take_pages_read();
  }

 private:
  CheckerPool& pool_;
  const CheckerProcess::KeepGoing keep_going_;
};

}  // namespace pmemsim
