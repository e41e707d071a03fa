// Somebody who judges images, several at once, and may tell what of them he has read.
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

  // `changed`: where the image may differ from the one shown before. `watched`: what is read of it
  // is to be told.
  virtual void show(const Image& image, std::span<const Line> changed, bool watched) = 0;
  // Until all that were shown are judged.
  virtual void finish() = 0;
  virtual bool rejects() const = 0;
  // By its number from 0 in the order in which they were shown.
  virtual std::optional<std::uint64_t> first_rejected() const = 0;
  // Of accepted ones, by the same number: pages.
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
