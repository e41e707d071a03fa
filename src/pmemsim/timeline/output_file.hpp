// A file that is written from its begin to its end. Errors are sentences with its path.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace pmemsim {

class OutputFile {
 public:
  // The functions throw Error if the file can't be written.
  explicit OutputFile(const std::string& path);
  void write(std::string_view bytes);
  // Writes what is still in memory. Call it once, at the end.
  void close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void fail() const;

  const std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace pmemsim
