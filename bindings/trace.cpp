// pmemsim._core.TraceFile: a recording, which Python reads frame by frame.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings.hpp"
#include "pmemsim/analysis/races.hpp"
#include "pmemsim/analysis/summary.hpp"
#include "pmemsim/analysis/turns.hpp"
#include "pmemsim/analysis/unrecorded.hpp"
#include "pmemsim/analysis/verify.hpp"
#include "pmemsim/trace/dump.hpp"
#include "pmemsim/trace/names.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

using trace::MarkKind;
using trace::Operation;
using trace::OperationStream;
using trace::SiteKind;
using trace::SiteRecord;
using trace::TraceFile;

// One operation as a NumPy record; python/pmemsim/trace.py has the same fields as a dtype.
struct OperationRecord {
  std::uint64_t address;
  std::uint64_t second;
  std::uint64_t value_offset;  // offset in the chunk's values
  std::uint32_t site;
  std::uint32_t instructions;
  std::uint32_t object;
  std::uint32_t version;
  std::uint8_t kind;
  std::uint8_t detail;
  std::uint8_t size;
  std::uint8_t purpose;
  std::uint8_t flag;
  std::uint8_t has_value;
  std::uint8_t unused[2];
};
static_assert(sizeof(OperationRecord) == 48);

using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

// Passes a vector's memory to NumPy without a copy.
template <class Value>
ByteArray to_array(std::vector<Value> values) {
  auto owned = std::make_unique<std::vector<Value>>(std::move(values));
  auto* data = owned->data();
  const std::size_t bytes = owned->size() * sizeof(Value);
  nb::capsule owner(owned.release(),
                    [](void* memory) noexcept { delete static_cast<std::vector<Value>*>(memory); });
  return ByteArray(data, {bytes}, owner);
}

// The operations of one thread in chunks, so that memory stays bounded.
class OperationChunks {
 public:
  OperationChunks(const TraceFile& file, std::uint32_t thread) : stream_(file, thread) {}

  // Returns the next operations and their values, both as bytes; nothing at the end.
  std::optional<std::pair<ByteArray, ByteArray>> next() {
    std::vector<OperationRecord> records;
    std::vector<std::byte> values;
    {
      nb::gil_scoped_release release;
      records.reserve(kOperations);
      Operation operation;
      while (records.size() < kOperations && stream_.next(operation))
        append(operation, records, values);
    }
    if (records.empty()) return {};
    return std::pair(to_array(std::move(records)), to_array(std::move(values)));
  }

 private:
  static constexpr std::size_t kOperations = 1u << 16;

  void append(const Operation& operation, std::vector<OperationRecord>& records,
              std::vector<std::byte>& values) {
    if (operation.kind == SiteKind::kMark &&
        operation.detail == static_cast<std::uint8_t>(MarkKind::kPurpose)) {
      purpose_ = static_cast<std::uint8_t>(operation.address);
    }
    OperationRecord record{};
    record.address = operation.address;
    record.second = operation.second;
    record.value_offset = values.size();
    record.site = operation.site;
    record.instructions = operation.instructions;
    record.object = operation.object;
    record.version = operation.version;
    record.kind = static_cast<std::uint8_t>(operation.kind);
    record.detail = operation.detail;
    record.size = operation.size;
    record.purpose = purpose_;
    record.flag = operation.flag;
    if (operation.value != nullptr) {
      record.has_value = 1;
      values.insert(values.end(), operation.value, operation.value + operation.size);
    }
    records.push_back(record);
  }

  OperationStream stream_;
  std::uint8_t purpose_ = 0;
};

// One turn as a NumPy record; python/pmemsim/trace.py has the same fields as a dtype.
struct TurnRecord {
  std::uint64_t end;
  std::uint32_t thread;
  std::uint32_t unused;
};
static_assert(sizeof(TurnRecord) == 16);

ByteArray turns(const TraceFile& file) {
  std::vector<TurnRecord> found;
  {
    nb::gil_scoped_release release;
    std::vector<std::uint64_t> executed, all;
    for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
      executed.push_back(0);
      all.push_back(file.operations(thread));
    }
    trace::Turns turns(file);
    const auto pending = [&](std::uint32_t thread) -> std::optional<std::uint64_t> {
      if (executed[thread] == all[thread]) return {};
      return executed[thread];
    };
    while (const auto next = turns.next(pending)) {
      executed[next->thread] = next->turn.end;
      found.push_back({.end = next->turn.end, .thread = next->thread, .unused = 0});
    }
  }
  return to_array(std::move(found));
}

// An instruction of the program.
struct Site {
  std::uint32_t kind = 0, detail = 0, size = 0, flags = 0, instructions = 0;
  std::string file, function;
  std::uint32_t line = 0;
};

std::vector<Site> sites(const TraceFile& file) {
  std::vector<Site> found;
  for (const SiteRecord& site : file.sites().sites()) {
    found.push_back({.kind = site.kind,
                     .detail = site.detail,
                     .size = site.size,
                     .flags = site.flags,
                     .instructions = site.instructions,
                     .file = std::string(file.sites().string(site.file)),
                     .function = std::string(file.sites().string(site.function)),
                     .line = site.line});
  }
  return found;
}

template <class Kind>
std::vector<std::string> names(std::uint8_t count) {
  std::vector<std::string> found;
  for (std::uint8_t i = 0; i < count; ++i) {
    found.emplace_back(trace::name_of(static_cast<Kind>(i)));
  }
  return found;
}

// Returns the names of numbers in the arrays: kinds, their details, purposes.
std::map<std::string, std::vector<std::string>> all_names() {
  std::map<std::string, std::vector<std::string>> found;
  found["kind"] = names<SiteKind>(trace::kSiteKinds);
  found["flush"] = names<trace::FlushKind>(trace::kFlushKinds);
  found["fence"] = names<trace::FenceKind>(trace::kFenceKinds);
  found["mark"] = names<MarkKind>(trace::kMarkKinds);
  found["sync"] = names<trace::SyncKind>(trace::kSyncKinds);
  for (const char* atomic : {"atomic_load", "atomic_store", "atomic_update"}) {
    found[atomic] = names<trace::LockRole>(trace::kLockRoles);
  }
  found["purpose"] = names<trace::Purpose>(trace::kPurposes);
  return found;
}

std::string summary_json(const TraceFile& file) {
  nb::gil_scoped_release release;
  return trace::to_json(trace::summarize(file));
}

// Writes to a descriptor of the caller, which stays open.
void dump(const TraceFile& file, std::uint32_t thread, std::uint64_t first, std::uint64_t count,
          int descriptor) {
  nb::gil_scoped_release release;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::fdopen(::dup(descriptor), "w"),
                                                               &std::fclose);
  if (!output) throw Error(fmt::format("descriptor {} could not be written", descriptor));
  trace::dump(file, thread, first, count, output.get());
}

void bind_trace_records(nb::module_& module) {
  using trace::SourceLocation;
  bind_record<SourceLocation>(module, "Place", "A line of the program's source; `line` 0: unknown.",
                              field("file", &SourceLocation::file),
                              field("line", &SourceLocation::line),
                              field("function", &SourceLocation::function))
      .def(
          "__str__",
          [](const SourceLocation& place) {
            if (place.line > 0) return fmt::format("{}:{}", place.file, place.line);
            return place.file.empty() ? "?" : place.file;
          },
          "Return `FILE:LINE`, like compilers.");
  bind_record<Site>(module, "Site", "An instruction of the program.", field("kind", &Site::kind),
                    field("detail", &Site::detail), field("size", &Site::size),
                    field("flags", &Site::flags), field("instructions", &Site::instructions),
                    field("file", &Site::file), field("function", &Site::function),
                    field("line", &Site::line));
  bind_record<trace::Verification>(module, "Verification", "The result of a full check of a trace.",
                                   field("operations", &trace::Verification::operations),
                                   field("notes", &trace::Verification::notes));
}

}  // namespace

void bind_trace(nb::module_& module) {
  bind_trace_records(module);
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  module.def("names", &all_names,
             "Names of numbers in the arrays: kinds of operations, their details, purposes.");
  module.def(
      "store_races",
      [](const Path& path) {
        nb::gil_scoped_release release;
        trace::store_races(path.string());
      },
      nb::arg("path"));
  module.def(
      "store_unrecorded",
      [](const Path& path, const Path& contents) {
        nb::gil_scoped_release release;
        trace::store_unrecorded(path.string(), contents.string());
      },
      nb::arg("path"), nb::arg("contents"));
  nb::class_<OperationChunks>(module, "OperationChunks").def("next", &OperationChunks::next);
  nb::class_<TraceFile>(module, "TraceFile")
      .def(
          "__init__",
          [](TraceFile* file, const Path& path) { new (file) TraceFile(path.string()); },
          nb::arg("path"))
      .def_prop_ro("metadata_json", [](const TraceFile& file) { return file.metadata().json; })
      .def_prop_ro("hash",
                   [](const TraceFile& file) { return fmt::format("{:016x}", file.hash()); })
      .def_prop_ro("threads", [](const TraceFile& file) { return file.metadata().threads; })
      .def("operation_count", &TraceFile::operations, nb::arg("thread"))
      .def("sites", &sites)
      .def("summary_json", &summary_json)
      .def("turns", &turns)
      .def_prop_ro("has_turns", [](const TraceFile& file) { return trace::Turns(file).recorded(); })
      .def("verify", &trace::verify, released)
      .def("dump", &dump, nb::arg("thread"), nb::arg("first"), nb::arg("count"),
           nb::arg("descriptor"))
      .def(
          "operations",
          [](const TraceFile& file, std::uint32_t thread) { return OperationChunks(file, thread); },
          nb::arg("thread"), nb::keep_alive<0, 1>());
}

}  // namespace pmemsim::bindings
