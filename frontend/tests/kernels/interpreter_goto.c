// An interpreter of a register machine whose instructions jump to the next one's code.
#include <stdint.h>
#include <stdio.h>

enum { SET, ADD, SUB, MUL, SHIFT, XOR, LOAD, STORE, LOOP, HALT };

typedef struct {
  uint8_t operation, to, a, b;
} Instruction;

static uint64_t memory[256];

__attribute__((noinline)) static uint64_t interpret(const Instruction* code) {
  static const void* const labels[] = {&&set,          &&add,  &&sub,   &&mul,  &&shift,
                                       &&exclusive_or, &&load, &&store, &&loop, &&halt};
  uint64_t registers[16] = {0};
  const Instruction* at = code - 1;
#define NEXT goto* labels[(++at)->operation]
  NEXT;
set:
  registers[at->to] = (uint64_t)at->a << at->b;
  NEXT;
add:
  registers[at->to] = registers[at->a] + registers[at->b];
  NEXT;
sub:
  registers[at->to] = registers[at->a] - registers[at->b];
  NEXT;
mul:
  registers[at->to] = registers[at->a] * registers[at->b];
  NEXT;
shift:
  registers[at->to] = registers[at->a] >> at->b;
  NEXT;
exclusive_or:
  registers[at->to] = registers[at->a] ^ registers[at->b];
  NEXT;
load:
  registers[at->to] = memory[registers[at->a] & 255];
  NEXT;
store:
  memory[registers[at->a] & 255] = registers[at->to];
  NEXT;
loop:
  if (--registers[at->to] != 0) at = code + at->a - 1;
  NEXT;
halt:
  return registers[at->to];
}

int main(void) {
  static const Instruction program[] = {
      {SET, 0, 5, 10},  {SET, 1, 1, 0}, {SET, 2, 77, 3}, {MUL, 3, 2, 2},  {ADD, 2, 3, 0},
      {SHIFT, 4, 2, 7}, {XOR, 2, 2, 4}, {LOAD, 5, 2, 0}, {ADD, 5, 5, 1},  {STORE, 5, 2, 0},
      {SUB, 6, 5, 2},   {XOR, 7, 7, 6}, {LOOP, 0, 3, 0}, {HALT, 7, 0, 0},
  };
  printf("%llu\n", (unsigned long long)interpret(program));
  return 0;
}
