// An interpreter of a stack machine whose instructions are the cases of a switch.
#include <stdint.h>
#include <stdio.h>

enum { PUSH, ADD, SUB, MUL, DUP, SWAP, LOAD, STORE, JUMP_IF_NOT_ZERO, LESS, DROP, HALT };

static uint64_t variables[8];

__attribute__((noinline)) static uint64_t interpret(const int32_t* code) {
  uint64_t stack[32];
  uint64_t* top = stack;
  *top = 0;
  for (const int32_t* at = code;;) {
    switch (*at++) {
      case PUSH:
        *++top = *at++;
        break;
      case ADD:
        --top;
        top[0] += top[1];
        break;
      case SUB:
        --top;
        top[0] -= top[1];
        break;
      case MUL:
        --top;
        top[0] *= top[1];
        break;
      case DUP:
        top[1] = top[0];
        ++top;
        break;
      case SWAP: {
        const uint64_t other = top[-1];
        top[-1] = top[0];
        top[0] = other;
        break;
      }
      case LOAD:
        *++top = variables[*at++];
        break;
      case STORE:
        variables[*at++] = *top--;
        break;
      case JUMP_IF_NOT_ZERO:
        at = *top-- != 0 ? code + *at : at + 1;
        break;
      case LESS:
        --top;
        top[0] = top[0] < top[1];
        break;
      case DROP:
        --top;
        break;
      case HALT:
        return *top;
      default:
        return -1;
    }
  }
}

int main(void) {
  static const int32_t program[] = {PUSH,
                                    3000,
                                    STORE,
                                    0,  // n = 3000
                                    PUSH,
                                    0,
                                    STORE,
                                    1,  // sum = 0
                                    LOAD,
                                    1,
                                    PUSH,
                                    3,
                                    MUL,  // 8: sum * 3 ...
                                    LOAD,
                                    0,
                                    PUSH,
                                    1500,
                                    LESS,
                                    JUMP_IF_NOT_ZERO,
                                    26,  // if n >= 1500
                                    PUSH,
                                    0,
                                    LOAD,
                                    0,
                                    SUB,
                                    ADD,  // ... - n
                                    LOAD,
                                    0,
                                    ADD,
                                    STORE,
                                    1,  // 26: ... + n
                                    LOAD,
                                    0,
                                    PUSH,
                                    1,
                                    SUB,
                                    DUP,
                                    STORE,
                                    0,  // n -= 1
                                    JUMP_IF_NOT_ZERO,
                                    8,  // while n > 0
                                    LOAD,
                                    1,
                                    HALT};
  printf("%llu\n", (unsigned long long)interpret(program));
  return 0;
}
