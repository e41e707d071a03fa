// Crash tests of hardware logs: a program whose state after every region is known, and a probe that
// crashes it at every change of the persistent state.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "unit/crash_machine.hpp"

namespace pmemsim {

using Words = std::map<std::uint64_t, std::uint64_t>;  // address, value

// One thread, whose regions write random words of random lines, flush them and fence.
class Regions {
 public:
  Regions(std::uint32_t seed, int regions, std::uint64_t lines, std::uint32_t stores)
      : random_(seed) {
    builder.pm_region(kPmBase, kPmBase + (1 << 20));
    const auto store = builder.site(trace::SiteKind::kStore, 8, 1);
    const auto clwb = detailed(trace::FlushKind::kClwb, trace::SiteKind::kFlush);
    const auto sfence = detailed(trace::FenceKind::kSfence, trace::SiteKind::kFence);
    states.push_back({});
    for (int region = 0; region < regions; ++region) {
      Words words = states.back();
      std::map<std::uint64_t, bool> touched;
      builder.mark(trace::MarkKind::kRegionBegin, 1);
      for (std::uint32_t i = 0; i < 1 + random_() % stores; ++i) {
        const std::uint64_t address = kPmBase + random_() % lines * kLineBytes + random_() % 8 * 8;
        builder.store(store, address, words[address] = random_());
        touched[address / kLineBytes] = true;
      }
      purpose(trace::Purpose::kDataFlush);
      for (const auto& [line, _] : touched) builder.access(clwb, line * kLineBytes);
      builder.plain(sfence);
      purpose(trace::Purpose::kProgram);
      builder.mark(trace::MarkKind::kRegionEnd, 1);
      states.push_back(words);
    }
  }

  trace::TraceBuilder builder;
  std::vector<Words> states;  // By number of executed regions

 private:
  template <class Detail>
  std::uint32_t detailed(Detail detail, trace::SiteKind kind) {
    return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
  }
  void purpose(trace::Purpose purpose) {
    builder.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }
  std::mt19937_64 random_;
};

struct LogPolicies {
  std::string_view allocation = "sequential", metadata = "collated-header";
};
inline void PrintTo(const LogPolicies& policies, std::ostream* out) {
  *out << policies.allocation << ", " << policies.metadata;
}
inline constexpr LogPolicies kLogPolicies[] = {
    {"sequential", "collated-header"}, {"load-aware", "collated-header"},
    {"sequential", "adr-buffered"},    {"load-aware", "adr-buffered"},
    {"sequential", "queue-buffered"},  {"load-aware", "queue-buffered"}};

// Returns the image that a crash at the current time leaves.
inline Image surviving(const Memory& pm) {
  Image image;
  pm.device().for_each_page([&](std::uint64_t address, const std::byte* page) {
    image.write(address, page, Image::kPageBytes);
  });
  pm.for_each_accepted(
      [](void* context, const Write& write) {
        static_cast<Image*>(context)->write(write.line, write.data, write.bytes);
      },
      &image);
  return image;
}

// Crashes at every change of the persistent state, recovers, and checks every word.
class CrashProbe final : public PersistenceObserver {
 public:
  // Recovers the image, and returns how many regions the design says have committed.
  using Recover = std::function<std::uint64_t(Image&)>;

  CrashProbe(const Machine& machine, const std::vector<Words>& states, Recover recover)
      : machine_(machine), states_(states), recover_(std::move(recover)) {}

  void persisted(const Write&, PersistencePoint, Time) override { crash(); }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write&, Time) override { crash(); }
  void survivors_changed(Time) override { crash(); }

  int crashes = 0;
  int undone = 0;
  std::string problem;

 private:
  void crash() {
    ++crashes;
    Image image = surviving(machine_.pm());
    const std::vector<std::uint64_t> before = words(image);
    const std::uint64_t committed = recover_(image);
    const std::vector<std::uint64_t> after = words(image);
    undone += before != after;
    recover_(image);
    if (words(image) != after) problem = "recovering twice is not recovering once";
    const Words& expected = states_[committed];
    auto value = after.begin();
    for (const auto& [address, _] : states_.back()) {
      const auto found = expected.find(address);
      if (*value++ == (found == expected.end() ? 0 : found->second)) continue;
      problem = "crash " + std::to_string(crashes) + ": the word at " + std::to_string(address) +
                " isn't that of region " + std::to_string(committed);
    }
  }
  // All words that the program ever writes, by their addresses.
  std::vector<std::uint64_t> words(const Image& image) const {
    std::vector<std::uint64_t> found(states_.back().size());
    auto word = found.begin();
    for (const auto& [address, _] : states_.back()) {
      const LineData data = image.read(Line::of(address));
      std::memcpy(&*word++, data.data() + address % kLineBytes, 8);
    }
    return found;
  }

  const Machine& machine_;
  const std::vector<Words>& states_;
  const Recover recover_;
};

// Minimum counts, so that the test is meaningful.
struct Least {
  int crashes = 0, undone = 0;
};

// Expects that every crash of the program on a design leaves whole regions: the committed ones,
// whose number recover(survivors, image) returns. After the run, all regions are committed.
template <class Design, class Recover>
void expect_whole_regions(Regions& program, const Configuration& configuration, Recover recover,
                          const Least& least) {
  const TemporaryTrace temporary(program.builder);
  const trace::TraceFile file(temporary.path());
  Machine machine(configuration, file);
  const auto& design = dynamic_cast<const Design&>(machine.design().atomicity());
  const auto recover_now = [&](Image& image) { return recover(design.survivors(), image); };
  CrashProbe probe(machine, program.states, recover_now);
  machine.observe(&probe);
  ASSERT_TRUE(machine.run({}));
  EXPECT_EQ(probe.problem, "");
  EXPECT_GT(probe.crashes, least.crashes);
  EXPECT_GT(probe.undone, least.undone);
  Image image = surviving(machine.pm());
  EXPECT_EQ(recover_now(image), program.states.size() - 1);
}

}  // namespace pmemsim
