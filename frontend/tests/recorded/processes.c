// Starts other programs in one way or another: processes WAY [PROGRAM].
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static volatile long cells[4096];
static void work(long steps) {
  for (long i = 0; i < steps; ++i) cells[i % 4096] = cells[i % 4096] * 3 + i;
}

static int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : 1;
}

static int started(const char* way, char* program) {
  char* arguments[] = {program, NULL};
  char* empty[] = {NULL};
  pid_t spawned = 0;
  if (strcmp(way, "system") == 0) return system(program);
  if (strcmp(way, "popen") == 0) return pclose(popen(program, "r"));
  if (strcmp(way, "posix_spawn") == 0) {
    return posix_spawn(&spawned, program, NULL, NULL, arguments, environ) || status_of(spawned);
  }
  if (strcmp(way, "posix_spawnp") == 0) {
    return posix_spawnp(&spawned, program, NULL, NULL, arguments, environ) || status_of(spawned);
  }
  const pid_t child = strcmp(way, "vfork") == 0 ? vfork() : fork();
  if (child == 0) {
    if (strcmp(way, "execve") == 0) execve(program, arguments, empty);
    if (strcmp(way, "vfork") == 0 || strcmp(way, "execlp") == 0) execlp(program, program, NULL);
    _exit(1);
  }
  return status_of(child);
}

int main(int count, char** arguments) {
  const char* way = count > 1 ? arguments[1] : "";
  work(3000);
  if (strcmp(way, "exit") == 0) return 3;
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "become") == 0) execl(arguments[2], arguments[2], NULL);
  if (strcmp(way, "daemon") == 0) return daemon(1, 1);
  if (strcmp(way, "until") == 0) {  // makes a file, and waits for another
    fclose(fopen(arguments[2], "w"));
    while (access(arguments[3], F_OK) != 0) work(1000);
    return 0;
  }
  if (strcmp(way, "fork") == 0) {
    const pid_t child = fork();
    if (child != 0) return status_of(child);
    work(1000);
    return 0;
  }
  if (count > 2 && started(way, arguments[2]) != 0) return 4;
  // PMEMSIM_PROCESSES is set for child processes and must not be visible in this one.
  return strcmp(way, "") != 0 && getenv("PMEMSIM_PROCESSES") != NULL ? 5 : 0;
}
