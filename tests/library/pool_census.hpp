// Counts every block of a pool by its persistent layout alone, without the library: each must be
// either in use by the program, or free in exactly one place.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pool_layout.h"

// `live` maps what the program has allocated to its size. Returns what is wrong, or nothing.
std::string census(const unsigned char* start, std::uint64_t bytes,
                   const std::map<std::uint64_t, std::uint64_t>& live);
