#include "pmemsim/checks/checkers/checker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"

extern char** environ;

namespace pmemsim {
namespace {

constexpr int kPollMs = 100;
constexpr auto kGrace = std::chrono::seconds(5);

std::string_view said(const CheckerAnswer& answer) { return {answer.said.data(), answer.size}; }

const char* kind_of(const CheckerCommand& command) {
  if (command.library) return "library";
  return command.reader ? "reader" : "program";
}

std::string in_words(int error) { return std::system_category().message(error); }

// Attributes of a new process: a process group of its own, so that Ctrl-C reaches only its starter,
// and default signal handling.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

class FileActions {
 public:
  explicit FileActions(int socket) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, socket, kCheckerSocket);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

std::size_t await_readable(std::span<const int> sockets,
                           const CheckerProcess::KeepGoing& keep_going) {
  std::vector<pollfd> events;
  for (const int socket : sockets) events.push_back({socket, POLLIN, 0});
  for (;;) {
    if (poll(events.data(), events.size(), kPollMs) > 0) {
      const auto found =
          std::ranges::find_if(events, [](const pollfd& event) { return event.revents != 0; });
      if (found != events.end()) return static_cast<std::size_t>(found - events.begin());
    }
    if (keep_going) keep_going();
  }
}

CheckerProcess::CheckerProcess(const CheckerCommand& command,
                               std::span<const trace::PmRegion> regions, std::size_t number,
                               const KeepGoing& keep_going)
    : command_(command) {
  try {
    for (const trace::PmRegion& region : regions) open_region(region);
    open_reads();
    start(number);
    await_ready(keep_going);
  } catch (...) {
    end();
    throw;
  }
}

CheckerProcess::~CheckerProcess() { end(); }

void CheckerProcess::open_region(const trace::PmRegion& region) {
  const std::size_t size = region.end - region.begin;
  const int file = memfd_create("pmemsim-image", MFD_CLOEXEC);
  void* bytes = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0) {
    bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (bytes == MAP_FAILED) {
    const std::string why = in_words(errno);
    if (file >= 0) close(file);
    throw Error(fmt::format(
        "the image of the trace's persistent memory from {:#x} to {:#x}, {} bytes, could not be "
        "kept in memory: {}; record with a smaller pool",
        region.begin, region.end, size, why));
  }
  regions_.push_back({region.begin, region.end, file, static_cast<std::byte*>(bytes)});
}

void CheckerProcess::open_reads() {
  std::size_t pages = 0;
  for (const Region& region : regions_) pages += pages_of(region.end - region.begin);
  if (reads_.make(pages)) return;
  throw Error(
      fmt::format("{}: the program could not be started: {}", command_.name, in_words(errno)));
}

void CheckerProcess::start(std::size_t number) {
  std::vector<std::string> words{command_.host};
  words.emplace_back(kind_of(command_));
  words.push_back(fmt::format("{}", std::llround(std::ceil(command_.timeout_s * 1000))));
  words.push_back(reads_.path());
  words.push_back(fmt::format("{}", regions_.size()));
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    words.push_back(fmt::format("/proc/{}/fd/{}", getpid(), region.file));
    words.push_back(fmt::format("{}", region.begin));
    words.push_back(fmt::format("{}", region.end - region.begin));
    words.push_back(command_.folder.empty()
                        ? std::string()
                        : fmt::format("{}/image{}.{}", command_.folder, number, i));
  }
  words.insert(words.end(), command_.words.begin(), command_.words.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::vector<char*> variables;
  for (const std::string& more : command_.environment) {
    variables.push_back(const_cast<char*>(more.c_str()));
  }
  const auto is_given = [&](std::string_view own) {
    const std::string_view name = own.substr(0, own.find('=') + 1);
    return std::ranges::any_of(command_.environment,
                               [&](const std::string& more) { return more.starts_with(name); });
  };
  for (char** own = environ; *own != nullptr; ++own) {
    if (!is_given(*own)) variables.push_back(*own);
  }
  variables.push_back(nullptr);

  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(
        fmt::format("{}: the program could not be started: {}", command_.name, in_words(errno)));
  }
  socket_ = ends[0];
  const int failed = posix_spawn(&host_, command_.host.c_str(), FileActions(ends[1]).get(),
                                 Attributes().get(), arguments.data(), variables.data());
  close(ends[1]);
  if (failed != 0) {
    host_ = 0;
    throw Error(fmt::format("{}: the program could not be started: {}: {}", command_.name,
                            command_.host, in_words(failed)));
  }
}

void CheckerProcess::await_ready(const KeepGoing& keep_going) {
  await_readable(std::span(&socket_, 1), keep_going);
  CheckerAnswer answer;
  if (recv(socket_, &answer, sizeof(answer), 0) != sizeof(answer)) {
    throw Error(
        fmt::format("{}: the library crashed, ended or hung while it was loaded", command_.name));
  }
  if (answer.ending == CheckerAnswer::Ending::kNotReady) {
    throw Error(fmt::format("{}: {}", command_.name, said(answer)));
  }
}

// Ends the host. The host ends all other processes when the socket is closed.
void CheckerProcess::end() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  if (host_ != 0) {
    const auto until = std::chrono::steady_clock::now() + kGrace;
    while (waitpid(host_, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > until) kill(host_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    host_ = 0;
  }
  for (const Region& region : regions_) {
    munmap(region.bytes, region.end - region.begin);
    close(region.file);
  }
  regions_.clear();
}

// Calls copy(address in the image's memory, offset from `address`, size) for each part in PM.
template <class Copy>
void CheckerProcess::for_each_part(std::uint64_t address, std::size_t size, Copy&& copy) const {
  for (const Region& region : regions_) {
    const std::uint64_t first = std::max(address, region.begin);
    const std::uint64_t last = std::min(address + size, region.end);
    if (first < last) copy(region.bytes + (first - region.begin), first - address, last - first);
  }
}

void CheckerProcess::write(Line line, const LineData& data) {
  if (changed_.size() < kMostChanged) changed_.push_back(line.number);
  for_each_part(line.address(), data.size(),
                [&](std::byte* to, std::uint64_t from, std::size_t size) {
                  std::memcpy(to, data.data() + from, size);
                });
}

void CheckerProcess::write(const Image& image) {
  image.for_each_page([&](std::uint64_t address, const std::byte* page) {
    for_each_part(address, Image::kPageBytes,
                  [&](std::byte* to, std::uint64_t from, std::size_t size) {
                    if (std::memcmp(to, page + from, size) == 0) return;
                    std::memcpy(to, page + from, size);
                    const std::uint64_t first = Line::of(address).number;
                    for (std::uint64_t line = 0; line < Image::kPageBytes / kLineBytes; ++line) {
                      if (changed_.size() < kMostChanged) changed_.push_back(first + line);
                    }
                  });
  });
}

void CheckerProcess::begin(bool watched) {
  if (command_.library) send_changes();
  changed_.clear();
  send(socket_, watched ? &kNextWatched : &kNextImage, 1, MSG_NOSIGNAL);
}

// Sends the changed lines to a library's host. A program's files are compared in any case.
void CheckerProcess::send_changes() {
  if (changed_.size() == kMostChanged) {
    send(socket_, &kAllChanged, 1, MSG_NOSIGNAL);
    return;
  }
  for (std::size_t at = 0; at < changed_.size(); at += kMostLines) {
    const std::size_t lines = std::min(kMostLines, changed_.size() - at);
    send(socket_, changed_.data() + at, lines * sizeof(std::uint64_t), MSG_NOSIGNAL);
  }
}

CheckerAnswer CheckerProcess::answer() {
  CheckerAnswer answer;
  if (recv(socket_, &answer, sizeof(answer), 0) != sizeof(answer)) fail_killed();
  receive_printed(answer.printed);
  using Ending = CheckerAnswer::Ending;
  if (answer.ending == Ending::kNotRun) {
    throw Error(fmt::format(
        "{}: the program could not be run ({}); name a program whose last argument is the image's "
        "file",
        command_.name, in_words(answer.status)));
  }
  if (answer.ending == Ending::kFailed) {
    throw Error(fmt::format("{}: the image could not be passed to the program: {}", command_.name,
                            in_words(answer.status)));
  }
  return answer;
}

// Returns the recorded pages. A page of a region that does not begin at a page border overlaps two
// of them.
std::vector<std::uint64_t> CheckerProcess::pages_read() const {
  std::vector<std::uint64_t> found;
  std::size_t index = 0;
  for (const Region& region : regions_) {
    for (std::uint64_t at = region.begin; at < region.end; at += kReadBytes) {
      if (reads_.pages()[index++] == std::byte{}) continue;
      const std::uint64_t last = std::min(at + kReadBytes, region.end) - 1;
      for (std::uint64_t page = at / kReadBytes; page <= last / kReadBytes; ++page) {
        if (found.empty() || found.back() != page) found.push_back(page);
      }
    }
  }
  return found;
}

void CheckerProcess::receive_printed(std::size_t size) {
  printed_.resize(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t received = recv(socket_, printed_.data() + at, size - at, 0);
    if (received <= 0) fail_killed();
    at += static_cast<std::size_t>(received);
  }
}

void CheckerProcess::fail_killed() const {
  constexpr std::uint64_t kAlmostFull = std::uint64_t{1} << 20;
  struct statvfs disk{};
  if (!command_.folder.empty() && statvfs(command_.folder.c_str(), &disk) == 0 &&
      disk.f_bavail * disk.f_frsize < kAlmostFull) {
    throw Error(fmt::format(
        "{}: the disk of {}, where the program's images are, is full; free some space, or choose "
        "another disk with TMPDIR",
        command_.name, command_.folder));
  }
  throw Error(fmt::format(
      "{}: the process that starts the program was killed, perhaps because memory ran out; run "
      "fewer tasks at the same time (jobs)",
      command_.name));
}

}  // namespace pmemsim
