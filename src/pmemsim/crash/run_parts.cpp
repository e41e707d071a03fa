#include "pmemsim/crash/run_parts.hpp"

#include <atomic>
#include <exception>
#include <numeric>
#include <thread>
#include <vector>

namespace pmemsim {
namespace {

class Parts {
 public:
  Parts(std::uint32_t parts, const std::function<bool(double)>& progress,
        const std::function<void(std::uint32_t, const PartProgress&)>& work)
      : progress_(progress), work_(work), done_(parts) {}

  void run_all() {
    std::vector<std::jthread> others;
    for (std::uint32_t part = 1; part < done_.size(); ++part) {
      others.emplace_back([this, part] { run(part); });
    }
    run(0);
    others.clear();  // Waits for the other threads
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(std::uint32_t part) {
    try {
      work_(part, [this, part](double done) { return report_progress(part, done); });
    } catch (...) {
      // Later exceptions only say that a part was stopped.
      if (!failed_.exchange(true)) failure_ = std::current_exception();
      stopped_ = true;
    }
  }

  // Stores how much of the part is done. Returns false if the part must stop.
  bool report_progress(std::uint32_t part, double done) {
    done_[part] = done;
    if (stopped_) return false;
    if (part != 0 || !progress_) return true;
    const double sum = std::accumulate(done_.begin(), done_.end(), 0.0);
    if (!progress_(sum / static_cast<double>(done_.size()))) stopped_ = true;
    return !stopped_;
  }

  const std::function<bool(double)>& progress_;
  const std::function<void(std::uint32_t, const PartProgress&)>& work_;
  std::vector<std::atomic<double>> done_;
  std::atomic<bool> stopped_ = false, failed_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void run_parts(std::uint32_t parts, const std::function<bool(double)>& progress,
               const std::function<void(std::uint32_t, const PartProgress&)>& work) {
  Parts(parts, progress, work).run_all();
}

}  // namespace pmemsim
