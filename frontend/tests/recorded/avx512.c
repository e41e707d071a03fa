// Stores to persistent memory by AVX-512: scattered, packed, narrowed and masked ones; leaves the
// memory in the file that is given.
#include <immintrin.h>
#include <stdio.h>
#include <sys/mman.h>

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2"))) static void store(char* bytes) {
  const __m512i v = _mm512_set_epi64(0x88, 0x777, 0x66, 0x5555, 0x44, 0x33, 0x22, 0x1111);
  const __m512i far = _mm512_set_epi64(0, 9, 4, 30, 7, 2, 70, -1);
  const __m512i words = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, -4, 3, 2, 1);
  _mm512_mask_storeu_epi64(bytes, 0x5a, v);
  _mm512_i64scatter_epi64(bytes + 200, far, v, 4);
  _mm512_mask_i32scatter_epi32(bytes + 700, 0x0f0f, words, v, 8);
  _mm_mask_i64scatter_epi32(bytes + 900, 2, _mm_set_epi64x(5, 1), _mm_set1_epi32(7), 1);
  _mm512_mask_compressstoreu_epi64(bytes + 1000, 0xb3, v);
  _mm256_mask_compressstoreu_epi8(bytes + 1100, 0x80010307, _mm512_castsi512_si256(v));
  _mm512_mask_cvtepi64_storeu_epi8(bytes + 1200, 0xd7, v);
  _mm512_mask_cvtsepi64_storeu_epi16(bytes + 1300, 0xd7, v);
  _mm_mask_cvtusepi32_storeu_epi8(bytes + 1400, 0xb, _mm512_castsi512_si128(v));
  _mm512_mask_cvtepi16_storeu_epi8(bytes + 1500, 0x8000ffff, v);
}

int main(int count, char** arguments) {
  if (count != 2) return 1;
  char* bytes = mmap((void*)0x10000000000, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (bytes == MAP_FAILED) return 1;
  store(bytes);

  FILE* left = fopen(arguments[1], "wb");
  if (left == NULL || fwrite(bytes, 4096, 1, left) != 1) return 1;
  return fclose(left);
}
