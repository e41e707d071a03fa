// The attributes of functions that replace others in the recorded program, or that its instrumented
// code calls. They are in a section of their own, by which the runtime identifies them.
#pragma once

#define PMEMSIM_OWN __attribute__((section("pmemsim_rt")))
#define PMEMSIM_EXPORT extern "C" PMEMSIM_OWN __attribute__((visibility("default")))
