// Plug-ins: shared libraries with implementations of layers, which become rows of the table of
// choices.
//
//   1  A plug-in is built against the installed headers (include/pmemsim/design/plugin.hpp) and
//      linked with libpmemsim.so. It stays loaded until the process ends.
//   2  Its file contains the version of these headers as text. A plug-in with another version is
//      refused before any of its code is executed.
//   3  A signal that a plug-in causes ends the process with the plug-in's name and exit code 2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pmemsim {

// Loads a plug-in and adds its rows to choices(). `library` is the path of libpmemsim.so. Does
// nothing if the plug-in has been loaded before. Throws Error, with the path of the plug-in.
// No configuration may be in use by another thread.
void load_plugin(const std::string& path, const std::string& library);

// Stack for the handler of rule 3 on this thread while a plug-in's code runs on it: the thread's
// own stack may be full. It is allocated only if there are plug-ins.
class HandlerStack {
 public:
  HandlerStack();
  ~HandlerStack();
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> stack_;
};

// Returns the paths of the loaded plug-ins.
const std::vector<std::string>& loaded_plugins();

}  // namespace pmemsim
