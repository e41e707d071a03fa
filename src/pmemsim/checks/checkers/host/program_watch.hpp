// Which pages of images a program reads or writes: it, and all that it starts, whatever that is
// built from.
//
//   1  The kernel tells of their system calls before they are done (call_filter.hpp), and which
//      pages of a process's memory have been used (process.hpp).
//   2  So a mapping's pages are taken down before it may go: with its process's program or end, or
//      by a call.
//   3  Images are opened, and read by read() and pread(), in the program's stead, where they are
//      opened by the names that it was given. What else opens, reads or changes their files shows
//      in these (file_events.hpp), whoever does it; nothing is told then.
//   4  A process may be killed and tell nothing. So as many must end by themselves as were begun.
//   5  Where pages could be used and taken out of the table again, or known of without being used,
//      or calls could get by, nothing is told either.
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
    std::string path;  // as the program is told
  };

  explicit ProgramWatch(std::vector<Image> images);
  ProgramWatch(const ProgramWatch&) = delete;
  ProgramWatch& operator=(const ProgramWatch&) = delete;

  // Before the program is started: false, nobody can watch it here.
  bool begin();
  // In the child, before it becomes the program.
  void enter() const;
  // Of the program that has ended: does it go as it would go alone? Perhaps not.
  bool disturbs() const { return disturbs_; }
  // A byte for each page of each image: is it used? False: nobody can tell.
  bool tell(std::span<std::byte> pages);

  bool started(pid_t child) override;
  int file() const override { return listener_; }
  bool attend() override;
  void ended() override;

 private:
  // A program that makes more calls is slowed down too much.
  static constexpr std::size_t kMostCalls = 20'000;
  static constexpr std::size_t kMostRegistered = 64;

  // A call that waits.
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
  // False: nobody waits for it any more.
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

  // Is there any of an image?
  bool vacate(const Call& call, std::uint64_t begin, std::uint64_t size);
  void take_down_all(pid_t thread);
  void take_down(pid_t thread, const ProcessMapping& mapping, std::size_t image);
  void take_down(std::size_t image, std::uint64_t page);
  std::optional<std::size_t> image_of(const FileId& file) const;

  const std::vector<Image> images_;
  std::vector<FileId> ids_;
  std::vector<std::vector<bool>> used_;  // pages of images
  FileEvents events_;
  bool works_ = true, held_ = false;  // in memory
  std::array<int, 2> pipe_{-1, -1};   // by which the child tells what begins the watch

  int listener_ = -1;
  std::size_t calls_ = 0;
  bool opened_ = false, given_up_ = false, disturbs_ = false, takes_rights_ = false;
  std::size_t begun_ = 0;  // processes
  std::set<pid_t> ended_;  // processes
  std::vector<int> userfaults_;
};

}  // namespace pmemsim
