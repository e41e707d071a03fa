// libpmemobj's transactions (libpmemobj.hpp, rules 1 to 3).
#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <cwchar>

#include "libpmemobj.hpp"
#include "library_calls.hpp"
#include "pmemobj_objects.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

using Pool = pmemobjpool*;

constexpr char kHeader[] = "/usr/include/libpmemobj/tx_base.h";
// Flags of the library (POBJ_XADD_..., POBJ_XALLOC_...).
constexpr std::uint64_t kZero = 1, kNoFlushing = 2;

enum Stage : int { kNone, kWork, kOnCommit, kOnAbort, kFinally };  // enum pobj_tx_stage
enum Parameter { kNoMore, kMutex, kReadWriteLock, kCallback };

struct {
  int (*begin)(Pool, void*, ...);
  Stage (*stage)();
  void (*abort)(int);
  void (*commit)();
  int (*end)();
  void (*process)();
  int (*failure)();
  int (*add)(ObjectId, std::uint64_t, std::size_t);
  int (*add_direct)(const void*, std::size_t);
  int (*xadd)(ObjectId, std::uint64_t, std::size_t, std::uint64_t);
  int (*xadd_direct)(const void*, std::size_t, std::uint64_t);
  ObjectId (*alloc)(std::size_t, std::uint64_t);
  ObjectId (*zalloc)(std::size_t, std::uint64_t);
  ObjectId (*xalloc)(std::size_t, std::uint64_t, std::uint64_t);
  ObjectId (*realloc)(ObjectId, std::size_t, std::uint64_t);
  ObjectId (*zrealloc)(ObjectId, std::size_t, std::uint64_t);
  ObjectId (*strdup)(const char*, std::uint64_t);
  ObjectId (*xstrdup)(const char*, std::uint64_t, std::uint64_t);
  ObjectId (*wcsdup)(const wchar_t*, std::uint64_t);
  ObjectId (*xwcsdup)(const wchar_t*, std::uint64_t, std::uint64_t);
  int (*free)(ObjectId);
  int (*xfree)(ObjectId, std::uint64_t);
  int (*publish)(void*, std::size_t);
  int (*xpublish)(void*, std::size_t, std::uint64_t);
} library;

// The program need not call the function itself.
Stage current_stage() {
  static const auto stage = reinterpret_cast<Stage (*)()>(pmemobj_function("pmemobj_tx_stage"));
  return stage();
}

// ---- A thread's transaction ---------------------------------------------------------------------

enum class Use : std::uint8_t { kAdded, kAllocated, kFreed, kActions };
struct Part {
  std::uint64_t begin, bytes;  // for kActions: their address and number
  Use use;
  bool flush;
};
struct Transaction {
  List<Part, 1u << 21> parts;
  std::uint32_t depth;  // transactions begun within each other
  bool open;            // the region has not ended
};
Map<Transaction*> transactions;  // key: a thread's index + 1

Transaction& mine() {
  Transaction*& transaction = transactions[self->index + 1];
  if (transaction == nullptr) {
    transaction = static_cast<Transaction*>(allocate(sizeof(Transaction)));
  }
  return *transaction;
}

void begin_flushes(LibraryCall& call) {
  call.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(trace::Purpose::kDataFlush));
}
void end_flushes(LibraryCall& call) {
  call.fence();
  call.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(trace::Purpose::kProgram));
}
void end_region(LibraryCall& call, Transaction& transaction) {
  call.mark(trace::MarkKind::kRegionEnd, 1);
  transaction.open = false;
  transaction.parts.shrink(0);
}

void record_commit(LibraryCall& call, Transaction& transaction) {
  for (const Part& part : transaction.parts) {
    if (part.use == Use::kActions) {
      record_actions(call, reinterpret_cast<void*>(part.begin), part.bytes);
    }
  }
  begin_flushes(call);
  for (const Part& part : transaction.parts) {
    const bool written = part.use == Use::kAdded || part.use == Use::kAllocated;
    if (written && part.flush) call.flush(reinterpret_cast<void*>(part.begin), part.bytes);
  }
  end_flushes(call);
  for (const Part& part : transaction.parts) {
    if (part.use == Use::kFreed) call.mark(trace::MarkKind::kFree, part.begin, part.bytes);
  }
  end_region(call, transaction);
}

void record_abort(LibraryCall& call, Transaction& transaction) {
  for (const Part& part : transaction.parts) {
    if (part.use == Use::kAdded) {
      call.copied(reinterpret_cast<void*>(part.begin), nullptr, part.bytes);
    }
  }
  begin_flushes(call);
  for (const Part& part : transaction.parts) {
    if (part.use == Use::kAdded) call.flush(reinterpret_cast<void*>(part.begin), part.bytes);
  }
  end_flushes(call);
  for (const Part& part : transaction.parts) {
    if (part.use == Use::kAllocated) call.mark(trace::MarkKind::kFree, part.begin, part.bytes);
  }
  end_region(call, transaction);
}

// A call of a function of transactions. The library has rolled the transaction back if it is
// outermost and aborted.
class TransactionCall {
 public:
  explicit TransactionCall(LibraryFunction& function,
                           const void* caller = __builtin_return_address(0))
      : call_(function, Callers::kRecorded, caller) {
    if (!call_.recorded()) return;
    transaction_ = &mine();
    if (transaction_->open && transaction_->depth == 1 && current_stage() == kOnAbort) {
      record_abort(call_, *transaction_);
    }
  }
  bool recorded() const { return transaction_ != nullptr && transaction_->open; }
  LibraryCall& call() { return call_; }
  Transaction* transaction() { return transaction_; }

  void add(const void* begin, std::size_t bytes, std::uint64_t flags) {
    if (!recorded() || begin == nullptr) return;
    const auto address = std::uint64_t{reinterpret_cast<std::uintptr_t>(begin)};
    call_.mark(trace::MarkKind::kLogRange, address, bytes);
    note({address, bytes, Use::kAdded, (flags & kNoFlushing) == 0});
  }
  // `filled`: bytes that the library has stored.
  ObjectId allocated(ObjectId object, std::uint64_t flags, std::size_t filled) {
    if (!recorded() || object.is_null()) return object;
    void* const begin = address_of(object);
    const auto address = std::uint64_t{reinterpret_cast<std::uintptr_t>(begin)};
    const std::size_t bytes = usable_bytes(object);
    call_.mark(trace::MarkKind::kAllocate, address, bytes);
    note({address, bytes, Use::kAllocated, (flags & kNoFlushing) == 0});
    call_.copied(begin, nullptr, filled);
    return object;
  }
  Part freed(ObjectId object) const {
    return {std::uint64_t{reinterpret_cast<std::uintptr_t>(address_of(object))},
            usable_bytes(object), Use::kFreed, false};
  }
  void note(const Part& part) {
    if (!transaction_->parts.push(part)) fail("a transaction has too many ranges");
  }
  void committed() {
    if (recorded() && transaction_->depth == 1) record_commit(call_, *transaction_);
  }

 private:
  LibraryCall call_;
  Transaction* transaction_ = nullptr;
};

// ---- Stages -------------------------------------------------------------------------------------

// Passes on all parameters behind `env`: locks, and a callback with its argument.
int begin(Pool pool, void* env, ...) {
  static LibraryFunction function{kHeader, "pmemobj_tx_begin"};
  constexpr int kMost = 32;
  long words[kMost] = {};
  std::va_list list;
  va_start(list, env);
  for (int i = 0; i + 3 < kMost;) {
    words[i] = va_arg(list, int);
    const long parameter = words[i++];
    if (parameter == kNoMore) break;
    words[i++] = va_arg(list, long);
    if (parameter == kCallback) words[i++] = va_arg(list, long);
  }
  va_end(list);
  TransactionCall call(function);
  const long* w = words;
  const int result =
      library.begin(pool, env, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
                    w[11], w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21],
                    w[22], w[23], w[24], w[25], w[26], w[27], w[28], w[29], w[30], w[31]);
  Transaction* const transaction = call.transaction();
  if (transaction == nullptr || current_stage() == kNone) return result;
  if (transaction->depth++ == 0 && result == 0) {
    call.call().mark(trace::MarkKind::kRegionBegin, 1);
    transaction->open = true;
  }
  return result;
}

Stage stage() {
  const Stage now = library.stage();
  if (now == kOnAbort) {
    static LibraryFunction function{kHeader, "pmemobj_tx_stage"};
    const TransactionCall call(function);
  }
  return now;
}

void abort(int error) {
  static LibraryFunction function{kHeader, "pmemobj_tx_abort"};
  {
    const TransactionCall call(function);
  }
  library.abort(error);
}

void commit() {
  static LibraryFunction function{kHeader, "pmemobj_tx_commit"};
  TransactionCall call(function);
  library.commit();
  call.committed();
}

void process() {
  static LibraryFunction function{kHeader, "pmemobj_tx_process"};
  const bool commits = current_stage() == kWork;
  TransactionCall call(function);
  library.process();
  if (commits) call.committed();
}

// The library aborts the outer transaction, too, if this one was aborted.
int end() {
  static LibraryFunction function{kHeader, "pmemobj_tx_end"};
  TransactionCall call(function);
  if (Transaction* const transaction = call.transaction()) {
    if (transaction->depth > 0) --transaction->depth;
  }
  return library.end();
}

int failure() {
  static LibraryFunction function{kHeader, "pmemobj_tx_errno"};
  const int error = library.failure();
  if (current_stage() == kOnAbort) const TransactionCall call(function);
  return error;
}

// ---- Ranges -------------------------------------------------------------------------------------

const char* part_of(ObjectId object, std::uint64_t offset) {
  const void* begin = address_of(object);
  return begin == nullptr ? nullptr : static_cast<const char*>(begin) + offset;
}

int add(ObjectId object, std::uint64_t offset, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmemobj_tx_add_range"};
  TransactionCall call(function);
  const int result = library.add(object, offset, bytes);
  if (result == 0 && call.recorded()) call.add(part_of(object, offset), bytes, 0);
  return result;
}
int add_direct(const void* begin, std::size_t bytes) {
  static LibraryFunction function{kHeader, "pmemobj_tx_add_range_direct"};
  TransactionCall call(function);
  const int result = library.add_direct(begin, bytes);
  if (result == 0) call.add(begin, bytes, 0);
  return result;
}
int xadd(ObjectId object, std::uint64_t offset, std::size_t bytes, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xadd_range"};
  TransactionCall call(function);
  const int result = library.xadd(object, offset, bytes, flags);
  if (result == 0 && call.recorded()) call.add(part_of(object, offset), bytes, flags);
  return result;
}
int xadd_direct(const void* begin, std::size_t bytes, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xadd_range_direct"};
  TransactionCall call(function);
  const int result = library.xadd_direct(begin, bytes, flags);
  if (result == 0) call.add(begin, bytes, flags);
  return result;
}

// ---- Objects ------------------------------------------------------------------------------------

ObjectId alloc(std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_tx_alloc"};
  TransactionCall call(function);
  return call.allocated(library.alloc(bytes, type), 0, 0);
}
ObjectId zalloc(std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_tx_zalloc"};
  TransactionCall call(function);
  return call.allocated(library.zalloc(bytes, type), 0, bytes);
}
ObjectId xalloc(std::size_t bytes, std::uint64_t type, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xalloc"};
  TransactionCall call(function);
  return call.allocated(library.xalloc(bytes, type, flags), flags,
                        (flags & kZero) != 0 ? bytes : 0);
}

using Reallocation = ObjectId (*)(ObjectId, std::size_t, std::uint64_t);

ObjectId reallocate(TransactionCall& call, Reallocation original, bool zeroes, ObjectId object,
                    std::size_t bytes, std::uint64_t type) {
  if (!call.recorded()) return original(object, bytes, type);
  const Part before = call.freed(object);
  const ObjectId changed = original(object, bytes, type);
  if (changed.offset == object.offset) return changed;
  const std::size_t copied = before.bytes < bytes ? before.bytes : bytes;
  call.allocated(changed, 0, zeroes ? bytes : copied);
  if (before.begin != 0) call.note(before);
  return changed;
}
ObjectId change_size(ObjectId object, std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_tx_realloc"};
  TransactionCall call(function);
  return reallocate(call, library.realloc, false, object, bytes, type);
}
ObjectId change_size_with_zeros(ObjectId object, std::size_t bytes, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_tx_zrealloc"};
  TransactionCall call(function);
  return reallocate(call, library.zrealloc, true, object, bytes, type);
}

std::size_t bytes_of(const wchar_t* text) { return (std::wcslen(text) + 1) * sizeof(wchar_t); }

ObjectId copy_string(const char* text, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_tx_strdup"};
  TransactionCall call(function);
  return call.allocated(library.strdup(text, type), 0, std::strlen(text) + 1);
}
ObjectId xcopy_string(const char* text, std::uint64_t type, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xstrdup"};
  TransactionCall call(function);
  return call.allocated(library.xstrdup(text, type, flags), flags, std::strlen(text) + 1);
}
ObjectId copy_wide_string(const wchar_t* text, std::uint64_t type) {
  static LibraryFunction function{kHeader, "pmemobj_tx_wcsdup"};
  TransactionCall call(function);
  return call.allocated(library.wcsdup(text, type), 0, bytes_of(text));
}
ObjectId xcopy_wide_string(const wchar_t* text, std::uint64_t type, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xwcsdup"};
  TransactionCall call(function);
  return call.allocated(library.xwcsdup(text, type, flags), flags, bytes_of(text));
}

int free_object(ObjectId object) {
  static LibraryFunction function{kHeader, "pmemobj_tx_free"};
  TransactionCall call(function);
  const bool notes = call.recorded() && !object.is_null();
  const Part part = notes ? call.freed(object) : Part{};
  const int result = library.free(object);
  if (result == 0 && notes) call.note(part);
  return result;
}
int xfree_object(ObjectId object, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xfree"};
  TransactionCall call(function);
  const bool notes = call.recorded() && !object.is_null();
  const Part part = notes ? call.freed(object) : Part{};
  const int result = library.xfree(object, flags);
  if (result == 0 && notes) call.note(part);
  return result;
}

int publish_actions(void* actions, std::size_t count) {
  static LibraryFunction function{kHeader, "pmemobj_tx_publish"};
  TransactionCall call(function);
  const int result = library.publish(actions, count);
  if (result == 0 && call.recorded()) {
    call.note({reinterpret_cast<std::uintptr_t>(actions), count, Use::kActions, false});
  }
  return result;
}
int xpublish_actions(void* actions, std::size_t count, std::uint64_t flags) {
  static LibraryFunction function{kHeader, "pmemobj_tx_xpublish"};
  TransactionCall call(function);
  const int result = library.xpublish(actions, count, flags);
  if (result == 0 && call.recorded()) {
    call.note({reinterpret_cast<std::uintptr_t>(actions), count, Use::kActions, false});
  }
  return result;
}

const Replacement kFunctions[] = {
    in_pmemobj("pmemobj_tx_begin", &begin, library.begin),
    in_pmemobj("pmemobj_tx_stage", &stage, library.stage),
    in_pmemobj("pmemobj_tx_abort", &abort, library.abort),
    in_pmemobj("pmemobj_tx_commit", &commit, library.commit),
    in_pmemobj("pmemobj_tx_end", &end, library.end),
    in_pmemobj("pmemobj_tx_process", &process, library.process),
    in_pmemobj("pmemobj_tx_errno", &failure, library.failure),
    in_pmemobj("pmemobj_tx_add_range", &add, library.add),
    in_pmemobj("pmemobj_tx_add_range_direct", &add_direct, library.add_direct),
    in_pmemobj("pmemobj_tx_xadd_range", &xadd, library.xadd),
    in_pmemobj("pmemobj_tx_xadd_range_direct", &xadd_direct, library.xadd_direct),
    in_pmemobj("pmemobj_tx_alloc", &alloc, library.alloc),
    in_pmemobj("pmemobj_tx_zalloc", &zalloc, library.zalloc),
    in_pmemobj("pmemobj_tx_xalloc", &xalloc, library.xalloc),
    in_pmemobj("pmemobj_tx_realloc", &change_size, library.realloc),
    in_pmemobj("pmemobj_tx_zrealloc", &change_size_with_zeros, library.zrealloc),
    in_pmemobj("pmemobj_tx_strdup", &copy_string, library.strdup),
    in_pmemobj("pmemobj_tx_xstrdup", &xcopy_string, library.xstrdup),
    in_pmemobj("pmemobj_tx_wcsdup", &copy_wide_string, library.wcsdup),
    in_pmemobj("pmemobj_tx_xwcsdup", &xcopy_wide_string, library.xwcsdup),
    in_pmemobj("pmemobj_tx_free", &free_object, library.free),
    in_pmemobj("pmemobj_tx_xfree", &xfree_object, library.xfree),
    in_pmemobj("pmemobj_tx_publish", &publish_actions, library.publish),
    in_pmemobj("pmemobj_tx_xpublish", &xpublish_actions, library.xpublish),
};

}  // namespace

const Replacements kLibpmemobjTransactions{kFunctions, sizeof(kFunctions) / sizeof(kFunctions[0])};

}  // namespace pmemsim::rt
