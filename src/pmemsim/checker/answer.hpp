// What a checker's host says, over a socket that keeps messages apart. It gets one byte for each
// image, as soon as that is in place. If the socket is closed it ends, and with it all that it has
// started.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pmemsim {

inline constexpr int kCheckerSocket = 3;  // the host's end

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
  };
  static constexpr std::size_t kMostSaid = 1000;

  Ending ending = Ending::kReady;
  std::int32_t status = 0;
  double seconds = 0;
  std::uint32_t size = 0;  // of what it has said last
  std::array<char, kMostSaid> said{};
};

}  // namespace pmemsim
