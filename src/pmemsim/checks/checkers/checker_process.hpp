// A program or library that checks images, in separate processes: its host (host/main.cpp) starts
// one for each image. The image is in memory shared with the host.
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
  std::string name;  // For errors: as given by the user, with its option
  std::string host;  // The host's program
  bool library;
  std::vector<std::string> words;  // The program and its arguments, or the library
  double timeout_s;
  std::string folder;                         // Folder of a program's files; empty: in memory
  std::vector<std::string> environment = {};  // NAME=VALUE, overrides this process's own
  bool reader = false;  // True for a program whose standard output is the answer
};

class CheckerProcess {
 public:
  // Called several times a second during a wait; an exception ends the wait.
  using KeepGoing = std::function<void()>;

  // Starts the host. `number` distinguishes several of them. Throws Error if it can't be started.
  CheckerProcess(const CheckerCommand& command, std::span<const trace::PmRegion> regions,
                 std::size_t number, const KeepGoing& keep_going);
  CheckerProcess(const CheckerProcess&) = delete;
  CheckerProcess& operator=(const CheckerProcess&) = delete;
  // Ends the host and all processes that it has started.
  ~CheckerProcess();

  // Write to the image, which is all zero at first.
  void write(Line line, const LineData& data);
  void write(const Image& image);  // Pages not in `image` stay unchanged

  // Starts the check. `watched`: the pages read are to be reported.
  void begin(bool watched = false);
  // Returns the socket, which is readable when there is an answer.
  int socket() const { return socket_; }
  // Returns the answer to begin(). Throws Error if there is none.
  CheckerAnswer answer();
  // Returns the pages read of the last image, if the answer reports them: by their recorded
  // addresses, in ascending order.
  std::vector<std::uint64_t> pages_read() const;
  // Returns a reader's output for the last answer.
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
  void send_changes();
  void receive_printed(std::size_t size);
  [[noreturn]] void fail_killed() const;
  template <class Copy>
  void for_each_part(std::uint64_t address, std::size_t size, Copy&& copy) const;

  const CheckerCommand command_;
  std::vector<Region> regions_;
  SharedReads reads_;
  // Lines changed since the last begin(); kMostChanged entries: perhaps more.
  std::vector<std::uint64_t> changed_;
  std::string printed_;
  int socket_ = -1;
  pid_t host_ = 0;
};

// Waits until one of these sockets is readable and returns its index.
std::size_t await_readable(std::span<const int> sockets,
                           const CheckerProcess::KeepGoing& keep_going);

}  // namespace pmemsim
