// What a checker's host and whoever has started it tell each other, over a socket that keeps
// messages apart. The host gets a byte (kNextImage) for each image, as soon as that is in place,
// and answers; another one (kNextWatched) if it is to tell what of it was read, if it can. Before
// that it may get the numbers of lines that have changed since the image before, in messages of 8
// bytes a line, or a byte (kAllChanged). If the socket is closed it ends,
// and with it all that it has started.
//
// A reader is a program whose standard output is its answer: it follows the answer's message, in
// messages of at most kMostPrintedAtOnce bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pmemsim {

inline constexpr int kCheckerSocket = 3;  // the host's end
inline constexpr char kNextImage = 'i';
inline constexpr char kNextWatched = 'w';
inline constexpr char kAllChanged = 'a';
inline constexpr std::size_t kMostLines = 8192;  // of a message
inline constexpr std::size_t kMostPrintedAtOnce = 1 << 16;
inline constexpr std::size_t kMostPrinted = 1 << 24;  // a reader that prints more is ended

struct CheckerAnswer {
  enum class Ending : std::uint8_t {
    kReady,     // before the first image
    kNotReady,  // `said` is why
    kNotRun,    // the program couldn't be started; `status` is the error's number
    kFailed,    // the image couldn't be given to it; `status` is the error's number
    kReturned,  // from pmemsim_check, `status`
    kExited,    // with `status`
    kSignal,    // died of signal `status`
    kTooLong,
    kTooMuch,  // a reader that has printed more than kMostPrinted
  };
  static constexpr std::size_t kMostSaid = 1000;

  Ending ending = Ending::kReady;
  std::int32_t status = 0;
  bool reads_told = false;
  double seconds = 0;
  std::uint32_t size = 0;     // of what it has said last
  std::uint32_t printed = 0;  // bytes that follow
  std::array<char, kMostSaid> said{};
};

}  // namespace pmemsim
