// Parsers: of arithmetic expressions, and of nested lists of numbers and names.
#include <stdio.h>

static const char* at;

static long expression(void);

static void skip_spaces(void) {
  while (*at == ' ' || *at == '\n') ++at;
}

static long number(void) {
  long value = 0;
  while (*at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
  return value;
}

static long factor(void) {
  skip_spaces();
  if (*at == '-') {
    ++at;
    return -factor();
  }
  if (*at != '(') return number();
  ++at;
  const long value = expression();
  skip_spaces();
  if (*at == ')') ++at;
  return value;
}

static long term(void) {
  long value = factor();
  for (;;) {
    skip_spaces();
    if (*at == '*') {
      ++at;
      value *= factor();
    } else if (*at == '/') {
      ++at;
      const long divisor = factor();
      if (divisor != 0) value /= divisor;
    } else {
      return value;
    }
  }
}

static long expression(void) {
  long value = term();
  for (;;) {
    skip_spaces();
    if (*at == '+') {
      ++at;
      value += term();
    } else if (*at == '-') {
      ++at;
      value -= term();
    } else {
      return value;
    }
  }
}

// Returns a hash of a list such as [1, {"name": [2, true]}, null].
static unsigned list(unsigned depth) {
  unsigned hash = depth;
  skip_spaces();
  switch (*at) {
    case '[':
    case '{': {
      const char end = *at++ == '[' ? ']' : '}';
      for (;;) {
        skip_spaces();
        if (*at == end) {
          ++at;
          return hash * 5 + 1;
        }
        hash = hash * 31 + list(depth + 1);
        skip_spaces();
        if (*at == ',' || *at == ':') ++at;
      }
    }
    case '"':
      for (++at; *at != '"'; ++at) {
        if (*at == '\\') ++at;
        hash = hash * 33 + (unsigned char)*at;
      }
      ++at;
      return hash;
    case 't':
    case 'n':
      at += 4;
      return hash ^ 1;
    case 'f':
      at += 5;
      return hash ^ 2;
    case '-':
      ++at;
      return hash - (unsigned)number();
    default:
      return hash + (unsigned)number();
  }
}

int main(void) {
  static const char sums[] =
      "1 + 2 * (3 - 4 * (5 + 6)) / 7 - -8 * (9 + 10 * (11 - 12)) + ((((13)))) * 14 - 15 / (16 - 3)";
  static const char lists[] =
      "[{\"name\": \"first\", \"values\": [1, 2, 3, -44, 555]}, {\"name\": \"a \\\"second\\\" "
      "one\",\n"
      " \"values\": [], \"valid\": true, \"parent\": null}, [[[[17]], false], 123456], {}]";
  long value = 0;
  unsigned hash = 0;
  for (int i = 0; i < 150; ++i) {
    at = sums;
    value = value % 1000003 * 3 + expression();
    at = lists;
    hash = hash * 7 + list(0);
  }
  printf("%ld %u\n", value, hash);
  return 0;
}
