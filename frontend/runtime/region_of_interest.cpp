// The region of interest: recording begins and ends by the program's marks or with main().
//
// Every thread may begin and end its own region of interest. All threads are recorded from the
// first begin until as many regions have ended as have begun.
#include "region_of_interest.hpp"

#include <cstdlib>
#include <cstring>

#include "exported.hpp"
#include "output.hpp"
#include "persistent.hpp"
#include "pmemsim_rt.h"
#include "record.hpp"
#include "scheduler.hpp"
#include "status.hpp"
#include "thread.hpp"

// Declared in pmemsim/pm.h; absent from programs that don't use it.
extern "C" __attribute__((weak)) void pm_roi_begin();

namespace pmemsim::rt {
namespace {

bool whole_run = false;
std::uint32_t begun = 0, ended = 0;  // threads' regions of interest

void begin() {
  write_images();
  begin_recording();
}

void region_of_interest_begin() {
  if (mode == Mode::kWarm) {
    begin();
  } else if (mode == Mode::kDone && is_recorded_process()) {
    say("the region of interest has already ended, so this pm_roi_begin() is ignored; call it "
        "once, or let all threads wait at a barrier after it");
  }
  if (recording() && !self->in_region_of_interest) {
    self->in_region_of_interest = true;
    ++begun;
  }
}

void region_of_interest_end() {
  if (!recording() || !self->in_region_of_interest) return;
  self->in_region_of_interest = false;
  if (++ended == begun && !whole_run) end_recording();
}

}  // namespace

void configure_region_of_interest() {
  const char* text = std::getenv("PMEMSIM_ROI");
  if (records_checker) {
    whole_run = true;
  } else if (text == nullptr) {
    whole_run = pm_roi_begin == nullptr;
  } else if (std::strcmp(text, "whole") == 0) {
    whole_run = true;
  } else if (std::strcmp(text, "marked") != 0) {
    fail("PMEMSIM_ROI is \"%s\"; it must be \"whole\" or \"marked\"", text);
  }
}

void main_begins() {
  mode = Mode::kWarm;
  if (whole_run) begin();
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT void pmemsim_rt_mark(std::uint32_t mark, std::uint64_t first, std::uint64_t second) {
  if (!active()) return;
  const auto kind = static_cast<pmemsim::trace::MarkKind>(mark);
  if (kind == pmemsim::trace::MarkKind::kRoiBegin) region_of_interest_begin();
  put_mark(kind, first, second);
  if (kind == pmemsim::trace::MarkKind::kRoiEnd) region_of_interest_end();
}
