// State machines: a tokenizer by nested switches, a protocol by a table of functions.
#include <stdint.h>
#include <stdio.h>

typedef enum { START, NAME, INTEGER, FRACTION, STRING, ESCAPE, SLASH, COMMENT } State;

static unsigned tokens[8];

static int is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

__attribute__((noinline)) static void tokenize(const char* text) {
  State state = START;
  for (;; ++text) {
    const char c = *text;
    switch (state) {
      case START:
        if (is_name(c)) {
          state = NAME;
        } else if (is_digit(c)) {
          state = INTEGER;
        } else {
          switch (c) {
            case '"':
              state = STRING;
              break;
            case '/':
              state = SLASH;
              break;
            case '\0':
              return;
            case '+':
            case '-':
            case '*':
            case '=':
            case ';':
            case '(':
            case ')':
              ++tokens[START];
              break;
            default:
              break;
          }
        }
        break;
      case NAME:
      case INTEGER:
      case FRACTION:
        if (is_digit(c) || (state == NAME && is_name(c))) break;
        if (state == INTEGER && c == '.') {
          state = FRACTION;
          break;
        }
        ++tokens[state];
        state = START;
        --text;
        break;
      case STRING:
        if (c == '\\') {
          state = ESCAPE;
        } else if (c == '"') {
          ++tokens[STRING];
          state = START;
        }
        break;
      case ESCAPE:
        state = STRING;
        break;
      case SLASH:
        state = c == '/' ? COMMENT : START;
        if (state == START) --text;
        break;
      case COMMENT:
        if (c == '\n') {
          ++tokens[COMMENT];
          state = START;
        }
        break;
    }
  }
}

typedef struct Connection {
  int (*next)(struct Connection*, unsigned event);
  unsigned retries, received;
} Connection;

static int idle(Connection* connection, unsigned event);
static int waiting(Connection* connection, unsigned event);
static int open(Connection* connection, unsigned event);

static int idle(Connection* connection, unsigned event) {
  if (event % 3 == 0) connection->next = waiting;
  return 0;
}
static int waiting(Connection* connection, unsigned event) {
  if (event % 5 < 2) {
    connection->next = open;
    return 1;
  }
  if (++connection->retries % 4 == 0) connection->next = idle;
  return 0;
}
static int open(Connection* connection, unsigned event) {
  connection->received += event & 15;
  if (event % 7 == 0) connection->next = idle;
  return 2;
}

int main(void) {
  static const char text[] =
      "int main() { // begin\n  x = 3.14 * (y_1 - 42) + \"a \\\"string\\\"\"; // sum\n"
      "  return x/2 - value; }\n";
  for (int i = 0; i < 100; ++i) tokenize(text);
  Connection connections[4] = {{idle, 0, 0}, {idle, 0, 0}, {waiting, 0, 0}, {open, 0, 0}};
  uint32_t random = 99, sum = 0;
  for (int i = 0; i < 3000; ++i) {
    random = random * 1664525u + 1013904223u;
    Connection* connection = &connections[random >> 30];
    sum = sum * 3 + (unsigned)connection->next(connection, random >> 16);
  }
  for (int i = 0; i < 8; ++i) sum = sum * 31 + tokens[i];
  printf("%u %u\n", sum, connections[3].received);
  return 0;
}
