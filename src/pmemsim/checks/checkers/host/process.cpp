#include "pmemsim/checks/checkers/host/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "pmemsim/checks/checkers/shared_reads.hpp"

namespace pmemsim {
namespace {

// Bits of /proc/PID/pagemap: the page is present, or swapped out or being moved.
constexpr std::uint64_t kUsed = std::uint64_t{3} << 62;

int open_of(pid_t thread, const char* name) {
  const std::string path = "/proc/" + std::to_string(thread) + "/" + name;
  return open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

std::optional<std::string> whole(pid_t thread, const char* name) {
  const int file = open_of(thread, name);
  if (file < 0) return std::nullopt;
  std::string text;
  std::array<char, 16384> bytes;
  ssize_t size;
  while ((size = read(file, bytes.data(), bytes.size())) > 0) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  close(file);
  if (size < 0 || text.empty()) return std::nullopt;
  return text;
}

// Removes a number, and the character after it, from the text's beginning and returns the number.
std::uint64_t take_number(std::string_view& text, int base) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const auto taken = static_cast<std::size_t>(end - text.data());
  text.remove_prefix(std::min(taken + 1, text.size()));
  return number;
}

std::optional<int> number_behind(const std::string& text, std::string_view name) {
  const std::size_t found = text.find(name);
  if (found == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(found + name.size());
  return static_cast<int>(take_number(rest, 10));
}

// Parses a line of /proc/PID/maps: begin-end rwxp offset major:minor number   name
ProcessMapping mapping_in(std::string_view line) {
  ProcessMapping found{};
  found.begin = take_number(line, 16);
  found.end = take_number(line, 16);
  const std::string_view allowed = line.substr(0, std::min(line.size(), std::size_t{5}));
  found.writable = allowed.find('w') != std::string_view::npos;
  found.executable = allowed.find('x') != std::string_view::npos;
  line.remove_prefix(allowed.size());
  found.offset = take_number(line, 16);
  found.file.major = static_cast<std::uint32_t>(take_number(line, 16));
  found.file.minor = static_cast<std::uint32_t>(take_number(line, 16));
  found.file.number = take_number(line, 10);
  found.heap = line.ends_with("[heap]");
  return found;
}

int open_process(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

iovec at_address(std::uint64_t at, std::size_t size) {
  return {.iov_base = reinterpret_cast<void*>(at), .iov_len = size};
}

}  // namespace

std::optional<FileId> id_of(int file) {
  struct stat found{};
  if (file < 0 || fstat(file, &found) != 0) return std::nullopt;
  return FileId{major(found.st_dev), minor(found.st_dev), found.st_ino};
}

std::optional<ProcessStatus> status_of(pid_t thread) {
  const std::optional<std::string> text = whole(thread, "status");
  if (!text) return std::nullopt;
  const std::optional<int> process = number_behind(*text, "\nTgid:\t");
  const std::optional<int> threads = number_behind(*text, "\nThreads:\t");
  if (!process || !threads) return std::nullopt;
  return ProcessStatus{*process, *threads};
}

std::optional<std::vector<ProcessMapping>> mappings_of(pid_t thread) {
  const std::optional<std::string> text = whole(thread, "maps");
  if (!text) return std::nullopt;
  std::vector<ProcessMapping> found;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    found.push_back(mapping_in(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return found;
}

std::optional<std::vector<bool>> pages_used(pid_t thread, std::uint64_t begin, std::uint64_t end) {
  const int file = open_of(thread, "pagemap");
  if (file < 0) return std::nullopt;
  std::vector<std::uint64_t> entries((end - begin) / kReadBytes);
  const std::size_t size = entries.size() * sizeof(entries[0]);
  const auto at = static_cast<off_t>(begin / kReadBytes * sizeof(entries[0]));
  const ssize_t got = pread(file, entries.data(), size, at);
  close(file);
  if (got != static_cast<ssize_t>(size)) return std::nullopt;
  std::vector<bool> used(entries.size());
  for (std::size_t page = 0; page < used.size(); ++page) used[page] = (entries[page] & kUsed) != 0;
  return used;
}

// Returns the process of a thread. The system opens a process only by its first thread's number.
std::optional<pid_t> process_of(pid_t thread) {
  const int opened = open_process(thread);
  if (opened >= 0) {
    close(opened);
    return thread;
  }
  const std::optional<ProcessStatus> status = status_of(thread);
  if (!status) return std::nullopt;
  return status->process;
}

int copy_of_file(pid_t process, int number) {
  const int opened = open_process(process);
  if (opened < 0) return -1;
  const int file = static_cast<int>(syscall(SYS_pidfd_getfd, opened, number, 0));
  close(opened);
  return file;
}

std::optional<std::string> read_text(pid_t thread, std::uint64_t at) {
  std::array<char, kReadBytes> bytes;
  // The next page may not be mapped.
  const std::size_t in_page = kReadBytes - at % kReadBytes;
  for (const std::size_t size : {in_page, bytes.size()}) {
    if (!read_memory(thread, at, bytes.data(), size)) return std::nullopt;
    const auto end = std::find(bytes.begin(), bytes.begin() + size, '\0');
    if (end != bytes.begin() + size) return std::string(bytes.begin(), end);
  }
  return std::nullopt;
}

bool read_memory(pid_t thread, std::uint64_t at, void* to, std::size_t size) {
  const iovec own{.iov_base = to, .iov_len = size}, its = at_address(at, size);
  return process_vm_readv(thread, &own, 1, &its, 1, 0) == static_cast<ssize_t>(size);
}

bool write_memory(pid_t thread, std::uint64_t at, const void* from, std::size_t size) {
  const iovec own{.iov_base = const_cast<void*>(from), .iov_len = size}, its = at_address(at, size);
  return process_vm_writev(thread, &own, 1, &its, 1, 0) == static_cast<ssize_t>(size);
}

}  // namespace pmemsim
