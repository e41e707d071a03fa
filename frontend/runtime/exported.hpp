// The attribute of functions that replace others in the recorded program, or that its instrumented
// code calls.
#pragma once

#define PMEMSIM_EXPORT extern "C" __attribute__((visibility("default")))
