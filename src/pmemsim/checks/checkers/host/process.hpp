// What the kernel tells of another process: its threads, its memory, which of its pages it uses.
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
// Of an open one; no file: -1 is none.
std::optional<FileId> id_of(int file);

// A part of its memory.
struct ProcessMapping {
  std::uint64_t begin, end;
  bool writable, executable;
  std::uint64_t offset;  // in the file
  FileId file;
  bool heap;
};

struct ProcessStatus {
  pid_t process;
  int threads;
};

// Each by any thread's number. Nothing: it can't be known.
std::optional<pid_t> process_of(pid_t thread);
std::optional<ProcessStatus> status_of(pid_t thread);
std::optional<std::vector<ProcessMapping>> mappings_of(pid_t thread);
// For each page from `begin` to `end`: it has been used, by the process or by the kernel for it.
std::optional<std::vector<bool>> pages_used(pid_t thread, std::uint64_t begin, std::uint64_t end);
// The file that it has open under this number; -1: none.
int copy_of_file(pid_t process, int number);

// Up to a zero, which must be among the first 4096 bytes.
std::optional<std::string> read_text(pid_t thread, std::uint64_t at);
bool read_memory(pid_t thread, std::uint64_t at, void* to, std::size_t size);
bool write_memory(pid_t thread, std::uint64_t at, const void* from, std::size_t size);

}  // namespace pmemsim
