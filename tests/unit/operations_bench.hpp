// A test bench for operations of the backend. It measures how long writes and reads take. At every
// crash point, it checks that the surviving image is decoded to the accepted data.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory_bench.hpp"
#include "pmemsim/common/mix.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/prediction.hpp"

namespace pmemsim {

// Zero, a word that is repeated, words near each other, or bytes at random.
inline LineData some_data(std::uint64_t number) {
  LineData data{};
  std::uint64_t word = mix(number);
  for (std::size_t at = 0; at < kLineBytes && number % 4 > 0; at += sizeof word) {
    std::memcpy(data.data() + at, &word, sizeof word);
    if (number % 4 == 2) word += number % 100;
    if (number % 4 == 3) word = mix(word);
  }
  return data;
}

class OperationsBench : public MemoryBench, public PersistenceObserver, public PredictionObserver {
 public:
  template <class... Operation>
  explicit OperationsBench(std::unique_ptr<Operation>... operations) : MemoryBench(roomy()) {
    BackendParts::Operations all;
    (all.push_back(std::move(operations)), ...);
    BackendParts parts(std::move(all));
    parts.add_shared({}, {}, 1);
    backend = std::make_unique<Backend>(queue, memory, std::move(parts), ns(0));
    backend->predictions().configure({.entries = 1}, *this);
    decoder_ = backend->parts().decoder();
    memory.observe(this);
  }
  static MemoryParameters roomy() {
    MemoryParameters parameters = simple_memory();
    parameters.wpq_entries = 16;
    return parameters;
  }

  // Writes that could be dropped have owners of their own: otherwise they merge.
  WriteId send(Line line, const LineData& data, bool merges = true) {
    const std::uint64_t number = sent_.size();
    sent_.push_back(
        {line, data,
         backend->write({.line = line,
                         .owner = merges ? 0 : number + 1,
                         .data = data,
                         .persisted = completion<&OperationsBench::done>(*this, number),
                         .written = {},
                         .persisting = completion<&OperationsBench::accept>(*this, number)})});
    return sent_.back().id;
  }
  // Writes, waits until the write is done, and returns the time that it has taken.
  Picoseconds write(Line line, const LineData& data) {
    const Time before = queue.now();
    const std::size_t number = sent_.size();
    send(line, data);
    while (done_at_.count(number) == 0) {
      if (!queue.step()) ADD_FAILURE() << "nothing happens any more";
    }
    return done_at_[number] - before;
  }
  Picoseconds read(Line line) {
    const Time before = queue.now();
    bool read = false;
    backend->read(line, {[](void* flag, std::uint64_t, Time) { *static_cast<bool*>(flag) = true; },
                         &read, 0});
    while (!read) {
      if (!queue.step()) ADD_FAILURE() << "nothing happens any more";
    }
    return queue.now() - before;
  }
  // Looks up metadata of the data, so that they are cached afterwards.
  void look_up(const LineData& data) {
    const PreparedId id =
        backend->predictions().prepare({.core = 0, .number = 0, .data = data, .bytes = kWholeLine});
    settle();
    backend->predictions().discard(id);
  }
  // Drops one of the last eight writes, in runs whose writes don't merge.
  void drop_some(std::mt19937_64& random) {
    const Sent& sent = sent_[sent_.size() - 1 - random() % std::min<std::size_t>(sent_.size(), 8)];
    dropping_ = true;
    if (backend->drop(sent.id)) {
      const auto number = static_cast<std::uint64_t>(&sent - sent_.data());
      std::erase_if(accepted_[sent.line], [&](std::uint64_t other) { return other == number; });
    }
    dropping_ = false;
    check();
  }
  void settle() {
    Time before{};
    do {
      before = queue.now();
      drain();
    } while (queue.now() > before);
  }
  double statistic(const std::string& name) const {
    StatisticsCollector collector;
    backend->statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == name) return found.value;
    }
    ADD_FAILURE() << "there is no statistic " << name;
    return 0;
  }

  // Executes random writes, and drops if requested, on this number of lines, until there is a
  // problem.
  void write_at_random(std::uint64_t seed, int writes, std::uint64_t lines, bool drops) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < writes && problem.empty(); ++i) {
      send({random() % lines}, some_data(random() % 256), !drops);
      if (drops && random() % 4 == 0) drop_some(random);
      if (random() % 16 == 0) settle();
      if (random() % 2 == 0) {
        run_until(queue.now() + Picoseconds{static_cast<std::int64_t>(random() % 400'000)});
      }
    }
    settle();
    check();
    EXPECT_EQ(backend->pending(), "");
    EXPECT_TRUE(memory.idle());
  }

  // ---- Surviving data

  void persisted(const Write& write, PersistencePoint, Time) override {
    follow(write.line, write.data);
    check();
  }
  void persisted_with_next(const Write& write) override { follow(write.line, write.data); }
  void dropped(const Write& write, Time) override {
    follow(write.line, memory.surviving(write.line));
  }
  void survivors_changed(Time) override {
    registers_changed();
    check();
  }
  LineData survived(Line line) const {
    const auto found = image_.find(line);
    return found == image_.end() ? LineData{} : found->second;
  }

  std::unique_ptr<Backend> backend;
  std::string problem;  // the first one
  std::uint64_t crashes = 0;

 private:
  struct Sent {
    Line line;
    LineData data;
    WriteId id;
  };

  void done(std::uint64_t number, Time now) { done_at_[number] = now; }
  void accept(std::uint64_t number, Time) {
    accepting_.emplace_back(number);  // send() may not be through yet
  }
  void registers_changed() {
    if (decoder_ == nullptr) return;
    decoder_->registers_changed([this](Line line, const LineData& data) { image_[line] = data; });
  }
  void follow(Line place, const LineData& data) {
    registers_changed();
    if (decoder_ == nullptr) {
      image_[place] = data;
    } else {
      decoder_->changed(place, data,
                        [this](Line line, const LineData& read) { image_[line] = read; });
    }
  }
  void check() {
    if (dropping_ || !problem.empty()) return;
    for (; !accepting_.empty() && accepting_.front() < sent_.size();
         accepting_.erase(accepting_.begin())) {
      accepted_[sent_[accepting_.front()].line].push_back(accepting_.front());
    }
    if (!accepting_.empty()) return;  // checked with the next point
    ++crashes;
    problem = decoder_ == nullptr ? "" : decoder_->problem();
    for (const auto& [line, writes] : accepted_) {
      if (!problem.empty()) return;
      const LineData expected = writes.empty() ? LineData{} : sent_[writes.back()].data;
      if (backend->surviving(line) != expected) problem = "a line isn't what was accepted";
      if (survived(line) != expected) problem = "a crash loses a line";
    }
  }

  std::unique_ptr<ImageDecoder> decoder_;
  std::vector<Sent> sent_;
  std::map<std::uint64_t, Time> done_at_;
  std::vector<std::uint64_t> accepting_;
  std::map<Line, std::vector<std::uint64_t>> accepted_;  // writes that haven't been dropped
  std::map<Line, LineData> image_;
  bool dropping_ = false;
};

}  // namespace pmemsim
