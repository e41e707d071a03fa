// Protocol between a checker's host and the process that starts it, over a socket that preserves
// message boundaries. The host receives one byte for each image, as soon as the image is in place,
// and sends an answer. The byte is kNextImage, or kNextWatched if the host is to report the pages
// read, if it can. Before that byte, it may receive the numbers of lines that have changed since
// the previous image, in messages of 8 B a line. If all may have changed, it receives one byte
// instead (kAllChanged). If the socket is closed, the host ends, with all processes that it has
// started.
//
// A reader is a program whose standard output is its answer. The output follows the answer's
// message, in messages of at most kMostPrintedAtOnce bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pmemsim {

inline constexpr int kCheckerSocket = 3;  // The host's end
inline constexpr char kNextImage = 'i';
inline constexpr char kNextWatched = 'w';
inline constexpr char kAllChanged = 'a';
inline constexpr std::size_t kMostLines = 8192;  // Maximum number of lines in a message
inline constexpr std::size_t kMostPrintedAtOnce = 1 << 16;
// Maximum output in B; a reader that prints more is ended.
inline constexpr std::size_t kMostPrinted = 1 << 24;

struct CheckerAnswer {
  enum class Ending : std::uint8_t {
    kReady,     // Sent before the first image
    kNotReady,  // `said` is the reason
    // The program could not be started; `status` is the error's number.
    kNotRun,
    // The image could not be given to it; `status` is the error's number.
    kFailed,
    kReturned,  // pmemsim_check returned `status`
    kExited,    // The program exited with `status`
    kSignal,    // The program died of signal `status`
    kTooLong,
    kTooMuch,  // A reader has printed more than kMostPrinted
  };
  static constexpr std::size_t kMostSaid = 1000;

  Ending ending = Ending::kReady;
  std::int32_t status = 0;
  bool reads_reported = false;
  double seconds = 0;
  std::uint32_t size = 0;     // Size in B of its last output, in `said`
  std::uint32_t printed = 0;  // Number of bytes that follow
  std::array<char, kMostSaid> said{};
};

}  // namespace pmemsim
