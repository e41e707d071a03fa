// Arithmetic on bits: counts, reversals, checksums, a sieve, a permutation, a random number.
#include <stdint.h>
#include <stdio.h>

static uint32_t table[256];

static void make_table(void) {
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
    table[i] = value;
  }
}

static uint32_t checksum(const uint8_t* data, int count) {
  uint32_t value = ~0u;
  for (int i = 0; i < count; ++i) value = table[(value ^ data[i]) & 255] ^ value >> 8;
  return ~value;
}

static int count_bits(uint64_t x) {
  int count = 0;
  for (; x != 0; x &= x - 1) ++count;
  return count;
}

static uint32_t reverse(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}

static uint64_t interleave(uint32_t a, uint32_t b) {
  uint64_t result = 0;
  for (int bit = 0; bit < 32; ++bit) {
    result |= (uint64_t)(a >> bit & 1) << (2 * bit) | (uint64_t)(b >> bit & 1) << (2 * bit + 1);
  }
  return result;
}

static unsigned sieve(uint64_t* bits, unsigned count) {
  unsigned primes = 0;
  for (unsigned i = 2; i < count; ++i) {
    if (bits[i / 64] >> i % 64 & 1) continue;
    ++primes;
    for (unsigned j = i * 2; j < count; j += i) bits[j / 64] |= (uint64_t)1 << j % 64;
  }
  return primes;
}

int main(void) {
  static uint8_t data[2000];
  static uint64_t bits[5000 / 64 + 1];
  uint64_t state = 88172645463325252u, sum = 0;
  make_table();
  for (unsigned i = 0; i < sizeof data; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    data[i] = (uint8_t)state;
    sum += (uint64_t)count_bits(state) + reverse((uint32_t)state);
    if (i % 16 == 0) sum ^= interleave((uint32_t)state, (uint32_t)sum);
    sum ^= (uint64_t)__builtin_ctzll(state | 1u << 20) << (state >> 59);
  }
  printf("%u %u %llu\n", checksum(data, sizeof data), sieve(bits, 5000), (unsigned long long)sum);
  return 0;
}
