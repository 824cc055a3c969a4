/* A disk that fails: preloaded into a process, it lets calls of the C library fail for the paths that a pattern matches.

   FAULT_PATHS   the pattern, as fnmatch(3) reads it
   FAULT_ERRNO   the error's number
   FAULT_CALLS   which calls fail, with commas between them: open, read, write, stat, list
*/
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fails(const char *call, const char *path) {
    const char *pattern = getenv("FAULT_PATHS"), *calls = getenv("FAULT_CALLS");
    if (pattern == NULL || calls == NULL || path == NULL) return 0;
    if (strstr(calls, call) == NULL || fnmatch(pattern, path, 0) != 0) return 0;
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
}

static int descriptor_fails(const char *call, int descriptor) {
    char link[64], path[4096];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = '\0';
    return fails(call, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;                                      \
        va_end(rest);                                                                                                  \
        return fails("open", path) ? -1 : NEXT(name)(path, flags, mode);                                               \
    }
OPEN(open)
OPEN(open64)

#define TRANSFER(name, call, result, buffer)                                                                           \
    result name(int descriptor, buffer data, size_t count) {                                                           \
        return descriptor_fails(call, descriptor) ? -1 : NEXT(name)(descriptor, data, count);                          \
    }
TRANSFER(read, "read", ssize_t, void *)
TRANSFER(write, "write", ssize_t, const void *)

#define TRANSFER_AT(name, call, buffer)                                                                                \
    ssize_t name(int descriptor, buffer data, size_t count, off_t start) {                                             \
        return descriptor_fails(call, descriptor) ? -1 : NEXT(name)(descriptor, data, count, start);                   \
    }
TRANSFER_AT(pread, "read", void *)
TRANSFER_AT(pread64, "read", void *)
TRANSFER_AT(pwrite, "write", const void *)
TRANSFER_AT(pwrite64, "write", const void *)

#define STAT(name, status)                                                                                             \
    int name(const char *path, struct status *found) { return fails("stat", path) ? -1 : NEXT(name)(path, found); }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

DIR *opendir(const char *path) { return fails("list", path) ? NULL : NEXT(opendir)(path); }
