// Functions that the recorded program calls in place of others, or that its compiled code calls.
#pragma once

#define PMEMSIM_EXPORT extern "C" __attribute__((visibility("default")))
