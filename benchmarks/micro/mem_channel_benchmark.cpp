// Requests per second of host time that one channel handles.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "pmemsim/core/event_queue.hpp"
#include "pmemsim/mem/memory.hpp"
#include "pmemsim/mem/memory_parameters.hpp"

namespace pmemsim {
namespace {

struct Request {
  Line line;
  bool write;
};

// `local` percent of the requests follow the one before, the rest go anywhere in 64 MiB.
std::vector<Request> traffic(int writes_percent, int local_percent) {
  std::mt19937_64 random(42);
  std::vector<Request> requests(1 << 16);
  std::uint64_t line = 0;
  for (Request& request : requests) {
    const bool local = random() % 100 < static_cast<std::uint64_t>(local_percent);
    line = local ? line + 1 : random() % (1 << 20);
    request = {{line}, random() % 100 < static_cast<std::uint64_t>(writes_percent)};
  }
  return requests;
}

// Keeps so many requests under way, as a core's misses would.
class Sender {
 public:
  Sender(const MemoryParameters& parameters, const std::vector<Request>& requests)
      : memory_(queue_, parameters), requests_(requests) {}

  void start(int outstanding) {
    for (int i = 0; i < outstanding; ++i) send();
  }
  void run(std::uint64_t answers) {
    for (answers += answers_; answers_ < answers;) queue_.step();
  }

 private:
  void send() {
    const Request& request = requests_[next_++ % requests_.size()];
    const Completion done = completion<&Sender::answered>(*this);
    if (request.write) {
      memory_.write({request.line, WriteKind::kData, 0, {}, done, {}});
    } else {
      memory_.read(request.line, done);
    }
  }
  void answered(std::uint64_t, Picoseconds) {
    ++answers_;
    send();
  }

  EventQueue queue_;
  Memory memory_;
  const std::vector<Request>& requests_;
  std::size_t next_ = 0;
  std::uint64_t answers_ = 0;
};

void channel(benchmark::State& state, DeviceKind device) {
  MemoryParameters parameters;
  parameters.device = device;
  const auto requests = traffic(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  Sender sender(parameters, requests);
  sender.start(static_cast<int>(state.range(2)));
  sender.run(100'000);
  constexpr std::uint64_t kBatch = 10'000;
  for (auto _ : state) sender.run(kBatch);
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"writes%", "local%", "outstanding"});
  for (const int local : {0, 50, 90}) {
    for (const int outstanding : {4, 16, 64}) benchmark->Args({33, local, outstanding});
  }
  benchmark->Args({0, 50, 16})->Args({100, 50, 16});
}

BENCHMARK_CAPTURE(channel, dram, DeviceKind::kDram)->Apply(arguments);
BENCHMARK_CAPTURE(channel, fixed, DeviceKind::kFixed)->Apply(arguments);

}  // namespace
}  // namespace pmemsim
