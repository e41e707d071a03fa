#include "pmemsim/timeline/output_file.hpp"

#include <cerrno>
#include <cstring>

#include "pmemsim/common/error.hpp"

namespace pmemsim {

OutputFile::OutputFile(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (file_ == nullptr) fail();
}

void OutputFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
}

void OutputFile::close() {
  if (std::fclose(file_.release()) != 0) fail();
}

void OutputFile::fail() const {
  throw Error(path_ + ": could not be written: " + std::strerror(errno));
}

}  // namespace pmemsim
