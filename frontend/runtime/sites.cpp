// The site table: the description of each recorded instruction. A module adds its sites when it is
// loaded.
#include "sites.hpp"

#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "exported.hpp"
#include "output.hpp"
#include "pmemsim/trace/dependence.hpp"
#include "pmemsim_rt.h"
#include "reserved_memory.hpp"
#include "status.hpp"

namespace pmemsim::rt {

trace::SiteRecord* sites = nullptr;
std::uint32_t* site_instructions = nullptr;
std::uint8_t* site_lengths = nullptr;
std::uint32_t site_count = 0;
void (*on_module)(const void* module) = nullptr;

namespace {

constexpr std::size_t kMaxDependenceCount = std::size_t{1} << 26;
constexpr std::size_t kMaxStringBytes = std::size_t{1} << 28;

std::uint32_t* dependences = nullptr;
std::uint32_t dependence_count = 0;
std::uint32_t* innermost_calls = nullptr;  // index: site
trace::InlinedCall* inlined_calls = nullptr;
std::uint32_t inlined_call_count = 0;
char* strings = nullptr;
std::uint32_t string_bytes = 1;  // offset 0 is the empty string
Map<std::uint32_t> offset_of_string;
List<const void*, 1u << 20> modules;  // an address in each module

std::uint64_t hash_of(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

// Returns the text's offset in the strings. (If two different texts have the same hash, the second
// may be stored more than once.)
std::uint32_t intern(const char* text) {
  if (text == nullptr || *text == '\0') return 0;
  std::uint32_t& offset = offset_of_string[hash_of(text)];
  if (offset != 0 && std::strcmp(strings + offset, text) == 0) return offset;
  const std::size_t bytes = std::strlen(text) + 1;
  if (string_bytes + bytes > kMaxStringBytes) fail("%s has too many names", program_name);
  offset = string_bytes;
  std::memcpy(strings + offset, text, bytes);
  string_bytes += static_cast<std::uint32_t>(bytes);
  return offset;
}

std::uint16_t at_most(std::uint16_t count) {
  return count < trace::kMaxDependences ? count : trace::kMaxDependences;
}

void add_dependences(const std::uint32_t* from, std::uint16_t count, std::uint32_t base) {
  for (std::uint16_t i = 0; i < at_most(count); ++i) {
    dependences[dependence_count++] = from[i] + (base << 8);
  }
}

// Translates an inlined call's number in the module to one in the program.
std::uint32_t inlined_call(std::uint32_t number, std::uint32_t before) {
  return number == 0 ? 0 : before + number;
}

void add_inlined_calls(const pmemsim_rt_module& module) {
  const std::uint32_t before = inlined_call_count;
  for (std::uint32_t i = 0; i < module.inlined_calls; ++i) {
    const pmemsim_rt_inlined_call& call = module.inlined_call[i];
    inlined_calls[inlined_call_count++] = {.file = intern(call.file),
                                           .function = intern(call.function),
                                           .line = call.line,
                                           .outer = inlined_call(call.outer, before)};
  }
}

void add_site(const pmemsim_rt_site& site, std::uint32_t base) {
  trace::SiteRecord& record = sites[site_count];
  record.kind = site.kind;
  record.detail = site.detail;
  record.size = site.size;
  record.flags = site.flags;
  record.instructions = site.instructions;
  record.file = intern(site.file);
  record.function = intern(site.function);
  record.line = site.line;
  record.first_dependence = dependence_count;
  record.address_dependences = at_most(site.address_dependences);
  record.data_dependences = at_most(site.data_dependences);
  add_dependences(site.dependences, site.address_dependences, base);
  add_dependences(site.dependences + site.address_dependences, site.data_dependences, base);
  if (record.kind >= trace::kSiteKinds) {
    fail("a part of the program was compiled by another version of pmemsim-cc; compile it again");
  }
  site_lengths[site_count] = trace::packed_length(record);
  site_instructions[site_count++] = site.instructions;
}

}  // namespace

void make_site_tables() {
  sites = static_cast<trace::SiteRecord*>(
      allocate(trace::kMaxDependenceSites * sizeof(trace::SiteRecord)));
  site_instructions =
      static_cast<std::uint32_t*>(allocate(trace::kMaxDependenceSites * sizeof(std::uint32_t)));
  site_lengths = static_cast<std::uint8_t*>(allocate(trace::kMaxDependenceSites));
  dependences = static_cast<std::uint32_t*>(allocate(kMaxDependenceCount * sizeof(std::uint32_t)));
  innermost_calls =
      static_cast<std::uint32_t*>(allocate(trace::kMaxDependenceSites * sizeof(std::uint32_t)));
  inlined_calls = static_cast<trace::InlinedCall*>(
      allocate(trace::kMaxInlinedCalls * sizeof(trace::InlinedCall)));
  strings = static_cast<char*>(allocate(kMaxStringBytes));
  for (; site_count < trace::kBuiltinSites; ++site_count) {
    sites[site_count] =
        trace::exists_on_use(site_count) ? trace::unused_site() : trace::builtin_site(site_count);
    site_lengths[site_count] = trace::packed_length(sites[site_count]);
  }
}

void use_builtin_site(std::uint32_t site) {
  sites[site] = trace::builtin_site(site);
  site_lengths[site] = trace::packed_length(sites[site]);
}

void write_sites() {
  const trace::SiteTableHeader header{site_count, dependence_count, string_bytes,
                                      inlined_call_count};
  Stream table(trace::FrameKind::kSites);
  table.put(&header, sizeof(header));
  table.put(sites, site_count * sizeof(trace::SiteRecord));
  table.put(dependences, dependence_count * sizeof(std::uint32_t));
  if (inlined_call_count > 0) {
    table.put(innermost_calls, site_count * sizeof(std::uint32_t));
    table.put(inlined_calls, inlined_call_count * sizeof(trace::InlinedCall));
  }
  table.put(strings, string_bytes);
}

bool is_instrumented_object(const void* begin, const void* end) {
  for (const void* module : modules) {
    if (begin <= module && module < end) return true;
  }
  return false;
}

std::size_t module_count() { return modules.size(); }
const void* module_at(std::size_t number) { return modules[number]; }

bool is_recorded_code(const void* code) {
  dl_find_object object{};
  if (_dl_find_object(const_cast<void*>(code), &object) != 0) return true;
  return *object.dlfo_link_map->l_name == '\0' ||
         is_instrumented_object(object.dlfo_map_start, object.dlfo_map_end);
}

void make_site(trace::SiteKind kind, std::uint8_t size, std::uint8_t flags, const char* file,
               const char* function) {
  if (site_count == trace::kMaxDependenceSites) {
    fail("the program has more than %u instrumented instructions", trace::kMaxDependenceSites);
  }
  add_site({.kind = static_cast<std::uint8_t>(kind),
            .detail = 0,
            .size = size,
            .flags = flags,
            .instructions = 1,
            .file = file,
            .function = function,
            .line = 1,
            .inlined_call = 0,
            .address_dependences = 0,
            .data_dependences = 0,
            .dependences = nullptr},
           0);
}

bool is_system_file(std::uint32_t site) {
  return std::strncmp(strings + sites[site].file, "/usr/", 5) == 0;
}

void describe_site(std::uint32_t site, char* text, std::size_t bytes) {
  if (site == 0 || site >= site_count || sites[site].line == 0) {
    std::snprintf(text, bytes, "an unknown source line (compile with -g to show it)");
  } else {
    std::snprintf(text, bytes, "%s:%u (%s)", strings + sites[site].file, sites[site].line,
                  strings + sites[site].function);
  }
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_register(pmemsim_rt_module* module) {
  if (module->version != PMEMSIM_RT_VERSION) {
    fail("a part of the program was compiled by another version of pmemsim-cc; compile it again");
  }
  // A program that isn't recorded needs no tables, and may not have enough memory for them (ulimit
  // -v).
  if (mode == Mode::kOff) return;
  if (module->sites > pmemsim::trace::kMaxDependenceSites - site_count ||
      module->sites * 2 * pmemsim::trace::kMaxDependences >
          kMaxDependenceCount - dependence_count ||
      module->inlined_calls > pmemsim::trace::kMaxInlinedCalls - inlined_call_count) {
    fail("the program has more than %u instrumented instructions",
         pmemsim::trace::kMaxDependenceSites);
  }
  modules.push(module->base);
  *module->base = site_count;
  const std::uint32_t calls_before = inlined_call_count;
  add_inlined_calls(*module);
  for (std::uint32_t i = 0; i < module->sites; ++i) {
    innermost_calls[site_count] = inlined_call(module->site[i].inlined_call, calls_before);
    add_site(module->site[i], *module->base);
  }
  if (on_module != nullptr) on_module(module->base);
}
