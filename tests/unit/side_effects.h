/* What a check of side_effects_checker.c does. */
#ifndef PMEMSIM_SIDE_EFFECTS_H
#define PMEMSIM_SIDE_EFFECTS_H

enum action {
  QUIET,
  WORK,
  COUNT,
  COUNT_BY_THREAD,
  WRITE,
  ALLOCATE,
  FAIL,
  FILL_STACK,
  FIND_STACK,
  GO_DEEP,
  GO_TOO_DEEP,
  LEAP,
  ROUND,
  OPEN,
  START,
  ASK,
  ASK_CORE,
  HANDLE,
  SCRIBBLE,
  UNMAP,
  SAY,
  FAULT,
  FAULT_HANDLED,
  CUT_VARIABLE,
  ABORT,
  EXIT,
  HANG,
  SPIN
};

#endif
