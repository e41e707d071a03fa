// Notices the pages of images that a program and all processes that it starts read or write,
// however they are built.
//
//   1  The kernel reports their system calls before they execute (call_filter.hpp), and the used
//      pages of a process's memory (process.hpp).
//   2  A mapping's used pages are recorded before the mapping may be unmapped: by a call, or when
//      its process starts another program or ends.
//   3  If a program opens an image by the path that it was given, the watcher executes this call
//      for the program, and later its read() and pread(). Any other opening, reading or change of
//      these files, by any process, shows as an event of the files (file_events.hpp). No reads are
//      reported then.
//   4  A process may be killed without a report. So the number of processes that are seen to end
//      must equal the number of processes begun. (A process counts twice if a signal arrives while
//      a call starts it, since the kernel then repeats the call.)
//   5  No reads are reported either if used pages could be removed from the page table, if a
//      program could detect a page's contents without using the page, or if calls could bypass the
//      filter.
//   6  A signal may interrupt a stopped call before the watcher receives it. Unless the signal's
//      handler asks for a restart (SA_RESTART), the call fails, which no program expects. A missing
//      number of a stopped call shows this. If such a run fails, that is no verdict. If it
//      succeeds, it is one: a call that fails reads nothing.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/checkers/host/file_events.hpp"
#include "pmemsim/checks/checkers/host/process.hpp"
#include "pmemsim/checks/checkers/host/watch.hpp"

namespace pmemsim {

class ProgramWatch final : public Watch::Companion {
 public:
  struct Image {
    int file;
    const std::byte* bytes;
    std::size_t size;
    std::string path;  // Path given to the program
  };

  explicit ProgramWatch(std::vector<Image> images);
  ProgramWatch(const ProgramWatch&) = delete;
  ProgramWatch& operator=(const ProgramWatch&) = delete;

  // Starts a watch, before the program is started. Returns false if it can't be watched here.
  bool begin();
  // Installs the filter, in the child, before it becomes the program.
  void enter() const;
  // True if the program that has ended may have behaved differently than without the watch.
  bool disturbs() const { return disturbs_; }
  // True if signals may be the reason why the program failed, or why its pages are unknown.
  bool may_be_interrupted() const;
  // Stores for each page of each image whether it was used. Returns false if this is unknown.
  bool report_pages(std::span<std::byte> pages);

  bool started(pid_t child) override;
  int file() const override { return listener_; }
  bool attend() override;
  void ended() override;

 private:
  // Maximum number of calls: a program that makes more is slowed down too much.
  static constexpr std::size_t kMostCalls = 20'000;
  static constexpr std::size_t kMostRegistered = 64;

  // A call that the kernel has stopped.
  struct Call {
    std::uint64_t id;
    pid_t thread;
    long number;
    std::array<std::uint64_t, 6> arguments;
  };
  // An image that a caller has open.
  struct Opened;

  bool receive(Call& call);
  void handle(const Call& call);
  void handle_memory(const Call& call);
  void handle_process(const Call& call);
  // Lets the call continue. Returns false if its caller no longer waits.
  bool let_go(const Call& call) const;
  void answer(const Call& call, std::int64_t value) const;
  void expect(FileEvents::Seen seen);

  void open(const Call& call, std::uint64_t path, std::uint64_t flags);
  bool open_image(const Call& call, const Image& image, int flags);
  void read(const Call& call, std::optional<std::uint64_t> from);
  void keep_size(const Call& call);
  void map(const Call& call);
  void advise(const Call& call);
  void move(const Call& call);
  void begin_program(const Call& call);
  void begin_process(const Call& call);
  void end_thread(const Call& call);
  void end_process(const Call& call);

  // Records the used pages of a memory range that is about to be unmapped. True if an image is
  // mapped there.
  bool vacate(const Call& call, std::uint64_t begin, std::uint64_t size);
  void record_all_reads(pid_t thread);
  void record_read(pid_t thread, const ProcessMapping& mapping, std::size_t image);
  void record_read(std::size_t image, std::uint64_t page);
  std::optional<std::size_t> image_of(const FileId& file) const;

  const std::vector<Image> images_;
  std::vector<FileId> ids_;
  std::vector<std::vector<bool>> used_;  // Pages used, by image
  FileEvents events_;
  bool works_ = true, held_ = false;  // held_: the images are locked in memory
  std::array<int, 2> pipe_{-1, -1};   // From the child: its filter, which begins the watch

  int listener_ = -1;
  std::size_t calls_ = 0;
  std::optional<std::uint64_t> last_call_;  // Number of the last call received
  bool opened_ = false, given_up_ = false, disturbs_ = false, setuid_is_ignored_ = false;
  bool interrupted_ = false;
  std::size_t begun_ = 0;  // Number of processes begun
  std::set<pid_t> ended_;  // Processes that have ended
  std::vector<int> userfaults_;
};

}  // namespace pmemsim
