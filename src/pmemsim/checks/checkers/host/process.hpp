// The kernel's information about another process: its threads, its memory, and the pages that it
// uses.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pmemsim {

struct FileId {
  std::uint32_t major, minor;
  std::uint64_t number;
  bool operator==(const FileId&) const = default;
};
// Returns the id of an open file; nothing for -1.
std::optional<FileId> id_of(int file);

// A part of a process's memory.
struct ProcessMapping {
  std::uint64_t begin, end;
  bool writable, executable;
  std::uint64_t offset;  // Offset in the file
  FileId file;
  bool heap;
};

struct ProcessStatus {
  pid_t process;
  int threads;
};

// These functions take the number of any thread of the process. They return nothing if the
// information is not available.
std::optional<pid_t> process_of(pid_t thread);
std::optional<ProcessStatus> status_of(pid_t thread);
std::optional<std::vector<ProcessMapping>> mappings_of(pid_t thread);
// Returns for each page from `begin` to `end` whether the process, or the kernel for it, has used
// it.
std::optional<std::vector<bool>> pages_used(pid_t thread, std::uint64_t begin, std::uint64_t end);
// Returns a copy of the process's open file with this number; -1: there is none.
int copy_of_file(pid_t process, int number);

// Returns the text up to a zero byte, which must be among the first 4096 B.
std::optional<std::string> read_text(pid_t thread, std::uint64_t at);
bool read_memory(pid_t thread, std::uint64_t at, void* to, std::size_t size);
bool write_memory(pid_t thread, std::uint64_t at, const void* from, std::size_t size);

}  // namespace pmemsim
