// Calls that may block in the kernel: while a thread waits for a descriptor, a child, a signal or a
// file's lock, other threads run. (Locks of threads block in the runtime's scheduler instead.)
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exported.hpp"
#include "file_data.hpp"
#include "real.hpp"
#include "replies.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "virtual_clock.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

bool never_blocks(int descriptor) {
  const long flags = real.syscall(SYS_fcntl, descriptor, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) != 0;
}

// Waits until the call won't block. Doesn't wait if no other thread could run meanwhile.
void await(int descriptor, short events) {
  while (!only_thread() && !never_blocks(descriptor)) {
    pollfd asked{descriptor, events, 0};
    if (real.poll(&asked, 1, 0) != 0) return;
    yield_until_ready(descriptor, events, 0);
  }
}

void await_sending(int descriptor, int flags) {
  if (active() && (flags & MSG_DONTWAIT) == 0) await(descriptor, POLLOUT);
}

// Notes what a call has received, and returns the call's result.
ssize_t received(int descriptor, const void* buffer, ssize_t bytes) {
  note_request(descriptor, buffer, bytes);
  return bytes;
}

// Returns the deadline for a time-out of poll(); 0 (no deadline) for a negative one.
std::uint64_t deadline_after(int milliseconds) {
  return milliseconds < 0 ? 0 : now() + static_cast<std::uint64_t>(milliseconds) * kMillisecond;
}

// Polls with a zero time-out at each turn, until a descriptor is ready or the deadline has passed.
template <class Poll>
int poll_by_turns(const char* what, std::uint64_t deadline, Poll poll_now) {
  for (;;) {
    const int ready = poll_now();
    if (ready != 0 || (deadline != 0 && now() >= deadline)) return ready;
    // Polls again after at most a millisecond of virtual time.
    const std::uint64_t soon = now() + kMillisecond;
    block(what, nullptr, deadline != 0 && deadline < soon ? deadline : soon);
  }
}

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT ssize_t read(int descriptor, void* buffer, std::size_t bytes) {
  if (active()) await(descriptor, POLLIN);
  return received(descriptor, buffer, real.read(descriptor, buffer, bytes));
}
PMEMSIM_EXPORT ssize_t write(int descriptor, const void* buffer, std::size_t bytes) {
  if (active()) await(descriptor, POLLOUT);
  const ssize_t written = real.write(descriptor, buffer, bytes);
  note_write_at_position(descriptor, buffer, written);
  return written;
}
PMEMSIM_EXPORT int accept(int descriptor, sockaddr* address, socklen_t* bytes) {
  if (active()) await(descriptor, POLLIN);
  return real.accept(descriptor, address, bytes);
}
PMEMSIM_EXPORT int accept4(int descriptor, sockaddr* address, socklen_t* bytes, int flags) {
  if (active()) await(descriptor, POLLIN);
  return real.accept4(descriptor, address, bytes, flags);
}
PMEMSIM_EXPORT ssize_t recv(int descriptor, void* buffer, std::size_t bytes, int flags) {
  if (active() && (flags & MSG_DONTWAIT) == 0) await(descriptor, POLLIN);
  return received(descriptor, buffer, real.recv(descriptor, buffer, bytes, flags));
}
PMEMSIM_EXPORT ssize_t recvfrom(int descriptor, void* buffer, std::size_t bytes, int flags,
                                sockaddr* address, socklen_t* address_bytes) {
  if (active() && (flags & MSG_DONTWAIT) == 0) await(descriptor, POLLIN);
  return received(descriptor, buffer,
                  real.recvfrom(descriptor, buffer, bytes, flags, address, address_bytes));
}
PMEMSIM_EXPORT ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  if (active() && (flags & MSG_DONTWAIT) == 0) await(descriptor, POLLIN);
  const void* first = message->msg_iovlen > 0 ? message->msg_iov->iov_base : nullptr;
  return received(descriptor, first, real.recvmsg(descriptor, message, flags));
}
PMEMSIM_EXPORT ssize_t send(int descriptor, const void* buffer, std::size_t bytes, int flags) {
  await_sending(descriptor, flags);
  const ssize_t sent = real.send(descriptor, buffer, bytes, flags);
  note_reply(descriptor, buffer, sent);
  return sent;
}
PMEMSIM_EXPORT ssize_t sendto(int descriptor, const void* buffer, std::size_t bytes, int flags,
                              const sockaddr* address, socklen_t address_bytes) {
  await_sending(descriptor, flags);
  const ssize_t sent = real.sendto(descriptor, buffer, bytes, flags, address, address_bytes);
  note_reply(descriptor, buffer, sent);
  return sent;
}
PMEMSIM_EXPORT ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  await_sending(descriptor, flags);
  const ssize_t sent = real.sendmsg(descriptor, message, flags);
  note_reply(descriptor, message->msg_iov, message->msg_iovlen, sent);
  return sent;
}
PMEMSIM_EXPORT int sendmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags) {
  await_sending(descriptor, flags);
  const int sent = real.sendmmsg(descriptor, messages, count, flags);
  for (int i = 0; i < sent; ++i) {
    const msghdr& message = messages[i].msg_hdr;
    note_reply(descriptor, message.msg_iov, message.msg_iovlen, messages[i].msg_len);
  }
  return sent;
}
PMEMSIM_EXPORT int epoll_wait(int descriptor, epoll_event* events, int count, int milliseconds) {
  if (!active() || only_thread() || milliseconds == 0) {
    return real.epoll_wait(descriptor, events, count, milliseconds);
  }
  return poll_by_turns("a file descriptor", deadline_after(milliseconds),
                       [&] { return real.epoll_wait(descriptor, events, count, 0); });
}
PMEMSIM_EXPORT pid_t waitpid(pid_t process, int* status, int options) {
  if (!active() || only_thread() || (options & WNOHANG) != 0) {
    return real.waitpid(process, status, options);
  }
  return poll_by_turns("a child process", 0,
                       [&] { return real.waitpid(process, status, options | WNOHANG); });
}
PMEMSIM_EXPORT pid_t wait(int* status) { return waitpid(-1, status, 0); }
PMEMSIM_EXPORT pid_t wait4(pid_t process, int* status, int options, rusage* usage) {
  if (!active() || only_thread() || (options & WNOHANG) != 0) {
    return real.wait4(process, status, options, usage);
  }
  return poll_by_turns("a child process", 0,
                       [&] { return real.wait4(process, status, options | WNOHANG, usage); });
}
PMEMSIM_EXPORT int waitid(idtype_t kind, id_t process, siginfo_t* information, int options) {
  if (!active() || only_thread() || (options & WNOHANG) != 0) {
    return real.waitid(kind, process, information, options);
  }
  siginfo_t found{};
  const int result = poll_by_turns("a child process", 0, [&] {
    const int error = real.waitid(kind, process, &found, options | WNOHANG);
    return error == 0 && found.si_pid != 0 ? 1 : error;
  });
  if (result > 0 && information != nullptr) *information = found;
  return result > 0 ? 0 : result;
}
PMEMSIM_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* information,
                                const timespec* timeout) {
  if (!active() || only_thread()) return real.sigtimedwait(set, information, timeout);
  const std::uint64_t deadline = timeout == nullptr ? 0 : now() + nanoseconds(*timeout);
  const timespec zero{};
  const int result = poll_by_turns("a signal", deadline, [&] {
    const int signal = real.sigtimedwait(set, information, &zero);
    return signal < 0 && errno == EAGAIN ? 0 : signal;
  });
  if (result == 0) errno = EAGAIN;
  return result > 0 ? result : -1;
}
PMEMSIM_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* information) {
  return sigtimedwait(set, information, nullptr);
}
PMEMSIM_EXPORT int sigwait(const sigset_t* set, int* signal) {
  if (!active() || only_thread()) return real.sigwait(set, signal);
  for (;;) {
    *signal = sigtimedwait(set, nullptr, nullptr);
    if (*signal > 0) return 0;
    if (errno != EINTR) return errno;
  }
}
PMEMSIM_EXPORT int flock(int descriptor, int operation) noexcept {
  if (!active() || only_thread() || (operation & LOCK_NB) != 0) {
    return real.flock(descriptor, operation);
  }
  const int result = poll_by_turns("the lock of a file", 0, [&] {
    if (real.flock(descriptor, operation | LOCK_NB) == 0) return 1;
    return errno == EWOULDBLOCK ? 0 : -1;
  });
  return result > 0 ? 0 : -1;
}
PMEMSIM_EXPORT int poll(pollfd* descriptors, nfds_t count, int milliseconds) {
  if (!active() || only_thread() || milliseconds == 0) {
    return real.poll(descriptors, count, milliseconds);
  }
  return poll_by_turns("a file descriptor", deadline_after(milliseconds),
                       [&] { return real.poll(descriptors, count, 0); });
}
PMEMSIM_EXPORT int ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout,
                         const sigset_t* signals) {
  if (!active() || only_thread()) return real.ppoll(descriptors, count, timeout, signals);
  const std::uint64_t deadline = timeout == nullptr ? 0 : now() + nanoseconds(*timeout);
  const timespec zero{};
  return poll_by_turns("a file descriptor", deadline,
                       [&] { return real.ppoll(descriptors, count, &zero, signals); });
}
PMEMSIM_EXPORT int select(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                          timeval* timeout) {
  if (!active() || only_thread()) {
    return real.select(count, readable, writable, exceptional, timeout);
  }
  const std::uint64_t deadline =
      timeout == nullptr
          ? 0
          : now() + static_cast<std::uint64_t>(timeout->tv_sec) * 1000 * kMillisecond +
                static_cast<std::uint64_t>(timeout->tv_usec) * 1000;
  fd_set sets[3];
  fd_set* const given[3] = {readable, writable, exceptional};
  const auto copy = [&](bool back) {
    for (int i = 0; i < 3; ++i) {
      if (given[i] != nullptr && back) *given[i] = sets[i];
      if (given[i] != nullptr && !back) sets[i] = *given[i];
    }
  };
  const int ready = poll_by_turns("a file descriptor", deadline, [&] {
    copy(false);
    timeval zero{};
    return real.select(count, readable != nullptr ? &sets[0] : nullptr,
                       writable != nullptr ? &sets[1] : nullptr,
                       exceptional != nullptr ? &sets[2] : nullptr, &zero);
  });
  copy(true);
  return ready;
}
