// A program or library that judges images, in processes of its own: its host (host/main.cpp) starts
// one for each image. The image is in memory that both share.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/checkers/answer.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

struct CheckerCommand {
  std::string name;  // for errors: as the user has given it, with its option
  std::string host;  // its program
  bool library;
  std::vector<std::string> words;  // the program and its arguments, or the library
  double timeout_s;
  std::string folder;                         // where a program's files are; empty: in memory
  std::vector<std::string> environment = {};  // NAME=VALUE, over this process's own
  bool reader = false;                        // a program whose standard output is wanted
};

class CheckerProcess {
 public:
  // Called several times a second by whoever waits; ends that by an exception.
  using KeepGoing = std::function<void()>;

  // `number` tells several of them apart. Throws Error if it can't be started.
  CheckerProcess(const CheckerCommand& command, std::span<const trace::PmRegion> regions,
                 std::size_t number, const KeepGoing& keep_going);
  CheckerProcess(const CheckerProcess&) = delete;
  CheckerProcess& operator=(const CheckerProcess&) = delete;
  // Ends it with all that it has started.
  ~CheckerProcess();

  // The image, which is all zero at first.
  void write(Line line, const LineData& data);
  void write(const Image& image);  // pages that it doesn't have stay as they are

  // `watched`: what is read of the image is to be told.
  void begin(bool watched = false);
  // Readable when there is an answer.
  int socket() const { return socket_; }
  // To begin(). Throws Error if there is none to be had.
  CheckerAnswer answer();
  // Of the image that was answered to last, if that tells it: pages, by their recorded addresses,
  // in ascending order.
  std::vector<std::uint64_t> pages_read() const;
  // What a reader has printed, to the last answer.
  const std::string& printed() const { return printed_; }

 private:
  static constexpr std::size_t kMostChanged = 1 << 15;
  struct Region {
    std::uint64_t begin, end;
    int file;
    std::byte* bytes;
  };

  void open_reads();
  void open_region(const trace::PmRegion& region);
  void start(std::size_t number);
  void await_ready(const KeepGoing& keep_going);
  void end();
  void tell_changes();
  void receive_printed(std::size_t size);
  [[noreturn]] void fail_killed() const;
  template <class Copy>
  void for_each_part(std::uint64_t address, std::size_t size, Copy&& copy) const;

  const CheckerCommand command_;
  std::vector<Region> regions_;
  SharedReads reads_;
  std::vector<std::uint64_t> changed_;  // lines, since the last begin(); kMostChanged: perhaps more
  std::string printed_;
  int socket_ = -1;
  pid_t host_ = 0;
};

// Waits until one of these sockets is readable; its index.
std::size_t await_readable(std::span<const int> sockets,
                           const CheckerProcess::KeepGoing& keep_going);

}  // namespace pmemsim
