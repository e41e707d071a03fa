#include "pmemsim/designs/plugins.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/choices.hpp"

namespace pmemsim {
namespace {

// The version of the headers, which follows a word that no other file contains.
constexpr std::string_view kVersion = PMEMSIM_DESIGN_VERSION;
const std::string_view kWord = kVersion.substr(0, kVersion.find('=') + 1);

std::vector<std::string>& paths() {
  static std::vector<std::string> paths;
  return paths;
}

// Loading a truncated file would end the process, because its missing part can't be mapped.
// Compilers write the table of sections at the end of the file.
void check_length(const std::string& path, std::string_view bytes) {
  ElfW(Ehdr) header{};
  bytes.copy(reinterpret_cast<char*>(&header), sizeof header);
  const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff > bytes.size() || end > bytes.size()) {
    throw Error(path + ": the plug-in is incomplete; build it again with `pmemsim plugin build`");
  }
}

void check_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file && bytes.empty())
    throw Error(path + ": the plug-in could not be read: " + std::strerror(errno));
  const std::size_t found = bytes.find(kWord);
  if (found == std::string::npos) {
    throw Error(path +
                ": this is not a plug-in of pmemsim; `pmemsim new-design` writes the source of "
                "one");
  }
  check_length(path, bytes);
  if (bytes.compare(found, kVersion.size(), kVersion) != 0) {
    throw Error(path +
                ": the plug-in was built for another version of pmemsim's headers; build it again "
                "with `pmemsim plugin build`");
  }
}

void* open(const std::string& path) {
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw Error(path + ": the plug-in could not be loaded: " + dlerror());
  return opened;
}

// The data that the signal handler reads without allocation: the plug-ins' names and code.
struct Code {
  std::array<char, 256> name{};
  const char* begin = nullptr;
  const char* end = nullptr;
};
constexpr std::size_t kMostPlugins = 64;
std::array<Code, kMostPlugins> codes;
std::size_t code_count = 0;

void write_text(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

// Prints the plug-in whose code is nearest to the signal and exits, if one is on the stack.
void on_signal(int number) {
  std::array<void*, 64> frames{};
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < depth; ++i) {
    const auto* const address = static_cast<const char*>(frames[static_cast<std::size_t>(i)]);
    for (std::size_t j = 0; j < code_count; ++j) {
      if (address < codes[j].begin || address >= codes[j].end) continue;
      write_text("pmemsim: the plug-in ");
      write_text(codes[j].name.data());
      write_text(" has crashed: ");
      write_text(strsignal(number));
      write_text("\n");
      _exit(2);
    }
  }
  signal(number, SIG_DFL);
  raise(number);
}

// Records the address range of a plug-in's code.
int find_code(dl_phdr_info* info, std::size_t, void* path) {
  if (info->dlpi_name != *static_cast<const std::string*>(path)) return 0;
  Code& code = codes[code_count];
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    code.begin = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    code.end = code.begin + part.p_memsz;
  }
  return 1;
}

void watch(const std::string& path) {
  if (code_count == kMostPlugins) {
    throw Error(fmt::format("{}: at most {} plug-ins can be loaded", path, kMostPlugins));
  }
  Code& code = codes[code_count];
  path.copy(code.name.data(), code.name.size() - 1);
  std::string wanted = path;
  dl_iterate_phdr(find_code, &wanted);
  if (code_count++ > 0) return;
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // loads its dependences now, which a signal handler must not do
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

void load_plugin(const std::string& path, const std::string& library) {
  if (std::ranges::find(paths(), path) != paths().end()) return;
  check_file(path);
  open(library);  // so that the plug-in finds the library in any directory
  void* const plugin = open(path);
  using AddRows = void (*)(std::vector<Choice>&);
  const auto add_rows = reinterpret_cast<AddRows>(dlsym(plugin, "pmemsim_plugin_rows"));
  if (add_rows == nullptr) {
    throw Error(path +
                ": the plug-in registers no implementation; end its source with "
                "PMEMSIM_PLUGIN(...)");
  }
  watch(path);
  std::vector<Choice> rows;
  add_rows(rows);
  try {
    add_choices(rows);
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
  paths().push_back(path);
}

HandlerStack::HandlerStack() {
  if (code_count == 0) return;
  constexpr std::size_t kBytes = std::size_t{1} << 16;
  stack_ = std::make_unique<std::byte[]>(kBytes);
  const stack_t stack{.ss_sp = stack_.get(), .ss_flags = 0, .ss_size = kBytes};
  sigaltstack(&stack, nullptr);
}

HandlerStack::~HandlerStack() {
  if (stack_ == nullptr) return;
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

const std::vector<std::string>& loaded_plugins() { return paths(); }

}  // namespace pmemsim
