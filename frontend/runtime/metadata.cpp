// The metadata frame: a JSON object of the runtime's values and those that `pmemsim record` adds.
#include "metadata.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "external.hpp"
#include "flushes.hpp"
#include "heap.hpp"
#include "holds.hpp"
#include "libpmemobj.hpp"
#include "library_calls.hpp"
#include "objects.hpp"
#include "output.hpp"
#include "partial.hpp"
#include "persistent.hpp"
#include "record.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "schedules.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

constexpr int kMaxDepth = 64;

// Parses one JSON value, so that the file contains only valid JSON. nullptr: it isn't JSON.
class Checker {
 public:
  static bool is_object(const char* text) {
    Checker checker;
    const char* end = *skip(text) == '{' ? checker.value(skip(text)) : nullptr;
    return end != nullptr && *skip(end) == '\0';
  }

 private:
  static const char* skip(const char* at) { return at + std::strspn(at, " \t\r\n"); }

  const char* value(const char* at) {
    switch (*at) {
      case '{':
        return list(at, '}', true);
      case '[':
        return list(at, ']', false);
      case '"':
        return string(at);
      case 't':
        return std::strncmp(at, "true", 4) == 0 ? at + 4 : nullptr;
      case 'f':
        return std::strncmp(at, "false", 5) == 0 ? at + 5 : nullptr;
      case 'n':
        return std::strncmp(at, "null", 4) == 0 ? at + 4 : nullptr;
      default:
        return number(at);
    }
  }
  const char* list(const char* at, char end, bool keys) {
    if (++depth_ > kMaxDepth) return nullptr;
    at = skip(at + 1);
    for (bool first = true; *at != end; first = false) {
      if (!first) {
        if (*at != ',') return nullptr;
        at = skip(at + 1);
      }
      if (keys) {
        at = *at == '"' ? string(at) : nullptr;
        if (at == nullptr || *(at = skip(at)) != ':') return nullptr;
        at = skip(at + 1);
      }
      at = value(at);
      if (at == nullptr) return nullptr;
      at = skip(at);
    }
    --depth_;
    return at + 1;
  }
  static const char* string(const char* at) {
    for (++at; *at != '"'; ++at) {
      if (static_cast<unsigned char>(*at) < 0x20) return nullptr;
      if (*at != '\\') continue;
      if (std::strchr("\"\\/bfnrtu", *++at) == nullptr || *at == '\0') return nullptr;
      if (*at == 'u') {
        if (std::strspn(at + 1, "0123456789abcdefABCDEF") < 4) return nullptr;
        at += 4;
      }
    }
    return at + 1;
  }
  static const char* number(const char* at) {
    if (*at == '-') ++at;
    if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9')) return nullptr;
    at += std::strspn(at, "0123456789");
    if (*at == '.') {
      const std::size_t digits = std::strspn(at + 1, "0123456789");
      if (digits == 0) return nullptr;
      at += 1 + digits;
    }
    if (*at == 'e' || *at == 'E') {
      at += at[1] == '+' || at[1] == '-' ? 2 : 1;
      const std::size_t digits = std::strspn(at, "0123456789");
      if (digits == 0) return nullptr;
      at += digits;
    }
    return at;
  }

  int depth_ = 0;
};

const char* given = nullptr;  // PMEMSIM_METADATA
int argument_count = 0;
char** arguments = nullptr;

// The text of one frame.
class Text {
 public:
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    std::va_list list;
    va_start(list, format);
    const int length = std::vsnprintf(text_ + used_, kBufferBytes - used_, format, list);
    va_end(list);
    used_ += static_cast<std::size_t>(length);
    if (used_ >= kBufferBytes) fail("the trace's metadata are longer than %zu bytes", kBufferBytes);
  }
  // Adds a JSON string. Bytes that aren't UTF-8 are written as the code points of their values.
  void add_string(const char* text) {
    add("\"");
    for (const char* at = text; *at != '\0';) {
      const std::size_t length = utf8_length(at);
      if (length > 1) {
        add("%.*s", static_cast<int>(length), at);
        at += length;
      } else {
        const auto byte = static_cast<unsigned char>(*at++);
        if (byte == '"' || byte == '\\') {
          add("\\%c", byte);
        } else if (byte < 0x20 || byte >= 0x7f) {
          add("\\u%04x", byte);
        } else {
          add("%c", byte);
        }
      }
    }
    add("\"");
  }
  const char* text() const { return text_; }
  std::size_t size() const { return used_; }

 private:
  // Returns the length of the character at `at`; 1 if it isn't a well-formed longer one.
  static std::size_t utf8_length(const char* at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    if (byte(0) >= 0xc2 && byte(0) <= 0xdf && follows(1)) return 2;
    if (byte(0) >= 0xe1 && byte(0) <= 0xec && follows(1) && follows(2)) return 3;
    if (byte(0) >= 0xf1 && byte(0) <= 0xf3 && follows(1) && follows(2) && follows(3)) return 4;
    return 1;
  }

  char* text_ = reinterpret_cast<char*>(take_buffer());
  std::size_t used_ = 0;
};

void add_regions(Text& text) {
  text.add("\"pm_regions\": [");
  bool first = true;
  const auto add = [&](std::uint64_t begin, std::uint64_t end, const char* source) {
    text.add("%s{\"begin\": %lu, \"end\": %lu, \"source\": ", first ? "" : ", ", begin, end);
    text.add_string(source);
    text.add("}");
    first = false;
  };
  for (const Memory& memory : memories) {
    if (memory.bytes == 0) continue;
    add(memory.trace_address, memory.trace_address + memory.bytes, &memory_sources[memory.source]);
  }
  if (heap_end() > kHeapBase) add(kHeapBase, heap_end(), "--pm-heap");
  text.add("]");
}

const char* name_of(FlushedKind kind) {
  switch (kind) {
    case FlushedKind::kHeap:
      return "heap";
    case FlushedKind::kStack:
      return "stack";
    case FlushedKind::kFile:
      return "file";
    case FlushedKind::kPrivate:
      return "private";
    case FlushedKind::kShared:
      return "shared";
    case FlushedKind::kData:
      return "data";
    case FlushedKind::kAnonymous:
      break;
  }
  return "anonymous";
}

void add_flushes(Text& text) {
  text.add("\"flushes\": %lu, \"flushes_outside_pm\": [", flush_count);
  for (const FlushedMemory& memory : flushed_memory) {
    text.add("%s{\"begin\": %lu, \"end\": %lu, \"memory\": \"%s\", \"flushes\": %lu",
             &memory == flushed_memory.begin() ? "" : ", ", memory.range.begin, memory.range.end,
             name_of(memory.kind), memory.flushes);
    if (memory.asked != 0) text.add(", \"asked\": %lu", memory.asked);
    if (memory.kind == FlushedKind::kFile || memory.kind == FlushedKind::kPrivate ||
        memory.kind == FlushedKind::kData) {
      text.add(", \"path\": ");
      text.add_string(&memory_sources[memory.source]);
    }
    text.add("}");
  }
  text.add("], ");
}

void add_partial_notes(Text& text) {
  if (partial_notes.size() == 0) return;
  text.add("\"partial\": [");
  for (const char*& note : partial_notes) {
    if (&note != partial_notes.begin()) text.add(", ");
    text.add_string(note);
  }
  text.add("], ");
}

// Adds the unknown functions with the most calls, those of equal calls in the order of first calls.
void add_unknown_functions(Text& text) {
  constexpr std::size_t kMostNamed = 16;
  if (unknown_functions.size() == 0) return;
  text.add("\"unknown_functions\": [");
  for (std::size_t named = 0; named < kMostNamed; ++named) {
    UnknownFunction* most = unknown_functions.begin();
    for (UnknownFunction& each : unknown_functions) {
      if (each.calls > most->calls) most = &each;
    }
    if (most->calls == 0) break;
    text.add("%s{\"name\": ", named == 0 ? "" : ", ");
    text.add_string(most->name);
    text.add(", \"calls\": %lu}", most->calls);
    most->calls = 0;
  }
  text.add("], ");
}

void add_arguments(Text& text) {
  text.add("\"arguments\": [");
  for (int i = 1; i < argument_count; ++i) {
    if (i > 1) text.add(", ");
    text.add_string(arguments[i]);
  }
  text.add("]");
}

}  // namespace

void configure_metadata(const char* json, int count, char** values) {
  given = json;
  argument_count = count;
  arguments = values;
  if (json != nullptr && !Checker::is_object(json)) fail("PMEMSIM_METADATA is not a JSON object");
}

void write_metadata(const Counts& counts, std::uint32_t thread_count) {
  Text text;
  text.add("{");
  if (given != nullptr) {
    // Copies the given object's members, if any; the runtime's own follow and so take precedence.
    const char* begin = std::strchr(given, '{') + 1;
    const char* end = std::strrchr(given, '}');
    begin += std::strspn(begin, " \t\r\n");
    while (end > begin && std::strchr(" \t\r\n", end[-1]) != nullptr) --end;
    if (end > begin) text.add("%.*s, ", static_cast<int>(end - begin), begin);
  }
  text.add("\"format\": %u, \"pmemsim\": \"%s\", \"program\": ", trace::kVersion, PMEMSIM_VERSION);
  text.add_string(program_name);
  text.add(", ");
  add_arguments(text);
  text.add(", \"threads\": %u, \"sync_objects\": %u, \"quantum\": %ld, ", thread_count,
           object_count(), quantum);
  if (walks_at_random()) {
    text.add("\"schedule\": %lu, \"schedule_seed\": %lu, ", schedule.number, schedule.seed);
  }
  if (hold.requested) {
    text.add("\"hold\": {\"thread\": %lu, \"operation\": %lu, \"result\": \"%s\"}, ", hold.thread,
             hold.operation, name_of(hold.result));
  }
  text.add("\"operations\": %lu, ", counts.operations);
  text.add("\"instructions\": {\"instrumented\": %lu, \"external\": %lu, \"unknown\": %lu}, ",
           counts.instrumented, counts.external, counts.unknown);
  text.add("\"turns_by_real_time\": %lu, ", tokens_lost());
  add_unknown_functions(text);
  add_flushes(text);
  if (called_libpmemobj()) text.add("\"libraries\": [\"libpmemobj\"], ");
  if (enumerates_objects()) text.add("\"lists_objects\": true, ");
  add_partial_notes(text);
  add_regions(text);
  text.add("}\n");
  Stream metadata(trace::FrameKind::kMetadata);
  metadata.put(text.text(), text.size());
}

}  // namespace pmemsim::rt
