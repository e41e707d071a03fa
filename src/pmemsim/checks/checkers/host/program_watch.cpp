#include "pmemsim/checks/checkers/host/program_watch.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "pmemsim/checks/checkers/host/call_filter.hpp"
#include "pmemsim/checks/checkers/host/page_by_page.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"

namespace pmemsim {
namespace {

// Maximum size in B of an image that must be locked in memory.
constexpr std::size_t kMostHeld = std::size_t{64} << 20;

bool can_be_swapped_out() {
  struct sysinfo info{};
  return sysinfo(&info) != 0 || info.totalswap != 0;
}

// True if the kernel may merge a file's pages into huge ones, which removes them from the page
// tables.
bool can_become_huge() {
  const int file = ::open("/sys/kernel/mm/transparent_hugepage/shmem_enabled", O_RDONLY);
  if (file < 0) return false;
  std::string text(100, '\0');
  const bool known = ::read(file, text.data(), text.size()) > 0;
  close(file);
  const auto is_set = [&](const char* choice) { return text.find(choice) != std::string::npos; };
  return !known || !(is_set("[never]") || is_set("[deny]") || is_set("[advise]"));
}

bool is_in_memory(int file) {
  struct statfs found{};
  return fstatfs(file, &found) == 0 && found.f_type == TMPFS_MAGIC;
}

// True if the program has rights of its own, other than its caller's.
bool has_other_rights(pid_t thread, std::string path) {
  if (!path.starts_with('/')) path = "/proc/" + std::to_string(thread) + "/cwd/" + path;
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return false;
  return (found.st_mode & (S_ISUID | S_ISGID)) != 0 ||
         getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

// True if these flags open the same file for any caller and leave its contents unchanged.
bool is_plain_opening(std::uint64_t flags) {
  constexpr std::uint64_t kLarge = 0100000;  // The kernel's O_LARGEFILE; C's is 0
  constexpr std::uint64_t kPlain = O_ACCMODE | O_CLOEXEC | O_CREAT | O_NOCTTY | O_NONBLOCK |
                                   O_SYNC | O_DSYNC | O_NOATIME | kLarge;
  return (flags & ~kPlain) == 0;
}

}  // namespace

struct ProgramWatch::Opened {
  Opened(const ProgramWatch& watch, const Call& call, std::uint64_t number) {
    if (const std::optional<pid_t> process = process_of(call.thread)) {
      file = copy_of_file(*process, static_cast<int>(number));
    }
    const std::optional<FileId> id = id_of(file);
    if (id) image = watch.image_of(*id);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (file >= 0) close(file);
  }
  // True if the image is open for this access, buffered, and has the expected size.
  bool is_open_for(int access, std::size_t size) const {
    const int flags = fcntl(file, F_GETFL);
    const int way = flags & O_ACCMODE;
    struct stat found{};
    return (flags & (O_PATH | O_DIRECT)) == 0 && (way == access || way == O_RDWR) &&
           fstat(file, &found) == 0 && static_cast<std::size_t>(found.st_size) == size;
  }

  int file = -1;
  std::optional<std::size_t> image;
};

ProgramWatch::ProgramWatch(std::vector<Image> images) : images_(std::move(images)) {
  const bool must_be_held = can_be_swapped_out();
  works_ = !can_become_huge();
  for (const Image& image : images_) {
    ids_.push_back(id_of(image.file).value_or(FileId{}));
    works_ = works_ && is_in_memory(image.file) &&
             events_.watch("/proc/self/fd/" + std::to_string(image.file));
    if (!must_be_held) continue;
    works_ = works_ && image.size <= kMostHeld && mlock(image.bytes, image.size) == 0;
    held_ = true;
  }
}

bool ProgramWatch::begin() {
  for (const Image& image : images_) {
    if (!held_) break;
    void* bytes = const_cast<std::byte*>(image.bytes);
    works_ = works_ && madvise(bytes, image.size, MADV_POPULATE_READ) == 0;
  }
  if (!works_ || pipe2(pipe_.data(), O_CLOEXEC) != 0) return false;
  used_.clear();
  for (const Image& image : images_) used_.emplace_back(pages_of(image.size));
  events_.take();
  calls_ = 0;
  last_call_.reset();
  opened_ = given_up_ = disturbs_ = setuid_is_ignored_ = interrupted_ = false;
  begun_ = 1;
  ended_.clear();
  return true;
}

void ProgramWatch::enter() const {
  const CallFilter filter = install_call_filter();
  if (write(pipe_[1], &filter, sizeof(filter)) != sizeof(filter)) _exit(1);
}

bool ProgramWatch::started(pid_t child) {
  close(pipe_[1]);
  CallFilter filter{.listener = -1, .setuid_is_ignored = false};
  const bool report = ::read(pipe_[0], &filter, sizeof(filter)) == sizeof(filter);
  close(pipe_[0]);
  if (report && filter.listener >= 0) listener_ = copy_of_file(child, filter.listener);
  setuid_is_ignored_ = filter.setuid_is_ignored;
  works_ = listener_ >= 0;
  disturbs_ = !works_;
  return works_;
}

void ProgramWatch::ended() {
  if (listener_ >= 0) close(std::exchange(listener_, -1));
  for (const int file : std::exchange(userfaults_, {})) close(file);
}

bool ProgramWatch::report_pages(std::span<std::byte> pages) {
  expect(FileEvents::Seen::kNothing);
  if (given_up_ || disturbs_ || (opened_ && ended_.size() != begun_)) return false;
  std::size_t report = 0;
  for (const std::vector<bool>& of_image : used_) {
    for (const bool used : of_image) pages[report++] = used ? std::byte{1} : std::byte{0};
  }
  return true;
}

bool ProgramWatch::may_be_interrupted() const {
  return interrupted_ || (!given_up_ && !disturbs_ && opened_ && ended_.size() < begun_);
}

// Implements rule 3 (program_watch.hpp).
void ProgramWatch::expect(FileEvents::Seen seen) {
  if (events_.take() != seen) given_up_ = true;
}

bool ProgramWatch::attend() {
  if (++calls_ > kMostCalls) disturbs_ = true;
  Call call{};
  if (!disturbs_ && receive(call)) handle(call);
  return !disturbs_;
}

// Receives a stopped call. Returns false if no caller waits any more.
bool ProgramWatch::receive(Call& call) {
  seccomp_notif waits{};
  if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &waits) != 0) return false;
  call = {.id = waits.id,
          .thread = static_cast<pid_t>(waits.pid),
          .number = waits.data.nr,
          .arguments = {}};
  std::ranges::copy(waits.data.args, call.arguments.begin());
  if (last_call_ && waits.id != *last_call_ + 1) interrupted_ = true;  // Rule 6
  last_call_ = waits.id;
  if (waits.data.arch != AUDIT_ARCH_X86_64) given_up_ = true;
  return true;
}

bool ProgramWatch::let_go(const Call& call) const {
  seccomp_notif_resp response{};
  response.id = call.id;
  response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  return ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

void ProgramWatch::answer(const Call& call, std::int64_t value) const {
  seccomp_notif_resp response{};
  response.id = call.id;
  response.val = value;
  ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void ProgramWatch::handle(const Call& call) {
  if (given_up_) {
    let_go(call);
    return;
  }
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_open:
      return open(call, arguments[0], arguments[1]);
    case SYS_openat:
      return open(call, arguments[1], arguments[2]);
    case SYS_read:
      return read(call, std::nullopt);
    case SYS_pread64:
      return read(call, arguments[3]);
    case SYS_ftruncate:
    case SYS_fallocate:
      return keep_size(call);
    default:
      return handle_memory(call);
  }
}

void ProgramWatch::handle_memory(const Call& call) {
  switch (call.number) {
    case SYS_mmap:
      return map(call);
    case SYS_munmap:
    case SYS_remap_file_pages:
      vacate(call, call.arguments[0], call.arguments[1]);
      break;
    case SYS_madvise:
      advise(call);
      break;
    case SYS_mremap:
      move(call);
      break;
    default:
      return handle_process(call);
  }
  let_go(call);
}

void ProgramWatch::handle_process(const Call& call) {
  switch (call.number) {
    case SYS_execve:
    case SYS_execveat:
      begin_program(call);
      break;
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3:
      begin_process(call);
      break;
    case SYS_exit:
      return end_thread(call);
    case SYS_exit_group:
      return end_process(call);
    default:
      given_up_ = true;  // Rule 5
  }
  let_go(call);
}

void ProgramWatch::open(const Call& call, std::uint64_t path, std::uint64_t flags) {
  if (is_plain_opening(flags)) {
    const std::optional<std::string> name = read_text(call.thread, path);
    const auto found = std::ranges::find_if(
        images_, [&](const Image& image) { return name && image.path == *name; });
    if (found != images_.end() && open_image(call, *found, static_cast<int>(flags))) return;
  }
  let_go(call);
}

// Opens the image for the caller, so that any other opening is another process's. Returns false if
// this fails.
bool ProgramWatch::open_image(const Call& call, const Image& image, int flags) {
  expect(FileEvents::Seen::kNothing);
  const int file = ::open(image.path.c_str(), flags | O_CLOEXEC, 0);
  if (file < 0) return false;
  expect(FileEvents::Seen::kOneOpening);
  opened_ = true;
  seccomp_notif_addfd added{};
  added.id = call.id;
  added.flags = SECCOMP_ADDFD_FLAG_SEND;
  added.srcfd = static_cast<std::uint32_t>(file);
  added.newfd_flags = static_cast<std::uint32_t>(flags & O_CLOEXEC);
  const bool done = ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &added) >= 0;
  close(file);
  return done;
}

// Executes a read() or pread() of an image: from offset `from`, or from the file's position.
void ProgramWatch::read(const Call& call, std::optional<std::uint64_t> from) {
  if (!opened_) {
    let_go(call);
    return;
  }
  const Opened opened(*this, call, call.arguments[0]);
  const Image* image = opened.image ? &images_[*opened.image] : nullptr;
  if (image == nullptr || !opened.is_open_for(O_RDONLY, image->size)) {
    let_go(call);
    return;
  }
  const std::uint64_t at =
      from ? *from : static_cast<std::uint64_t>(lseek(opened.file, 0, SEEK_CUR));
  const std::uint64_t size = at < image->size ? std::min(call.arguments[2], image->size - at) : 0;
  if (static_cast<std::int64_t>(at) < 0 ||
      !write_memory(call.thread, call.arguments[1], image->bytes + at, size)) {
    let_go(call);
    return;
  }
  if (!from) lseek(opened.file, static_cast<off_t>(size), SEEK_CUR);
  for (std::uint64_t page = at / kReadBytes; page * kReadBytes < at + size; ++page) {
    record_read(*opened.image, page);
  }
  answer(call, static_cast<std::int64_t>(size));
}

// Executes a call that gives a file its current size: its contents stay unchanged.
void ProgramWatch::keep_size(const Call& call) {
  if (!opened_) {
    let_go(call);
    return;
  }
  const auto& arguments = call.arguments;
  const Opened opened(*this, call, arguments[0]);
  const std::size_t size = opened.image ? images_[*opened.image].size : 0;
  const bool keeps = call.number == SYS_ftruncate
                         ? arguments[1] == size
                         : arguments[1] == 0 && arguments[3] != 0 && arguments[2] <= size &&
                               arguments[3] <= size - arguments[2];
  if (opened.image && keeps && opened.is_open_for(O_WRONLY, size)) {
    answer(call, 0);
  } else {
    let_go(call);
  }
}

void ProgramWatch::map(const Call& call) {
  const auto flags = static_cast<int>(call.arguments[3]);
  if ((flags & MAP_FIXED) != 0) vacate(call, call.arguments[0], call.arguments[1]);
  if (opened_ && (flags & MAP_ANONYMOUS) == 0 && userfaults_.size() < kMostRegistered &&
      Opened(*this, call, call.arguments[4]).image) {
    const std::optional<pid_t> process = process_of(call.thread);
    const int file = fault_in_page_by_page(call.thread, process.value_or(call.thread),
                                           call.arguments[1], [&] { let_go(call); });
    if (file >= 0) userfaults_.push_back(file);
  } else {
    let_go(call);
  }
}

void ProgramWatch::advise(const Call& call) {
  constexpr std::array<std::uint64_t, 5> kUnderstood{MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK,
                                                     MADV_DONTDUMP, MADV_DODUMP};
  if (vacate(call, call.arguments[0], call.arguments[1]) &&
      std::ranges::find(kUnderstood, call.arguments[2]) == kUnderstood.end()) {
    given_up_ = true;
  }
}

void ProgramWatch::move(const Call& call) {
  vacate(call, call.arguments[0], call.arguments[1]);
  if ((call.arguments[3] & MREMAP_FIXED) != 0) vacate(call, call.arguments[4], call.arguments[2]);
}

void ProgramWatch::begin_program(const Call& call) {
  record_all_reads(call.thread);
  const bool by_name = call.number == SYS_execve;
  const std::optional<std::string> path =
      by_name ? read_text(call.thread, call.arguments[0]) : std::nullopt;
  if (path && !has_other_rights(call.thread, *path)) return;
  (setuid_is_ignored_ ? disturbs_ : given_up_) = true;
}

// Implements rule 4 (program_watch.hpp).
void ProgramWatch::begin_process(const Call& call) {
  std::uint64_t flags = call.number == SYS_clone ? call.arguments[0] : 0;
  if (call.number == SYS_clone3 &&
      !read_memory(call.thread, call.arguments[0], &flags, sizeof(flags))) {
    given_up_ = true;
  }
  const bool is_thread = (flags & CLONE_THREAD) != 0;
  if (!is_thread) ++begun_;
  if ((flags & (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER)) != 0 ||
      (is_thread && (flags & CLONE_FILES) == 0)) {
    given_up_ = true;
  }
}

// Handles the end of a thread. The last one ends its process.
void ProgramWatch::end_thread(const Call& call) {
  const std::optional<ProcessStatus> status = status_of(call.thread);
  if (status && status->threads == 1) return end_process(call);
  let_go(call);
}

void ProgramWatch::end_process(const Call& call) {
  record_all_reads(call.thread);
  const std::optional<pid_t> process = process_of(call.thread);
  if (let_go(call) && process) ended_.insert(*process);
}

// Rule 2. While another thread runs, it may use more pages before the memory is unmapped. (munmap()
// is exempt: a thread that uses its memory would crash immediately afterwards.)
bool ProgramWatch::vacate(const Call& call, std::uint64_t begin, std::uint64_t size) {
  if (!opened_) return false;
  const auto mappings = mappings_of(call.thread);
  if (!mappings) given_up_ = true;
  bool found = false;
  for (const ProcessMapping& mapping : mappings.value_or(std::vector<ProcessMapping>())) {
    if (mapping.end <= begin || mapping.begin >= begin + size) continue;
    // The mapping could be unmapped when the heap shrinks.
    if (mapping.heap && call.number == SYS_mmap) given_up_ = true;
    const std::optional<std::size_t> image = image_of(mapping.file);
    if (!image) continue;
    record_read(call.thread, mapping, *image);
    found = true;
  }
  if (found && call.number != SYS_munmap) {
    const std::optional<ProcessStatus> status = status_of(call.thread);
    if (!status || status->threads != 1) given_up_ = true;
  }
  return found;
}

void ProgramWatch::record_all_reads(pid_t thread) {
  if (!opened_) return;
  const auto mappings = mappings_of(thread);
  if (!mappings) given_up_ = true;
  for (const ProcessMapping& mapping : mappings.value_or(std::vector<ProcessMapping>())) {
    const std::optional<std::size_t> image = image_of(mapping.file);
    if (image) record_read(thread, mapping, *image);
  }
}

void ProgramWatch::record_read(pid_t thread, const ProcessMapping& mapping, std::size_t image) {
  const auto used = pages_used(thread, mapping.begin, mapping.end);
  if (!used) {
    given_up_ = true;
    return;
  }
  for (std::size_t page = 0; page < used->size(); ++page) {
    if ((*used)[page]) record_read(image, mapping.offset / kReadBytes + page);
  }
}

void ProgramWatch::record_read(std::size_t image, std::uint64_t page) {
  if (page < used_[image].size()) used_[image][page] = true;
}

std::optional<std::size_t> ProgramWatch::image_of(const FileId& file) const {
  const auto found = std::ranges::find(ids_, file);
  if (found == ids_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ids_.begin());
}

}  // namespace pmemsim
