// Lists a machine's statistics without a run. Only existing components can declare their
// statistics. Therefore a machine is built for the shortest possible recording, and never runs.
#include "pmemsim/machine/run/declared_statistics.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "pmemsim/trace/writer.hpp"

namespace pmemsim {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "pmemsim-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) throw Error(path_ + ": the folder could not be created");
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

std::vector<std::byte> built_in_sites() {
  std::vector<std::byte> table;
  const auto put = [&](const auto& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    table.insert(table.end(), bytes.begin(), bytes.end());
  };
  put(trace::SiteTableHeader{trace::kBuiltinSites, 0, 1, 0});
  for (std::uint32_t site = 0; site < trace::kBuiltinSites; ++site) put(trace::builtin_site(site));
  put('\0');  // the strings
  return table;
}

// Writes a recording of a program with this software log, in which one thread executes one
// instruction.
void write_recording(const std::string& path, trace::ProgramLog log) {
  const std::string_view source =
      log == trace::ProgramLog::kRedo ? trace::kRedoPool : trace::kUndoPool;
  const std::string metadata =
      fmt::format(R"({{"format": {}, "program": "idle", "threads": 1, "sync_objects": 0, )"
                  R"("pm_regions": [{{"begin": 4096, "end": 8192, "source": "{}"}}]}})",
                  trace::kVersion, source);
  constexpr std::array<std::uint32_t, 2> kOneInstruction{trace::kExternalSite << 1, 1};
  trace::Writer writer(path);
  writer.frame(trace::FrameKind::kMetadata, 0, std::as_bytes(std::span(metadata)), 0);
  writer.frame(trace::FrameKind::kSites, 0, built_in_sites(), 0);
  writer.frame(trace::FrameKind::kOperations, 0, std::as_bytes(std::span(kOneInstruction)), 1);
  writer.finish();
}

}  // namespace

std::vector<DeclaredStatistic> declared_statistics(const Configuration& configuration) {
  const TemporaryFolder folder;
  const std::string path = folder.file("idle.pmt");
  write_recording(path, configuration.design.atomicity().log);
  const trace::TraceFile trace(path);
  const Machine machine(configuration, trace);
  StatisticsCollector collector;
  machine.describe_statistics(collector);
  std::vector<DeclaredStatistic> declared;
  for (const Statistic& statistic : collector.found) {
    declared.push_back({statistic, collector.relations_of(statistic.name)});
  }
  return declared;
}

}  // namespace pmemsim
