// Writes the contents of persistent memory at the end of recording. A check can then find changes
// that the trace lacks (PMEMSIM_CONTENTS; src/pmemsim/trace/contents.hpp has the format).
//
//  1  Memory that is unmapped before the end is written at that time. Nothing is stored to it until
//     it is mapped again, and contents written later count.
//  2  A page that equals the image is listed without its contents. A page that equals its last
//     version in this file is omitted. So the file's length depends on the program's changes, not
//     on how much or how often it maps.
//  3  The contents are in a file of their own: the trace doesn't need them after the check.
//  4  The heap that counts as PM is left out: its allocator and the C library write to it without
//     being recorded.
#include "contents.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "output.hpp"
#include "persistent.hpp"
#include "pmemsim/trace/contents.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

using trace::ContentsRecord;
using trace::PagesAre;

constexpr std::uint64_t kPage = trace::kImagePageBytes;

const char* path = nullptr;  // nullptr: no file is written

// The last known contents of a nonzero page, as a reader of the file would know them.
struct Known {
  std::uint64_t checksum;
  bool given;  // true if this file has the page, false if the image has
};
Map<Known> known;  // key: the page's number

std::uint64_t checksum(const void* page) { return XXH64(page, kPage, 0); }

// Appends to the file; removes the file if that fails.
class ContentsFile {
 public:
  ContentsFile() : descriptor_(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) error_ = errno;
    sigemptyset(&too_long_);
    sigaddset(&too_long_, SIGXFSZ);
    real.pthread_sigmask(SIG_BLOCK, &too_long_, &signals_before_);
  }
  ContentsFile(const ContentsFile&) = delete;
  ContentsFile& operator=(const ContentsFile&) = delete;
  ~ContentsFile() {
    end_record();
    write_buffer();
    return_buffer(buffer_);
    if (descriptor_ >= 0) close(descriptor_);
    if (error_ != 0) give_up();
    // Removes the pending SIGXFSZ, which isn't the program's (ulimit -f).
    constexpr timespec kNow{};
    if (error_ == EFBIG) real.syscall(SYS_rt_sigtimedwait, &too_long_, nullptr, &kNow, kSetBytes);
    real.pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
  }

  void put_page(std::uint64_t trace_address, const void* page) {
    Known* before = known.find(trace_address / kPage);
    if (is_zero_page(page)) {
      if (before != nullptr) *before = {};
      return name_page(trace_address, PagesAre::kZero);
    }
    const std::uint64_t now = checksum(page);
    if (before != nullptr && before->checksum == now) {
      if (!before->given) name_page(trace_address, PagesAre::kAsInImage);
      return;
    }
    known[trace_address / kPage] = {now, true};
    name_page(trace_address, PagesAre::kGiven);
    end_record();
    put(page, kPage);
  }

 private:
  void name_page(std::uint64_t trace_address, PagesAre are) {
    if (are != record_.are || trace_address != record_.begin + record_.pages * kPage) {
      end_record();
      record_ = {trace_address, 0, are};
    }
    ++record_.pages;
  }
  void end_record() {
    if (record_.pages > 0) put(&record_, sizeof(record_));
    record_.pages = 0;
  }
  void put(const void* bytes, std::size_t count) {
    if (used_ + count > kBufferBytes) write_buffer();
    std::memcpy(buffer_ + used_, bytes, count);
    used_ += count;
  }
  void write_buffer() {
    for (std::size_t done = 0; done < used_ && error_ == 0;) {
      const ssize_t written = real.write(descriptor_, buffer_ + done, used_ - done);
      if (written < 0 && errno != EINTR) error_ = errno;
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    used_ = 0;
  }
  void give_up() const {
    say("note: the final contents of persistent memory could not be written (%s), so unrecorded "
        "stores can't be detected",
        std::strerror(error_));
    unlink(path);
    path = nullptr;
  }

  static constexpr long kSetBytes = 8;  // size of the kernel's signal sets

  int descriptor_;
  int error_ = 0;
  sigset_t too_long_, signals_before_;
  ContentsRecord record_{};
  std::uint8_t* buffer_ = take_buffer();
  std::size_t used_ = 0;
};

}  // namespace

void configure_contents() {
  const char* text = std::getenv("PMEMSIM_CONTENTS");
  if (text == nullptr || *text == '\0') return;
  auto* copy = static_cast<char*>(allocate(std::strlen(text) + 1));
  path = std::strcpy(copy, text);
}

void note_image_page(std::uint64_t trace_address, const void* page) {
  if (path != nullptr) known[trace_address / kPage] = {checksum(page), false};
}

void write_contents(std::uint64_t begin, std::uint64_t end) {
  if (path == nullptr) return;
  if (!has_persistent(begin, end)) return;
  const Waiting waits;
  ContentsFile file;
  for_each_persistent_page(begin, end, [&](std::uint64_t trace_address, const void* page) {
    file.put_page(trace_address, page);
  });
}

}  // namespace pmemsim::rt
