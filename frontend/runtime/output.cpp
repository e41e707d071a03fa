// Compresses frames and writes them, in the order of their submission, on threads of its own.
//
// The order in which buffers are used depends neither on the speed of writing nor on the machine.
// The reason: functions of the runtime leave addresses on the program's stack, where the program
// may read them.
#include "output.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "pmemsim/trace/frame_file.hpp"
#include "processes.hpp"
#include "processor.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

constexpr int kMaxWorkers = 4;
constexpr std::uint64_t kMaxInFlight = 16;  // frames between submission and file
constexpr std::size_t kWorkerStackBytes = 256 * 1024;
constexpr time_t kLookEverySeconds = 1;

struct Job {
  trace::FrameHeader header;
  std::uint8_t* buffer;
  std::size_t bytes;
};

const char* file_path = nullptr;
int error = 0;  // errno of the first failed write

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t submitted_more = PTHREAD_COND_INITIALIZER;
pthread_cond_t written_more = PTHREAD_COND_INITIALIZER;
Job jobs[kMaxInFlight];
std::uint64_t submitted = 0, taken = 0, written = 0;
List<std::uint8_t*, 1u << 20> free_buffers;

class Guard {
 public:
  Guard() { real.pthread_mutex_lock(&mutex); }
  ~Guard() { real.pthread_mutex_unlock(&mutex); }
  void wait(pthread_cond_t& condition) { real.pthread_cond_wait(&condition, &mutex); }
  void wait_a_while(pthread_cond_t& condition) {
    timespec until;
    real.clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += kLookEverySeconds;
    real.pthread_cond_timedwait(&condition, &mutex, &until);
  }
};

struct Worker {
  void* context;  // ZSTD_CCtx
  void* stored;
  std::size_t capacity;
  void* stack;
};

[[noreturn]] void die_with_recorder() {
  abandon_output();
  real.syscall(SYS_kill, getpid(), SIGKILL);
  __builtin_unreachable();
}

void* work(void* argument) {
  const Worker worker = *static_cast<Worker*>(argument);
  for (;;) {
    Job job;
    std::uint64_t number;
    {
      Guard guard;
      while (taken == submitted) {
        guard.wait_a_while(submitted_more);
        if (!recorder_lives()) die_with_recorder();
      }
      number = taken++;
      job = jobs[number % kMaxInFlight];
    }
    const bool compressed = trace::compress_frame(worker.context, job.buffer, job.bytes,
                                                  worker.stored, worker.capacity, job.header);
    {
      Guard guard;
      while (written != number) guard.wait(written_more);
    }
    int failed = compressed ? 0 : EIO;
    if (failed == 0 && error == 0) failed = output_file->append(job.header, worker.stored);
    Guard guard;
    if (failed != 0 && error == 0) error = failed;
    ++written;
    real.pthread_cond_broadcast(&written_more);
  }
  return nullptr;
}

Worker* make_worker() {
  const std::size_t context_bytes = ZSTD_estimateCCtxSize(trace::kCompressionLevel);
  auto* worker = static_cast<Worker*>(allocate(sizeof(Worker)));
  worker->context = ZSTD_initStaticCCtx(allocate(context_bytes), context_bytes);
  worker->capacity = trace::stored_bound(kBufferBytes);
  worker->stored = allocate(worker->capacity);
  worker->stack = allocate(kWorkerStackBytes);
  return worker;
}

void start(Worker* worker) {
  // Blocks all signals: the program's threads must handle them.
  sigset_t all, before;
  sigfillset(&all);
  real.pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, worker->stack, kWorkerStackBytes);
  pthread_t handle;
  if (worker->context == nullptr || real.pthread_create(&handle, &attributes, &work, worker) != 0) {
    fail("the thread that writes the trace could not be started");
  }
  pthread_attr_destroy(&attributes);
  real.pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

[[noreturn]] void fail_to_write() {
  const int reason = error;
  abandon_output();
  fail("%s: the trace could not be written: %s; no trace was kept", file_path,
       std::strerror(reason));
}

}  // namespace

void open_output(const char* path) {
  file_path = path;
  output_file = new (allocate(sizeof(trace::FrameFile))) trace::FrameFile;
  if (const int failed = output_file->create(path)) {
    fail("%s: the trace could not be created: %s", path, std::strerror(failed));
  }
  return_buffer(take_buffer());  // the program's thread must allocate the list's memory, too
  const int usable = usable_processors();
  for (int i = 0; i < kMaxWorkers; ++i) {
    Worker* worker = make_worker();
    if (i == 0 || i + 1 < usable) start(worker);
  }
}

// Workers hold the lock only briefly, but the system may preempt a worker that holds it. A recorded
// thread that waits for the lock must not lose its turn inside the runtime.
std::uint8_t* take_buffer() {
  const Waiting waits;
  {
    Guard guard;
    if (free_buffers.size() > 0) {
      std::uint8_t* buffer = free_buffers[free_buffers.size() - 1];
      free_buffers.shrink(free_buffers.size() - 1);
      return buffer;
    }
  }
  return static_cast<std::uint8_t*>(allocate(kBufferBytes));
}

void return_buffer(std::uint8_t* buffer) {
  Guard guard;
  free_buffers.push(buffer);
}

void submit(trace::FrameKind kind, std::uint32_t thread, std::uint8_t* buffer, std::size_t bytes,
            std::uint64_t operations) {
  Job job{};
  job.header.kind = static_cast<std::uint8_t>(kind);
  job.header.thread = thread;
  job.header.operations = operations;
  job.buffer = buffer;
  job.bytes = bytes;
  const Waiting waits;
  Guard guard;
  if (error == 0) {
    while (submitted - written == kMaxInFlight && error == 0) guard.wait(written_more);
    Job& slot = jobs[submitted++ % kMaxInFlight];
    if (slot.buffer != nullptr) free_buffers.push(slot.buffer);
    slot = job;
    real.pthread_cond_signal(&submitted_more);
    return;
  }
  fail_to_write();
}

void Stream::put(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  while (count > 0) {
    if (buffer_ == nullptr) buffer_ = take_buffer();
    const std::size_t left = kBufferBytes - used_;
    const std::size_t part = count < left ? count : left;
    std::memcpy(buffer_ + used_, from, part);
    used_ += part;
    from += part;
    count -= part;
    if (used_ == kBufferBytes) end_frame();
  }
}

void Stream::keep_together(std::size_t bytes) {
  if (kBufferBytes - used_ < bytes) end_frame();
}

void Stream::end_frame() {
  if (used_ > 0) submit(kind_, 0, buffer_, used_, 0);
  if (used_ > 0) buffer_ = nullptr;
  used_ = 0;
}

void drain_output() {
  Guard guard;
  while (written != submitted) guard.wait(written_more);
  if (error != 0) fail_to_write();
}

void read_operations(void (*visit)(std::uint32_t, const std::uint8_t*, const std::uint8_t*)) {
  const Waiting waits;
  drain_output();
  const std::size_t context_bytes = ZSTD_estimateDCtxSize();
  ZSTD_DCtx* context = ZSTD_initStaticDCtx(allocate(context_bytes), context_bytes);
  void* stored = allocate(trace::stored_bound(kBufferBytes));
  std::uint8_t* raw = take_buffer();
  for (std::uint64_t frame = 0; frame < output_file->frames(); ++frame) {
    const trace::FrameHeader& header = output_file->entry(frame).header;
    if (!is(header, trace::FrameKind::kOperations)) continue;
    error = output_file->read(frame, stored);
    if (error != 0) fail_to_write();
    const std::size_t bytes =
        ZSTD_decompressDCtx(context, raw, kBufferBytes, stored, header.stored_bytes);
    if (bytes == header.raw_bytes) visit(header.thread, raw, raw + bytes);
  }
  return_buffer(raw);
}

void finish_output(const std::uint32_t* thread_numbers) {
  for (std::uint64_t frame = 0; frame < output_file->frames() && error == 0; ++frame) {
    const trace::FrameHeader& header = output_file->entry(frame).header;
    if (!is(header, trace::FrameKind::kOperations) && !is(header, trace::FrameKind::kTurns)) {
      continue;
    }
    const std::uint32_t thread = thread_numbers[header.thread];
    if (thread != header.thread) error = output_file->renumber(frame, thread);
  }
  if (error == 0) error = output_file->finish();
  if (error != 0) fail_to_write();
}

}  // namespace pmemsim::rt
