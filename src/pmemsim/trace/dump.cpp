#include "pmemsim/trace/dump.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "pmemsim/trace/names.hpp"

namespace pmemsim::trace {
namespace {

// Returns details that the kind's name lacks: "clwb", "mutex_lock", "purpose log", ...
std::string detail_of(const Operation& operation) {
  switch (operation.kind) {
    case SiteKind::kFlush:
      return std::string(name_of(static_cast<FlushKind>(operation.detail)));
    case SiteKind::kFence:
      return std::string(name_of(static_cast<FenceKind>(operation.detail)));
    case SiteKind::kSync:
      return std::string(name_of(static_cast<SyncKind>(operation.detail)));
    case SiteKind::kAtomicLoad:
    case SiteKind::kAtomicStore:
    case SiteKind::kAtomicUpdate:
      if (operation.detail == 0) return {};
      return std::string(name_of(static_cast<LockRole>(operation.detail)));
    case SiteKind::kMark: {
      const auto kind = static_cast<MarkKind>(operation.detail);
      if (kind == MarkKind::kPurpose) {
        return fmt::format("purpose {}", name_of(static_cast<Purpose>(operation.address)));
      }
      if (kind == MarkKind::kNextFence) {
        return fmt::format("next_fence {}", name_of(static_cast<FenceMeaning>(operation.address)));
      }
      return fmt::format("{} {:#x} {:#x}", name_of(kind), operation.address, operation.second);
    }
    default:
      return {};
  }
}

std::string source_text(const SiteTable& sites, std::uint32_t number) {
  const SourceLine& line = sites.line(number);
  return fmt::format("{}:{} {}", sites.string(line.file), line.line, sites.string(line.function));
}

}  // namespace

std::string to_text(const Operation& operation, const SiteTable& sites) {
  const RecordLayout& layout = layout_of(static_cast<std::uint8_t>(operation.kind));
  // format_to() is not used, because it is a template that would compile all of fmt once more.
  std::string text(name_of(operation.kind));
  if (const std::string detail = detail_of(operation); !detail.empty()) {
    text += fmt::format(" {}", detail);
  }
  if (layout.access != 0) text += fmt::format(" {:#x}", operation.address);
  if (operation.size != 0) text += fmt::format(" {}", operation.size);
  if (layout.object != 0) {
    text += fmt::format(" object {} version {}", operation.object, operation.version);
  }
  if (operation.kind == SiteKind::kAtomicUpdate && !operation.flag) text += " unchanged";
  if (operation.kind == SiteKind::kSync && operation.flag) text += " annotated";
  if (operation.kind == SiteKind::kExternal && operation.flag) text += " unknown";
  if (operation.kind == SiteKind::kBranch) text += operation.flag ? " taken" : " not_taken";
  if (operation.kind == SiteKind::kIndirectBranch) text += fmt::format(" to {}", operation.address);
  if (operation.kind == SiteKind::kRecurrence) text += operation.flag ? " goes_on" : " begins";
  if (operation.value != nullptr) {
    text += " = ";
    for (std::size_t i = 0; i < operation.size; ++i) {
      text += fmt::format("{:02x}", std::to_integer<unsigned>(operation.value[i]));
    }
  }
  if (operation.instructions != 1) text += fmt::format(" [{}]", operation.instructions);
  if (sites.line(operation.site).line == 0) return text;
  text += "  " + source_text(sites, operation.site);
  for (std::uint32_t call = sites.inlined_at(operation.site); call != 0;
       call = sites.inlined_at(call)) {
    text += " < " + source_text(sites, call);
  }
  return text;
}

void dump(const TraceFile& file, std::uint32_t thread, std::uint64_t first, std::uint64_t count,
          std::FILE* output) {
  OperationStream stream(file, thread);
  stream.seek(std::min(first, file.operations(thread)));
  Operation operation;
  for (; count > 0 && stream.next(operation); --count) {
    const std::string line =
        fmt::format("{} {}\n", stream.position() - 1, to_text(operation, file.sites()));
    if (std::fwrite(line.data(), 1, line.size(), output) != line.size()) {
      throw Error(fmt::format("can't write the operations: {}", std::strerror(errno)));
    }
  }
}

}  // namespace pmemsim::trace
