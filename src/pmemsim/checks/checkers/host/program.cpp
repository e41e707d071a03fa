#include "pmemsim/checks/checkers/host/program.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace pmemsim {
namespace {

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

// The files have the same numbers in every host, for programs that depend on their names.
constexpr int kFirstFile = 100;

int memory_file(int number) {
  const int file = memfd_create("pmemsim-image", MFD_CLOEXEC);
  if (file < 0) return file;
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, number);
  if (moved < 0) return file;  // Too many files are open
  close(file);
  return moved;
}

const std::byte* mapped(int file, std::size_t size) {
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (bytes == MAP_FAILED) fail();
  return static_cast<const std::byte*>(bytes);
}

bool accepts(const CheckerAnswer& answer) {
  return answer.ending == CheckerAnswer::Ending::kExited && answer.status == 0;
}

void write_all(int file, const std::byte* bytes, std::size_t size, std::size_t at) {
  while (size > 0) {
    const ssize_t written = pwrite(file, bytes, size, static_cast<off_t>(at));
    if (written <= 0) fail();
    bytes += written;
    at += static_cast<std::size_t>(written);
    size -= static_cast<std::size_t>(written);
  }
}

void remove(int file, std::size_t at, std::size_t size) {
  if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                static_cast<off_t>(size)) == 0) {
    return;
  }
  const std::vector<std::byte> zeros(std::min<std::size_t>(size, 1 << 20));
  for (std::size_t done = 0; done < size; done += zeros.size()) {
    write_all(file, zeros.data(), std::min(zeros.size(), size - done), at + done);
  }
}

}  // namespace

Program::Program(const std::vector<HostRegion>& regions, std::span<char* const> words,
                 const std::string& reads)
    : words_(words.begin(), words.end()) {
  for (const HostRegion& region : regions) {
    files_.push_back(open_file(region, static_cast<int>(files_.size())));
    words_.push_back(files_.back().path);
  }
  std::size_t pages = 0;
  for (const File& file : files_) pages += pages_of(file.size);
  if (!reads_.join(reads, pages)) fail();
}

Program::File Program::open_file(const HostRegion& region, int number) {
  File file{.image = open(region.image.c_str(), O_RDONLY | O_CLOEXEC),
            .own = region.file.empty()
                       ? memory_file(kFirstFile + number)
                       : open(region.file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
            .size = region.size,
            .image_bytes = nullptr,
            .own_bytes = nullptr,
            .path = region.file};
  if (file.image < 0 || file.own < 0) fail();
  if (ftruncate(file.own, static_cast<off_t>(file.size)) != 0) fail();
  file.image_bytes = mapped(file.image, file.size);
  file.own_bytes = mapped(file.own, file.size);
  // All processes that the checker starts find the file by this path, whichever files they inherit.
  if (file.path.empty()) {
    file.path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file.own);
  }
  return file;
}

// Checks the image. A program that rejects it while watched, or that watching disturbs, runs again
// unwatched. If it accepts the image then, a second watched run finds the reason. If the second
// watched run accepts the image, the first rejection was not caused by watching and remains the
// answer. Otherwise watching caused it.
std::optional<CheckerAnswer> Program::check_image(Watch& watch, bool watched) {
  if (!watched) return check_alone(watch);
  const std::optional<CheckerAnswer> answer = check_watched(watch);
  if (!answer || accepts(*answer)) return answer;
  const std::optional<CheckerAnswer> alone = check_alone(watch);
  const bool undecided = answer->ending == CheckerAnswer::Ending::kFailed;
  if (!alone || !accepts(*alone) || undecided) return alone;
  const std::optional<CheckerAnswer> again = check_watched(watch);
  return !again || accepts(*again) ? answer : alone;
}

std::optional<CheckerAnswer> Program::check_alone(Watch& watch) {
  prepare();
  return watch.run([this](Watch::Report& report) { execute(report); });
}

// Runs the program watched, and again if signals may have interrupted a run that tells nothing. If
// they interrupt all runs, this is usual for the program, and its runs are not repeated any more.
std::optional<CheckerAnswer> Program::check_watched(Watch& watch) {
  constexpr int kMostRepeats = 3;
  std::optional<CheckerAnswer> answer = run_watched(watch);
  for (int left = kMostRepeats; answer && repeats_ && tells_nothing(*answer); --left) {
    if (left == 0) {
      repeats_ = false;
    } else {
      answer = run_watched(watch);
    }
  }
  return answer;
}

// True if a watched run's verdict or reads may be unknown because of signals.
bool Program::tells_nothing(const CheckerAnswer& answer) const {
  const bool unknown = answer.ending == CheckerAnswer::Ending::kFailed ||
                       (accepts(answer) && !answer.reads_reported);
  return unknown && watch_->may_be_interrupted();
}

// Runs the program watched. A run that watching disturbs counts as failed, as does a run that
// failed after a call was interrupted. If the interrupted call is the last one, which ends the
// program, a signal ends it instead.
std::optional<CheckerAnswer> Program::run_watched(Watch& watch) {
  constexpr CheckerAnswer kUnsure{.ending = CheckerAnswer::Ending::kFailed};
  prepare();
  if (!watch_) watch_.emplace(images());
  if (!watch_->begin()) return kUnsure;
  const auto enter = [this](Watch::Report& report) {
    watch_->enter();
    execute(report);
  };
  std::optional<CheckerAnswer> answer = watch.run(enter, &*watch_);
  if (!answer) return answer;
  answer->reads_reported = watch_->report_pages(reads_.pages());
  const bool interrupted = !accepts(*answer) && (watch_->may_be_interrupted() ||
                                                 answer->ending == CheckerAnswer::Ending::kSignal);
  return watch_->disturbs() || interrupted ? kUnsure : answer;
}

std::vector<ProgramWatch::Image> Program::images() const {
  std::vector<ProgramWatch::Image> images;
  for (const File& file : files_) {
    images.push_back({file.own, file.own_bytes, file.size, file.path});
  }
  return images;
}

void Program::prepare() {
  for (const File& file : files_) {
    struct stat now{};
    if (fstat(file.own, &now) != 0) fail();
    if (static_cast<std::size_t>(now.st_size) != file.size &&
        ftruncate(file.own, static_cast<off_t>(file.size)) != 0) {
      fail();
    }
    take_over(file);
    remove_others(file);
  }
}

// Copies the parts for which the image has data.
void Program::take_over(const File& file) {
  for_each_page_of(file.image, file.size, [&](std::size_t at, std::size_t size) {
    if (std::memcmp(file.image_bytes + at, file.own_bytes + at, size) != 0) {
      write_all(file.own, file.image_bytes + at, size, at);
    }
  });
}

// Removes the parts for which only the file has data.
void Program::remove_others(const File& file) {
  for (std::size_t at = next_part(file.own, 0, SEEK_DATA, file.size); at < file.size;) {
    const std::size_t end = next_part(file.own, at, SEEK_HOLE, file.size);
    while ((at = next_part(file.image, at, SEEK_HOLE, file.size)) < end) {
      const std::size_t last = std::min(next_part(file.image, at, SEEK_DATA, file.size), end);
      remove(file.own, at, last - at);
      at = last;
    }
    at = next_part(file.own, end, SEEK_DATA, file.size);
  }
}

// Runs the program, in a child.
void Program::execute(Watch::Report& report) const {
  std::vector<char*> words;
  for (const std::string& word : words_) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  report.error = errno;
}

}  // namespace pmemsim
