// Calls functions of the C and C++ libraries under callgrind, which dumps the instructions of each
// under the label "function units argument size calls" (library_costs.py).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <initializer_list>
#include <iostream>
#include <list>
#include <map>
#include <new>
#include <set>
#include <string>
#include <typeinfo>
#include <unordered_map>

namespace {

constexpr int kCalls = 128;
using Sizes = std::initializer_list<long>;
constexpr Sizes kOne = {8};
constexpr Sizes kSizes = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};
constexpr Sizes kShort = {8, 16, 24, 32, 48, 64};

// Arguments of the calls: two texts of n characters, memory, a pointer and results.
char s[8192], t[8192], memory[65536];
char* p = nullptr;
volatile long result;
volatile double number;

unsigned long random_number() {  // Knuth's linear congruential generator, MMIX
  static std::uint64_t state = 7;
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state >> 33;
}
// 1/16 to 16, as many below 1 as above.
double some_number() { return std::exp2(static_cast<double>(random_number() % 8000) / 1000 - 4); }

template <class Call>
void not_counted(Call call) {
  CALLGRIND_TOGGLE_COLLECT;
  call();
  CALLGRIND_TOGGLE_COLLECT;
}

void dump(const char* name, const char* units, int argument, long size, int calls) {
  CALLGRIND_TOGGLE_COLLECT;
  char label[160];
  std::snprintf(label, sizeof label, "%s|%s|%d|%ld|%d", name, units, argument, size, calls);
  CALLGRIND_DUMP_STATS_AT(label);
  CALLGRIND_TOGGLE_COLLECT;
}

const auto nothing = [](long) {};

template <class Call, class Setup = decltype(nothing)>
void measure(const char* name, const char* units, int argument, Sizes sizes, Call call,
             Setup setup = nothing, int calls = kCalls) {
  for (const long n : sizes) {
    std::memset(s, 'a', sizeof s);
    std::memset(t, 'a', sizeof t);
    s[n] = t[n] = '\0';
    setup(n);
    for (int i = 0; i < calls; ++i) call(n, i);  // the first ones may allocate or initialise
    setup(n);
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < calls; ++i) call(n, i);
    dump(name, units, argument, n, calls);
  }
}
template <class Call>
void measure(const char* name, Call call) {
  measure(name, "None", 0, kOne, call);
}

void strings() {
  const auto marked = [](long n) { s[n] = 'b'; };
  measure("strlen", "Result", 0, kSizes, [](long, int) { result = strlen(s); });
  measure("strnlen", "Result", 0, kSizes, [](long, int) { result = strnlen(s, 8000); });
  measure("strcmp", "CommonString", 0, kSizes, [](long, int) { result = strcmp(s, t); });
  measure("strcasecmp", "CommonString", 0, kSizes, [](long, int) { result = strcasecmp(s, t); });
  measure("strcoll", "CommonString", 0, kSizes, [](long, int) { result = strcoll(s, t); });
  measure("strncmp", "CommonString", 0, kSizes, [](long n, int) { result = strncmp(s, t, n); });
  measure("strncasecmp", "CommonString", 0, kSizes,
          [](long n, int) { result = strncasecmp(s, t, n); });
  measure("memcmp", "CommonBytes", 0, kSizes, [](long n, int) { result = memcmp(s, t, n); });
  measure("bcmp", "CommonBytes", 0, kSizes, [](long n, int) { result = bcmp(s, t, n); });
  measure(
      "memchr", "Found", 0, kSizes, [](long n, int) { result = memchr(s, 'b', n + 1) != nullptr; },
      marked);
  measure("memrchr", "Argument", 2, kSizes,
          [](long n, int) { result = memrchr(s, 'b', n) != nullptr; });
  measure(
      "strchr", "FoundInString", 0, kSizes, [](long, int) { result = strchr(s, 'b') != nullptr; },
      marked);
  measure(
      "strchrnul", "FoundInString", 0, kSizes, [](long, int) { result = *strchrnul(s, 'b'); },
      marked);
  measure("strrchr", "String", 0, kSizes, [](long, int) { result = strrchr(s, 'b') != nullptr; });
  measure("strstr", "FoundInString", 0, kSizes,
          [](long, int) { result = strstr(s, "word") != nullptr; });
  measure("strcasestr", "FoundInString", 0, kSizes,
          [](long, int) { result = strcasestr(s, "word") != nullptr; });
  measure("memmem", "Argument", 1, kSizes,
          [](long n, int) { result = memmem(s, n, "word", 4) != nullptr; });
  measure("strspn", "Result", 0, kSizes, [](long, int) { result = strspn(s, "ax"); });
  measure("strcspn", "Result", 0, kSizes, [](long, int) { result = strcspn(s, "bx"); });
  measure("strpbrk", "FoundInString", 0, kSizes,
          [](long, int) { result = strpbrk(s, "bx") != nullptr; });
  for (const char* name : {"strdup", "strndup"}) {
    measure(name, "ResultString", 0, kSizes, [&](long n, int) {
      char* copy = name[3] == 'd' ? strdup(s) : strndup(s, n);
      not_counted([&] { free(copy); });
    });
  }
  const auto words = [](long) {
    for (int i = 0; i < 2 * kCalls; ++i) std::memcpy(memory + 8 * i, "seven77,", 8);
    memory[16 * kCalls] = '\0';
    p = memory;
  };
  measure("strtok_r", "None", 0, kOne, [](long, int) { result = *strtok_r(p, ",", &p); }, words);
  measure("strtok", "None", 0, kOne, [](long, int) { p = strtok(p, ","), p = nullptr; }, words);
  measure("strsep", "None", 0, kOne, [](long, int) { result = *strsep(&p, ","); }, words);
  measure("strerror", [](long, int i) { result = *strerror(i % 30); });
}

// Functions whose copied bytes are recorded. The recorder counts an instruction for each 16 bytes.
void copies() {
  measure("memcpy", "Copied", 2, kShort, [](long n, int) { memcpy(memory, s, n); });
  measure("memmove", "Copied", 2, kShort, [](long n, int) { memmove(memory, s, n); });
  measure("memset", "Filled", 2, kShort, [](long n, int i) { memset(memory, i, n); });
  measure("strcpy", "Copied", 2, kShort, [](long, int) { strcpy(memory, s); });
  measure("stpcpy", "Copied", 2, kShort, [](long, int) { stpcpy(memory, s); });
  measure("strcat", "Copied", 2, kShort, [](long, int) { *memory = '\0', strcat(memory, s); });
  measure("strncpy", "Copied", 2, kShort, [](long n, int) { strncpy(memory, s, n); });
  measure("strncat", "Copied", 2, kShort,
          [](long n, int) { *memory = '\0', strncat(memory, s, n); });
}

// Programs that hold 16 to 1024 blocks, and replace one at random each time. Sizes are 8 to 4096
// bytes, as many in each power of two.
void* blocks[1024];
long some_bytes() { return static_cast<long>(8 + random_number() % 8) << random_number() % 9; }
template <class Allocate, class Free>
void measure_allocation(const char* allocates, const char* frees, Allocate allocate, Free release) {
  for (const unsigned long held : {16UL, 64UL, 256UL, 1024UL}) {
    const auto fill = [&](long) {
      for (void*& block : blocks) {
        if (block != nullptr) release(block);
        block = nullptr;
      }
      for (unsigned long i = 0; i < held; ++i) blocks[i] = allocate(some_bytes());
    };
    if (allocates != nullptr) {
      measure(
          allocates, "None", 0, kOne,
          [&](long, int) {
            void*& block = blocks[random_number() % held];
            not_counted([&] { release(block); });
            block = allocate(some_bytes());
          },
          fill, 4096);
    }
    if (frees != nullptr) {
      measure(
          frees, "None", 0, kOne,
          [&](long, int) {
            void*& block = blocks[random_number() % held];
            release(block);
            not_counted([&] { block = allocate(some_bytes()); });
          },
          fill, 4096);
    }
    for (void*& block : blocks) {
      if (block != nullptr) release(block);
      block = nullptr;
    }
  }
}

void allocation() {
  constexpr std::align_val_t kAligned{64};
  measure_allocation("malloc", "free", [](long n) { return malloc(n); }, free);
  measure_allocation("memalign", nullptr, [](long n) { return aligned_alloc(64, n & -64); }, free);
  measure_allocation(
      "aligned_alloc", nullptr, [](long n) { return aligned_alloc(64, n & -64); }, free);
  measure_allocation(
      "posix_memalign", nullptr,
      [](long n) {
        void* block = nullptr;
        result = posix_memalign(&block, 64, n);
        return block;
      },
      free);
  const auto simple_new = [](long n) { return ::operator new(n); };
  measure_allocation("_Znwm", "_ZdlPv", simple_new, [](void* at) { ::operator delete(at); });
  measure_allocation(
      "_Znam", "_ZdaPv", [](long n) { return ::operator new[](n); },
      [](void* at) { ::operator delete[](at); });
  measure_allocation(nullptr, "_ZdlPvm", simple_new, [](void* at) { ::operator delete(at, 8UL); });
  measure_allocation(nullptr, "_ZdaPvm", simple_new,
                     [](void* at) { ::operator delete[](at, 8UL); });
  measure_allocation(
      "_ZnwmRKSt9nothrow_t", nullptr, [](long n) { return ::operator new(n, std::nothrow); },
      [](void* at) { ::operator delete(at); });
  measure_allocation(
      "_ZnwmSt11align_val_t", "_ZdlPvSt11align_val_t",
      [](long n) { return ::operator new(n, kAligned); },
      [](void* at) { ::operator delete(at, kAligned); });
  measure_allocation(
      nullptr, "_ZdlPvmSt11align_val_t", [](long n) { return ::operator new(n, kAligned); },
      [](void* at) { ::operator delete(at, 64UL, kAligned); });
  measure("calloc", "Product", 0, kSizes, [](long n, int) {
    void* block = calloc(1, n);
    not_counted([&] { free(block); });
  });
  const auto half = [](long n) { p = static_cast<char*>(malloc(n / 2 + 1)); };
  measure(
      "realloc", "Argument", 1, kSizes,
      [&](long n, int) {
        p = static_cast<char*>(realloc(p, n));
        not_counted([&] { free(p), half(n); });
      },
      half);
  measure("malloc_usable_size", [](long, int) {
    static void* const block = malloc(100);
    extern std::size_t usable(void*) __asm__("malloc_usable_size");
    result = static_cast<long>(usable(block));
  });
}

int call_vsnprintf(const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  const int length = vsnprintf(memory, sizeof memory, format, list);
  va_end(list);
  return length;
}

// A printing function: its cost without conversions, and for each character. kFormat adds the
// conversions', which are rows of their own.
void printing() {
  measure("snprintf", "Format", 2, kSizes, [](long, int) { snprintf(memory, 8192, s); });
  measure("sprintf", "Format", 1, kSizes, [](long, int) { sprintf(memory, s); });
  measure("vsnprintf", "Format", 2, kSizes, [](long, int) { call_vsnprintf(s); });
  measure("vsprintf", "Format", 1, kSizes, [](long, int) { call_vsnprintf(s); });
  measure("__snprintf_chk", "Format", 4, kSizes, [](long, int) {
    extern int checked(char*, std::size_t, int, std::size_t, const char*,
                       ...) __asm__("__snprintf_chk");
    checked(memory, 8192, 1, 8192, s);
  });
  measure("__sprintf_chk", "Format", 3, kSizes, [](long, int) {
    extern int checked(char*, int, std::size_t, const char*, ...) __asm__("__sprintf_chk");
    checked(memory, 1, 8192, s);
  });
  measure("printf", "Format", 0, kSizes, [](long, int) { printf(s); });
  measure("fprintf", "Format", 1, kSizes, [](long, int) { fprintf(stdout, s); });
  measure("__printf_chk", "Format", 1, kSizes, [](long, int) {
    extern int checked(int, const char*, ...) __asm__("__printf_chk");
    checked(1, s);
  });
  measure("__fprintf_chk", "Format", 2, kSizes, [](long, int) {
    extern int checked(std::FILE*, int, const char*, ...) __asm__("__fprintf_chk");
    checked(stdout, 1, s);
  });
  // A format with eight conversions, of values of all lengths.
  const auto more = [](const char* name, auto value) {
    measure(name, "Conversion", 0, kOne, [&](long, int) {
      char format[64] = "";
      decltype(value()) v[8];
      not_counted([&] {
        for (auto& each : v) each = value();
        for (int i = 0; i < 8; ++i) std::strcat(std::strcat(format, "a"), name);
      });
      snprintf(memory, 8192, format, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
    });
  };
  more("%d", [] { return static_cast<int>(random_number() >> random_number() % 31); });
  more("%x", [] { return static_cast<int>(random_number() >> random_number() % 31); });
  more("%c", [] { return 'a'; });
  more("%s", [] { return "text"; });
  more("%p", [] { return static_cast<void*>(s); });
  more("%f", [] { return some_number() * 10; });
  more("%e", [] { return some_number() * 10; });
  more("%g", [] { return some_number() * 10; });
}

void streams() {
  static std::FILE* const file = tmpfile();
  measure("puts", "String", 0, kSizes, [](long, int) { puts(s); });
  measure("fputs", "String", 0, kSizes, [](long, int) { fputs(s, stdout); });
  measure("putchar", [](long, int) { putchar('a'); });
  measure("putc", [](long, int) { putc('a', stdout); });
  measure("fputc", [](long, int) { fputc('a', stdout); });
  measure("fwrite", "Product", 1, kSizes, [](long n, int) { fwrite(s, 1, n, stdout); });
  measure("fflush", [](long, int) {
    not_counted([] { putchar('a'); });
    fflush(stdout);
  });
  for (int i = 0; i < 65536; ++i) fwrite("line 7\n", 1, 7, file);
  const auto begin = [](long) { rewind(file); };
  measure(
      "fread", "Product", 1, kSizes,
      [](long n, int) { result = static_cast<long>(fread(memory, 1, n, file)); }, begin);
  measure("fgets", "None", 0, kOne, [](long, int) { p = fgets(memory, 80, file); }, begin);
  measure("getc", "None", 0, kOne, [](long, int) { result = getc(file); }, begin);
  measure("fgetc", "None", 0, kOne, [](long, int) { result = fgetc(file); }, begin);
  measure(
      "ungetc", "None", 0, kOne,
      [](long, int) {
        not_counted([] { result = getc(file); });
        ungetc('a', file);
      },
      begin);
  measure(
      "getline", "None", 0, kOne,
      [](long, int) {
        static char* line = nullptr;
        static std::size_t bytes = 0;
        result = getline(&line, &bytes, file);
      },
      begin);
  measure("fseek", [](long, int i) { result = fseek(file, 8 * i, SEEK_SET); });
  measure("ftell", [](long, int) { result = ftell(file); });
  measure("feof", [](long, int) { result = feof(file); });
  measure("ferror", [](long, int) { result = ferror(file); });
  measure("fileno", [](long, int) { result = fileno(file); });
  measure("fopen", [](long, int) {
    std::FILE* opened = fopen("/dev/null", "r");
    not_counted([&] { fclose(opened); });
  });
  measure("fclose", [](long, int) {
    std::FILE* opened = nullptr;
    not_counted([&] { opened = fopen("/dev/null", "r"); });
    fclose(opened);
  });
  static int numbers[2];
  for (const char* name : {"sscanf", "__isoc99_sscanf", "__isoc23_sscanf"}) {
    measure(name, "Conversions", 1, {1, 2, 4, 8}, [](long n, int) {
      static constexpr const char* kFormats[] = {"%d", "%d %d", "%d %d %d %d",
                                                 "%d %d %d %d %d %d %d %d"};
      int* at = numbers;
      result = sscanf("1234 5678 90123 456 78901 23 456 7890",
                      kFormats[std::bit_width(static_cast<unsigned long>(n)) - 1], at, at, at, at,
                      at, at, at, at);
    });
  }
}

void numbers() {
  measure("atoi", [](long, int) { result = atoi("12345"); });
  measure("atol", [](long, int) { result = atol("12345"); });
  measure("atoll", [](long, int) { result = atoll("12345"); });
  measure("atof", [](long, int) { number = atof("123.456"); });
  for (const char* name : {"strtol", "strtoll", "__isoc23_strtol", "__isoc23_strtoll"}) {
    measure(name, [](long, int) { result = strtol("12345", &p, 10); });
  }
  for (const char* name : {"strtoul", "strtoull", "__isoc23_strtoul", "__isoc23_strtoull"}) {
    measure(name, [](long, int) { result = static_cast<long>(strtoul("12345", &p, 10)); });
  }
  measure("strtod", [](long, int) { number = strtod("123.456", &p); });
  measure("strtof", [](long, int) { number = strtof("123.456", &p); });
  measure("rand", [](long, int) { result = rand(); });
  measure("srand", [](long, int i) { srand(i); });
  measure("rand_r", [](long, int) {
    static unsigned seed = 1;
    result = rand_r(&seed);
  });
  measure("random", [](long, int) { result = random(); });
  measure("srandom", [](long, int i) { srandom(i); });
  measure("drand48", [](long, int) { number = drand48(); });
  measure("lrand48", [](long, int) { result = lrand48(); });
  measure("mrand48", [](long, int) { result = mrand48(); });
  measure("srand48", [](long, int i) { srand48(i); });
  static unsigned short state[3];
  measure("erand48", [](long, int) { number = erand48(state); });
  measure("nrand48", [](long, int) { result = nrand48(state); });
  measure("abs", [](long, int i) { result = abs(i - 5); });
  measure("labs", [](long, int i) { result = labs(i - 5); });
  measure("toupper", [](long, int i) { result = toupper('a' + i % 26); });
  measure("tolower", [](long, int i) { result = tolower('A' + i % 26); });
#define CHARACTERS(name) measure(#name, [](long, int i) { result = (name)(i); });
  CHARACTERS(isalpha);
  CHARACTERS(isdigit);
  CHARACTERS(isalnum);
  CHARACTERS(isspace);
  CHARACTERS(isupper);
  CHARACTERS(islower);
  CHARACTERS(isprint);
  CHARACTERS(ispunct);
  CHARACTERS(isxdigit);
  measure("__ctype_b_loc", [](long, int) { result = **__ctype_b_loc(); });
  measure("__ctype_toupper_loc", [](long, int) { result = **__ctype_toupper_loc(); });
  measure("__ctype_tolower_loc", [](long, int) { result = **__ctype_tolower_loc(); });
  measure("__errno_location", [](long, int) { result = errno; });
}

// 128-bit division, which the compiler calls.
void wide_division() {
  const auto wide = [] {
    return static_cast<unsigned __int128>(random_number()) << 64 | random_number();
  };
  static unsigned __int128 value = 0, by = 0;
  const auto next = [&] {
    not_counted([&] { value = wide(), by = wide() >> random_number() % 90 | 1; });
  };
  measure("__udivti3", [&](long, int) { next(), result = static_cast<long>(value / by); });
  measure("__umodti3", [&](long, int) { next(), result = static_cast<long>(value % by); });
  measure("__divti3", [&](long, int) {
    next(), result = static_cast<long>(static_cast<__int128>(value) / static_cast<__int128>(by));
  });
  measure("__modti3", [&](long, int) {
    next(), result = static_cast<long>(static_cast<__int128>(value) % static_cast<__int128>(by));
  });
}

double next_number(double low, double high) {
  double next = 0;
  not_counted([&] {
    do next = some_number();
    while (next < low || next > high);
  });
  return next;
}
constexpr double kAny = 100;

void mathematics() {
#define ONE_TYPE(name, ...) \
  measure(name, "None", 0, kOne, [](long, int) { number = static_cast<double>(__VA_ARGS__); });
#define OF(type, low, high) static_cast<type>(next_number(low, high))
#define UNARY(name, low, high)                         \
  ONE_TYPE(#name, (name)(OF(double, low, high)))       \
  ONE_TYPE(#name "f", (name##f)(OF(float, low, high))) \
  ONE_TYPE(#name "l", (name##l)(OF(long double, low, high)))
#define BINARY(name)                                                     \
  ONE_TYPE(#name, (name)(OF(double, 0, kAny), OF(double, 0, kAny)))      \
  ONE_TYPE(#name "f", (name##f)(OF(float, 0, kAny), OF(float, 0, kAny))) \
  ONE_TYPE(#name "l", (name##l)(OF(long double, 0, kAny), OF(long double, 0, kAny)))
  UNARY(sin, 0, kAny);
  UNARY(cos, 0, kAny);
  UNARY(tan, 0, kAny);
  UNARY(asin, 0, 1);
  UNARY(acos, 0, 1);
  UNARY(atan, 0, kAny);
  UNARY(sinh, 0, kAny);
  UNARY(cosh, 0, kAny);
  UNARY(tanh, 0, kAny);
  UNARY(asinh, 0, kAny);
  UNARY(acosh, 1, kAny);
  UNARY(atanh, 0, 0.99);
  UNARY(exp, 0, kAny) UNARY(exp2, 0, kAny);
  UNARY(exp10, 0, kAny);
  UNARY(expm1, 0, kAny);
  UNARY(log, 0, kAny);
  UNARY(log2, 0, kAny);
  UNARY(log10, 0, kAny);
  UNARY(log1p, 0, kAny);
  UNARY(sqrt, 0, kAny);
  UNARY(cbrt, 0, kAny);
  UNARY(ceil, 0, kAny);
  UNARY(floor, 0, kAny);
  UNARY(round, 0, kAny);
  UNARY(roundeven, 0, kAny);
  UNARY(trunc, 0, kAny);
  UNARY(rint, 0, kAny);
  UNARY(nearbyint, 0, kAny);
  UNARY(lround, 0, kAny);
  UNARY(llround, 0, kAny);
  UNARY(lrint, 0, kAny);
  UNARY(llrint, 0, kAny);
  UNARY(fabs, 0, kAny);
  UNARY(erf, 0, kAny);
  UNARY(erfc, 0, kAny);
  UNARY(tgamma, 0, kAny);
  UNARY(lgamma, 0, kAny);
  UNARY(logb, 0, kAny);
  UNARY(ilogb, 0, kAny);
  BINARY(atan2);
  BINARY(pow);
  BINARY(hypot);
  BINARY(fmod);
  BINARY(remainder);
  BINARY(fmax);
  BINARY(fmin);
  BINARY(fdim);
  BINARY(copysign);
#define SCALING(name)                                   \
  ONE_TYPE(#name, (name)(OF(double, 0, kAny), 3))       \
  ONE_TYPE(#name "f", (name##f)(OF(float, 0, kAny), 3)) \
  ONE_TYPE(#name "l", (name##l)(OF(long double, 0, kAny), 3))
  SCALING(ldexp);
  SCALING(scalbn);
  static int exponent;
  ONE_TYPE("frexp", (frexp)(OF(double, 0, kAny), &exponent));
  ONE_TYPE("frexpf", (frexpf)(OF(float, 0, kAny), &exponent));
  static double whole, cosine;
  static float wholef, cosinef;
  ONE_TYPE("modf", (modf)(OF(double, 0, kAny), &whole));
  ONE_TYPE("modff", (modff)(OF(float, 0, kAny), &wholef));
  ONE_TYPE("sincos", ((sincos)(OF(double, 0, kAny), &whole, &cosine), whole));
  ONE_TYPE("sincosf", ((sincosf)(OF(float, 0, kAny), &wholef, &cosinef), wholef));
  ONE_TYPE("fma", (fma)(OF(double, 0, kAny), OF(double, 0, kAny), OF(double, 0, kAny)));
  ONE_TYPE("fmaf", (fmaf)(OF(float, 0, kAny), OF(float, 0, kAny), OF(float, 0, kAny)));
}

// Their instructions in the kernel are not counted.
void system_calls() {
  static char path[] = "/tmp/library_costs_XXXXXX";
  static const int file = mkstemp(path);
  result = write(file, memory, sizeof memory);
  static struct stat status;
  measure("open", [](long, int) {
    const int opened = open(path, O_RDONLY);
    not_counted([&] { close(opened); });
  });
  measure("close", [](long, int) {
    int opened = 0;
    not_counted([&] { opened = open(path, O_RDONLY); });
    close(opened);
  });
  const auto rewound = [](long) { lseek(file, 0, SEEK_SET); };
  measure("read", "None", 0, kOne, [](long, int) { result = read(file, s, 8); }, rewound);
  measure("write", "None", 0, kOne, [](long, int) { result = write(file, s, 8); }, rewound);
  measure("pread", [](long, int) { result = pread(file, s, 8, 0); });
  measure("pwrite", [](long, int) { result = pwrite(file, s, 8, 0); });
  measure("lseek", [](long, int) { result = lseek(file, 0, SEEK_SET); });
  measure("fstat", [](long, int) { result = fstat(file, &status); });
  measure("stat", [](long, int) { result = stat(path, &status); });
  measure("access", [](long, int) { result = access(path, R_OK); });
  measure("ftruncate", [](long, int) { result = ftruncate(file, 65536); });
  measure("fsync", [](long, int) { result = fsync(file); });
  measure("fdatasync", [](long, int) { result = fdatasync(file); });
  measure("fcntl", [](long, int) { result = fcntl(file, F_GETFL); });
  static void* at = nullptr;
  const auto map = [] { at = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); };
  const auto unmap = [] { munmap(at, 65536); };
  measure("mmap", [&](long, int) { map(), not_counted(unmap); });
  measure("munmap", [&](long, int) { not_counted(map), unmap(); });
  map();
  measure("msync", [](long, int) { result = msync(at, 65536, MS_SYNC); });
  measure("mprotect", [](long, int) { result = mprotect(at, 65536, PROT_READ); });
  measure("madvise", [](long, int) { result = madvise(at, 65536, MADV_NORMAL); });
  unlink(path);
  measure("getpid", [](long, int) { result = getpid(); });
  measure("gettid", [](long, int) { result = gettid(); });
  measure("getuid", [](long, int) { result = getuid(); });
  measure("sysconf", [](long, int) { result = sysconf(_SC_PAGESIZE); });
  measure("getpagesize", [](long, int) { result = getpagesize(); });
  measure("getenv", [](long, int) { result = getenv("HOME") != nullptr; });
  measure("getrusage", [](long, int) {
    static struct rusage usage;
    result = getrusage(RUSAGE_SELF, &usage);
  });
}

void clocks() {
  static timespec now{};
  static timeval of_day{};
  static time_t seconds = 1'700'000'000;
  static tm parts{};
  measure("clock_gettime", [](long, int) { result = clock_gettime(CLOCK_MONOTONIC, &now); });
  measure("gettimeofday", [](long, int) { result = gettimeofday(&of_day, nullptr); });
  measure("time", [](long, int) { result = time(nullptr); });
  measure("clock", [](long, int) { result = clock(); });
  measure("difftime", [](long, int) { number = difftime(seconds, 5); });
  measure("localtime_r", [](long, int) { result = localtime_r(&seconds, &parts)->tm_hour; });
  measure("localtime", [](long, int) { result = localtime(&seconds)->tm_hour; });
  measure("gmtime_r", [](long, int) { result = gmtime_r(&seconds, &parts)->tm_hour; });
  measure("gmtime", [](long, int) { result = gmtime(&seconds)->tm_hour; });
  measure("mktime", [](long, int) { result = mktime(&parts); });
  measure("strftime", [](long, int) {
    result = static_cast<long>(strftime(memory, 80, "%Y-%m-%d %H:%M:%S", &parts));
  });
  measure("_ZNSt6chrono3_V212system_clock3nowEv",
          [](long, int) { result = std::chrono::system_clock::now().time_since_epoch().count(); });
  measure("_ZNSt6chrono3_V212steady_clock3nowEv",
          [](long, int) { result = std::chrono::steady_clock::now().time_since_epoch().count(); });
}

// ---- Functions that call back ------------------------------------------------------------------

int compares = 0;
int compare(const void* left, const void* right) {
  ++compares;
  const int a = *static_cast<const int*>(left), b = *static_cast<const int*>(right);
  return a < b ? -1 : a > b;
}

// The label's size is the number of comparisons, the mean of all calls.
template <class Fill, class Call>
void measure_callbacks(const char* name, Sizes sizes, Fill fill, Call call) {
  constexpr int kRounds = 16;
  for (const long n : sizes) {
    CALLGRIND_ZERO_STATS;
    compares = 0;
    for (int i = 0; i < kRounds; ++i) {
      not_counted([&] {
        const int before = compares;
        fill(n);
        compares = before;
      });
      call(n);
    }
    dump(name, "Callbacks", 0, compares / kRounds, kRounds);
  }
}

template <int kBytes>
void fill_elements(long n) {
  for (long i = 0; i < n * kBytes / 4; ++i) {
    const int value = static_cast<int>(random_number());
    std::memcpy(memory + 4 * i, &value, 4);
  }
}
template <int kBytes>
void measure_sort(const char* name) {
  measure_callbacks(name, {8, 32, 128, 512, 1024}, fill_elements<kBytes>,
                    [](long n) { qsort(memory, n, kBytes, compare); });
}
void callbacks() {
  measure_sort<4>("qsort");
  measure_sort<8>("qsort");
  measure_sort<16>("qsort wide");
  measure_sort<32>("qsort wide");
  measure_sort<64>("qsort wide");
  const auto sorted = [](long n) { std::qsort(memory, n, 4, compare); };
  measure_callbacks(
      "bsearch", {1, 8, 64, 512, 4096}, [&](long n) { fill_elements<4>(n), sorted(n); },
      [](long n) {
        const int key = static_cast<int>(random_number());
        result = bsearch(&key, memory, n, 4, compare) != nullptr;
      });
}

// ---- The C++ library ---------------------------------------------------------------------------

void hooks() {
  measure("_ZSt11_Hash_bytesPKvmm", "Argument", 1, kSizes,
          [](long n, int) { result = static_cast<long>(std::_Hash_bytes(s, n, 7)); });
  static std::set<long> numbers;
  static std::set<long>::iterator at;
  const auto many = [](long) {
    numbers.clear();
    for (int i = 0; i < 1000; ++i) numbers.insert(static_cast<long>(random_number()));
    at = numbers.begin();
  };
  measure(
      "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", "None", 0, kOne, [](long, int) { ++at; },
      many);
  measure(
      "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base", "None", 0, kOne, [](long, int) { ++at; },
      many);
  const auto from_the_end = [&](long n) { many(n), at = numbers.end(); };
  measure(
      "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base", "None", 0, kOne, [](long, int) { --at; },
      from_the_end);
  measure(
      "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", "None", 0, kOne, [](long, int) { --at; },
      from_the_end);
  measure(
      "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", "None", 0, kOne,
      [](long, int) {
        auto* node = const_cast<std::_Rb_tree_node_base*>(at._M_node);
        auto* header = const_cast<std::_Rb_tree_node_base*>(numbers.end()._M_node);
        not_counted([] { ++at; });
        std::_Rb_tree_rebalance_for_erase(node, *header);
      },
      many);
  static std::_Rb_tree_node_base top, nodes[1000];
  static long keys[1000];
  const auto empty = [](long) {
    top._M_color = std::_S_red;
    top._M_parent = nullptr;
    top._M_left = top._M_right = &top;
  };
  measure(
      "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", "None", 0, kOne,
      [](long, int i) {
        keys[i] = static_cast<long>(random_number());
        std::_Rb_tree_node_base *above = &top, *next = top._M_parent;
        bool left = true;
        while (next != nullptr) {
          above = next;
          left = keys[i] < keys[next - nodes];
          next = left ? next->_M_left : next->_M_right;
        }
        std::_Rb_tree_insert_and_rebalance(left, &nodes[i], above, top);
      },
      empty, 1000);
  static std::__detail::_List_node_base list, links[kCalls];
  measure(
      "_ZNSt8__detail15_List_node_base7_M_hookEPS0_", "None", 0, kOne,
      [](long, int i) { links[i]._M_hook(&list); },
      [](long) { list._M_next = list._M_prev = &list; });
  measure("_ZNSt8__detail15_List_node_base9_M_unhookEv", [](long, int i) { links[i]._M_unhook(); });
  static std::__detail::_Prime_rehash_policy policy;
  measure("_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm",
          [](long, int i) { result = static_cast<long>(policy._M_next_bkt(100 * i)); });
  measure("_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm",
          [](long, int i) { result = policy._M_need_rehash(1000, i, 1).first; });
}

void text_streams() {
  static std::string text;
  // One cost for all members of std::string: the mean of these, with 24 characters.
  measure("_ZNSt7__cxx1112basic_string", [](long, int i) {
    switch (i % 4) {
      case 0:
        text.append("seven77seven77seven77abc");
        break;
      case 1:
        text.assign("seven77seven77seven77abc");
        break;
      case 2:
        text.replace(3, 5, "longer text");
        break;
      default:
        result = text.compare("seven77seven77seven77abd");
    }
  });
  measure("_ZNSolsEi", [](long, int i) { std::cout << i * 1001; });
  measure("_ZNSo9_M_insertIlEERSoT_", [](long, int i) { std::cout << i * 1001L; });
  measure("_ZNSo9_M_insertImEERSoT_", [](long, int i) { std::cout << i * 1001UL; });
  measure("_ZNSo9_M_insertIdEERSoT_", [](long, int i) { std::cout << i * 1.37; });
  measure("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
          [](long, int) { std::cout << "some words"; });
  measure("_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",
          [](long, int) { std::cout.write("some words", 10); });
  measure("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c",
          [](long, int) { std::cout << 'a'; });
  measure("_ZNSo3putEc", [](long, int) { std::cout.put('a'); });
  measure("_ZNSo5flushEv", [](long, int) { std::cout.flush(); });
  measure("_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_",
          [](long, int) { std::cout << std::endl; });
}

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

__attribute__((noinline)) void throw_number(int number) { throw number; }
// The cost of an exception that the caller's caller catches, with its allocation and its end.
__attribute__((noinline)) void exceptions() {
  measure("__cxa_throw", [](long, int i) {
    try {
      throw_number(i);
    } catch (int caught) {
      result = caught;
    }
  });
  static Base* volatile object = new Derived;
  measure("__dynamic_cast",
          [](long, int) { result = dynamic_cast<Derived*>(const_cast<Base*>(object)) != nullptr; });
}

}  // namespace

int main() {
  text_streams();
  strings();
  copies();
  allocation();
  printing();
  streams();
  numbers();
  wide_division();
  mathematics();
  system_calls();
  clocks();
  callbacks();
  hooks();
  exceptions();
}
