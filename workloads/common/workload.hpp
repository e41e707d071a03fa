// The shared part of all workloads: the command line, threads, the region of interest, the check.
//
// A workload is a class over a pool:
//
//   static constexpr workload::About kAbout     name, help, default number of items
//   static std::uint64_t pool_bytes(options)    the size of the pool that it needs
//   Structure(pm_pool*, options)                sets up a new pool
//   explicit Structure(pm_pool*)                or takes one over from an earlier run
//   Requests draw(Work) const                   the requests of a thread's regions (requests.hpp)
//   Tally run(Work, Requests&)                  one thread's share; exactly work.regions regions;
//                                               or run(Work), if it draws while it runs
//   Check check()                               checks that the structure is intact
//
// and its root object begins with a workload::Header.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "payload.hpp"
#include "pmemsim/pm.h"
#include "random.hpp"

namespace workload {

// The operations of regions on random items of a map.
enum class Mix : std::uint8_t {
  kInsertUpdate,  // insert items that aren't there, update (or remove) the others
  kInsert,        // insert items, none of which is there
  kReadUpdate,    // items are all there: read every other one, update the others
  kInsertDelete,  // insert items that aren't there, remove the others
  kPmweaver,      // the operations of the programs that PMWeaver is measured with
  kSections,      // the default operations in sections with an undo log written by hand
};
inline constexpr std::string_view kMixes[] = {"insert-update", "insert",   "read-update",
                                              "insert-delete", "pmweaver", "sections"};

struct About {
  const char* name;
  const char* help;  // describes the structure and the operations of one region
  std::uint64_t default_items;
  std::uint64_t default_data_bytes = 64;
  const char* fixed_size = nullptr;  // the reason why --data-bytes cannot be chosen, if so
  std::uint64_t data_multiple = 8;   // --data-bytes must be a multiple of this
  unsigned mixes = 0;                // a bit for each Mix that --mix can choose
  std::uint64_t least_data_bytes = 64;
};

constexpr unsigned bit_of(Mix mix) { return 1u << static_cast<unsigned>(mix); }

struct Options {
  unsigned threads = 4;
  std::uint64_t regions = 10000;
  std::uint64_t warm_up = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t seed = 1;
  std::uint64_t items = 0;
  double duplicate_ratio = 0;
  Mix mix = Mix::kInsertUpdate;
  bool whole_run = false;
  std::string pool;    // empty: anonymous memory
  std::string verify;  // a pool to check; no region is run then

  std::uint64_t all_regions() const { return regions + warm_up; }
};

// The first bytes of every workload's root object.
struct Header {
  char name[16];        // the workload's name: its first 16 characters, filled up with zeros
  std::uint64_t ready;  // 1 once the set-up is complete
  std::uint64_t data_bytes;
  std::uint64_t items;  // number of items in the set-up
  std::uint64_t seed;
  std::uint64_t duplicates;  // share of duplicate lines, out of 2^64
  std::uint64_t key_space;   // a map's keys are below it; 0: twice the items

  std::uint64_t keys() const { return key_space > 0 ? key_space : 2 * items; }
  Payload payload() const { return {data_bytes, duplicates}; }
};
static_assert(sizeof(Header) == PM_LINE_BYTES);

struct Work {
  unsigned thread;  // from 0
  std::uint64_t regions;
  std::uint64_t seed;
  std::uint64_t first = 0;  // number of regions of all threads with lower numbers
  Mix mix = Mix::kInsertUpdate;
  std::uint64_t stream = 0;  // stream of the random numbers

  Random random() const { return {seed, stream}; }
};

// The change of the number of items by a thread's regions.
struct Tally {
  std::uint64_t added = 0, removed = 0;

  Tally& operator+=(const Tally& other) {
    added += other.added;
    removed += other.removed;
    return *this;
  }
};

struct Check {
  std::string problem;  // empty: the structure is intact
  std::uint64_t items = 0;
};

// Ends the program because a request of the user cannot be fulfilled.
[[noreturn]] inline void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

// Checks the result of a call of pm.h that returns NULL on failure.
template <class Pointer>
Pointer require(Pointer pointer) {
  if (!pointer) refuse(pm_error());
  return pointer;
}

// Returns the size of the data in PM: whole lines, because a line must have one lock.
inline std::uint64_t padded(std::uint64_t data_bytes) {
  return (data_bytes + PM_LINE_BYTES - 1) / PM_LINE_BYTES * PM_LINE_BYTES;
}

// Returns the size of a pool for `blocks` blocks of a header line and data, plus library data.
inline std::uint64_t pool_bytes_for(const Options& options, std::uint64_t blocks) {
  return blocks * (2 * padded(options.data_bytes) + 1024) +
         (options.threads + 16) * (std::uint64_t{4} << 20);
}

// ---- The command line -----------------------------------------------------------------------

inline void print_help(const About& about) {
  std::printf(
      "usage: %s [OPTION]...\n\n%s\n\n"
      "  --threads N      threads that share the structure (default 4)\n"
      "  --regions N      atomic regions of all threads together (default 10000)\n"
      "  --warm-up N      regions before these, which aren't measured but fill the caches "
      "(default 0)\n",
      about.name, about.help);
  if (about.fixed_size != nullptr)
    std::printf("  no --data-bytes: %s\n", about.fixed_size);
  else
    std::printf("  --data-bytes N   size of an item's data, %" PRIu64
                " to 8192, a multiple of %" PRIu64 " (default %" PRIu64 ")\n",
                about.least_data_bytes, about.data_multiple, about.default_data_bytes);
  std::printf(
      "  --seed N         of the random keys and values (default 1)\n"
      "  --duplicate-ratio R\n"
      "                   share of the data's lines that hold what many others hold, 0 to 1\n"
      "                   (default 0)\n"
      "  --items N        items before the measured part (default %" PRIu64
      ")\n"
      "%s"
      "  --whole-run      measure set-up and warm-up, too; with --verify: the set-up may be "
      "unfinished\n"
      "  --pool PATH      keep the structure in this file, and go on with the one that is in it\n"
      "                   (default: memory that is gone at the end)\n"
      "  --verify PATH    only recover and check the pool in this file, such as a crash image\n"
      "  --help           show this\n\n"
      "Without --whole-run only the regions are measured (pm_roi_begin, pm_roi_end), not the "
      "set-up "
      "and the\nwarm-up before them; never the check of the whole structure after them.\n"
      "Exit code: 0 the structure is whole, 1 it is not, 2 what was asked for cannot be done.\n",
      about.default_items,
      about.mixes == 0 ? ""
                       : "  --mix MIX        what regions do: insert-update (default), insert, "
                         "read-update,\n"
                         "                   insert-delete, pmweaver or sections, as far as the "
                         "program can\n");
}

inline std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t least,
                            std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    refuse(std::string(option) + " " + std::string(text) + ": must be a whole number from " +
           std::to_string(least) + " to " + std::to_string(most));
  return value;
}

inline double ratio(std::string_view option, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 1))
    refuse(std::string(option) + " " + std::string(text) + ": must be a number from 0 to 1");
  return value;
}

inline Mix mix_named(std::string_view name) {
  const auto found = std::ranges::find(kMixes, name);
  if (found == std::end(kMixes))
    refuse("--mix " + std::string(name) +
           ": must be insert-update, insert, read-update, insert-delete, pmweaver or sections");
  return static_cast<Mix>(found - std::begin(kMixes));
}

inline void set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "--threads")
    options.threads = static_cast<unsigned>(number(name, value, 1, PM_MAX_THREADS - 1));
  else if (name == "--regions")
    options.regions = number(name, value, 1, UINT64_C(1) << 32);
  else if (name == "--warm-up")
    options.warm_up = number(name, value, 0, UINT64_C(1) << 32);
  else if (name == "--data-bytes")
    options.data_bytes = number(name, value, 8, 8192);
  else if (name == "--seed")
    options.seed = number(name, value, 0, UINT64_MAX);
  else if (name == "--items")
    options.items = number(name, value, 2, UINT64_C(1) << 28);
  else if (name == "--duplicate-ratio")
    options.duplicate_ratio = ratio(name, value);
  else if (name == "--mix")
    options.mix = mix_named(value);
  else if (name == "--pool")
    options.pool = value;
  else if (name == "--verify")
    options.verify = value;
  else
    refuse("unknown option '" + std::string(name) + "'; --help lists them");
}

inline Options parse(const About& about, int argc, char** argv) {
  Options options;
  options.items = about.default_items;
  options.data_bytes = about.default_data_bytes;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i], value;
    if (name == "--help") {
      print_help(about);
      std::exit(0);
    }
    if (name == "--whole-run") {
      options.whole_run = true;
      continue;
    }
    if (const auto equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    }
    if (name == "--data-bytes" && about.fixed_size != nullptr)
      refuse("--data-bytes cannot be chosen: " + std::string(about.fixed_size));
    set_option(options, name, value);
    if (value.empty()) refuse(std::string(name) + " needs a value");
  }
  if (options.data_bytes < about.least_data_bytes)
    refuse("--data-bytes " + std::to_string(options.data_bytes) + ": must be " +
           std::to_string(about.least_data_bytes) + " or more");
  if (options.data_bytes % about.data_multiple != 0)
    refuse("--data-bytes " + std::to_string(options.data_bytes) + ": must be a multiple of " +
           std::to_string(about.data_multiple));
  if (options.mix != Mix::kInsertUpdate && (about.mixes & bit_of(options.mix)) == 0)
    refuse("--mix " + std::string(kMixes[static_cast<unsigned>(options.mix)]) + ": " + about.name +
           " has no such operations");
  return options;
}

// ---- Set-up, measured part, check -----------------------------------------------------------

template <class Root>
Root* root_of(pm_pool* pool) {
  return static_cast<Root*>(require(pm_root(pool, sizeof(Root))));
}

// Writes the header; it is the first step of a set-up.
inline void describe(Header& header, const About& about, const Options& options) {
  std::string_view(about.name).copy(header.name, sizeof header.name);
  header.data_bytes = options.data_bytes;
  header.items = options.items;
  header.seed = options.seed;
  constexpr double kAll = 18446744073709551616.0;  // 2^64
  header.duplicates = options.duplicate_ratio >= 1
                          ? UINT64_MAX
                          : static_cast<std::uint64_t>(options.duplicate_ratio * kAll);
  pm_flush(&header, sizeof header);
}

// Marks the structure as valid; it is the last step of a set-up.
inline void set_ready(Header& header) {
  pm_order();
  header.ready = 1;
  pm_flush(&header, sizeof header);
  pm_durable();
}

// Returns the reason why a pool cannot be one of this workload; empty if it can.
inline std::string foreign(const Header& header, const About& about) {
  if (!header.ready) return "its set-up was not completed";
  const std::string_view owner(header.name, strnlen(header.name, sizeof header.name));
  if (owner != std::string_view(about.name).substr(0, sizeof header.name))
    return "it belongs to another program";
  return "";
}

// Returns a thread's share of `all` things that all threads do together.
inline std::uint64_t share_of(std::uint64_t all, unsigned thread, unsigned threads) {
  return all / threads + (thread < all % threads);
}
inline std::uint64_t shares_before(std::uint64_t all, unsigned thread, unsigned threads) {
  return thread * (all / threads) + std::min<std::uint64_t>(thread, all % threads);
}

// Runs the warm-up and the measured part, and returns the items that they added and removed. The
// main thread is the first of the threads, so that --threads N takes N cores.
template <class Structure>
Tally run_threads(pm_pool* pool, Structure& structure, const Options& options) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, options.threads);
  std::vector<Tally> tallies(options.threads);
  const auto work = [&](unsigned t) {
    const Work part{t,
                    share_of(options.regions, t, options.threads),
                    options.seed,
                    shares_before(options.regions, t, options.threads) +
                        shares_before(options.warm_up, t, options.threads),
                    options.mix,
                    t + std::uint64_t{1}};
    Work before = part;
    before.regions = share_of(options.warm_up, t, options.threads);
    before.stream += options.threads;  // the warm-up uses other streams than the measured part
    const auto measure = [&](auto&... requests) {
      pthread_barrier_wait(&barrier);  // no thread measures another's set-up
      if (t > 0 || !options.whole_run) pm_roi_begin();
      pthread_barrier_wait(&barrier);  // no thread ends before all have begun
      tallies[t] += structure.run(part, requests...);
      pm_roi_end();
    };
    if constexpr (requires { structure.draw(part); }) {
      auto requests = structure.draw(part);
      if (before.regions > 0) tallies[t] = structure.run(before, requests);
      requests.make_ready();
      measure(requests);
    } else {
      if (before.regions > 0) tallies[t] = structure.run(before);
      measure();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < options.threads; ++t)
    threads.emplace_back([&, t] {
      if (pm_thread(pool, t) != 0) refuse(pm_error());
      work(t);
    });
  work(0);
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&barrier);
  Tally sum;
  for (const Tally& tally : tallies) sum += tally;
  return sum;
}

inline int report(const About& about, const Check& check, const std::string& good) {
  if (!check.problem.empty()) {
    std::fprintf(stderr, "%s: the structure is damaged: %s\n", about.name, check.problem.c_str());
    return 1;
  }
  std::printf("%s: %s; %" PRIu64 " items checked\n", about.name, good.c_str(), check.items);
  return 0;
}

// Reports invalid pointers: in an image that recovery has not repaired, they may lead anywhere.
inline void report_wild_pointers() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    static constexpr char kMessage[] = "the structure is damaged: a pointer leads to nowhere\n";
    if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) _exit(2);
    _exit(1);
  };
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

template <class Structure>
int verify(const Options& options) {
  report_wild_pointers();
  if (access(options.verify.c_str(), R_OK) != 0)
    refuse("--verify " + options.verify + ": " + std::strerror(errno));
  pm_pool* pool = pm_open(options.verify.c_str(), 0, 0);
  if (!pool) return report(Structure::kAbout, {pm_error()}, "");
  const auto* header = static_cast<const Header*>(pm_root(pool, sizeof(Header)));
  // A whole run that crashes during the set-up leaves this state.
  const bool early = options.whole_run && header && !header->ready;
  Check check{header ? foreign(*header, Structure::kAbout) : pm_error()};
  if (early) check.problem.clear();
  if (check.problem.empty() && !early) check = Structure(pool).check();
  const std::string good = "rolled back " + std::to_string(pm_rolled_back(pool)) + " regions";
  if (pm_close(pool) != 0) refuse(pm_error());
  return report(Structure::kAbout, check, good);
}

// Takes over the structure that an earlier run has left in the pool.
template <class Structure>
std::unique_ptr<Structure> take_over(pm_pool* pool, const Options& options) {
  const auto* header = static_cast<const Header*>(require(pm_root(pool, sizeof(Header))));
  const std::string why = foreign(*header, Structure::kAbout);
  if (!why.empty()) {
    pm_close(pool);
    refuse("cannot go on with the pool in " + options.pool + ": " + why);
  }
  return std::make_unique<Structure>(pool);
}

template <class Structure>
int main(int argc, char** argv) {
  const Options options = parse(Structure::kAbout, argc, argv);
  if (!options.verify.empty()) return verify<Structure>(options);

  if (options.whole_run) pm_roi_begin();
  const bool exists = !options.pool.empty() && access(options.pool.c_str(), F_OK) == 0;
  pm_pool* pool = require(pm_open(options.pool.empty() ? nullptr : options.pool.c_str(),
                                  exists ? 0 : Structure::pool_bytes(options), 0));
  if (pm_thread(pool, 0) != 0) refuse(pm_error());
  auto structure =
      exists ? take_over<Structure>(pool, options) : std::make_unique<Structure>(pool, options);
  const Check before = options.whole_run ? Check{} : structure->check();
  if (!before.problem.empty()) {
    pm_close(pool);
    return report(Structure::kAbout, before, "");
  }

  const auto begin = std::chrono::steady_clock::now();
  const Tally tally = run_threads(pool, *structure, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  Check after = structure->check();
  if (after.problem.empty() && !options.whole_run &&
      after.items != before.items + tally.added - tally.removed)
    after.problem = "it has " + std::to_string(after.items) + " items instead of " +
                    std::to_string(before.items + tally.added - tally.removed);
  structure.reset();
  if (pm_close(pool) != 0) refuse(pm_error());
  char good[128];
  std::snprintf(good, sizeof good, "%" PRIu64 " regions by %u threads in %.3f s", options.regions,
                options.threads, seconds.count());
  return report(Structure::kAbout, after, good);
}

}  // namespace workload
