/* A process that dies at its Nth call that changes a disk: loaded before libc by LD_PRELOAD.

   crash_at(n, torn): from here on the nth such call is the last; with `torn` it does half of its
   work, as a disk without power may.  What was done stays done: that is what kill -9 leaves. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static long left;
static int half;

void crash_at(long n, int torn) { left = n; half = torn; }

static int last(void) { return left && --left == 0; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    if (last()) {
        if (half) REAL(pwrite64)(fd, data, size / 2, at);
        _exit(77);
    }
    return REAL(pwrite64)(fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t write(int fd, const void *data, size_t size)
{
    if (last()) {
        if (half) REAL(write)(fd, data, size / 2);
        _exit(77);
    }
    return REAL(write)(fd, data, size);
}

int fsync(int fd) { if (last()) _exit(77); return REAL(fsync)(fd); }
int fdatasync(int fd) { if (last()) _exit(77); return REAL(fdatasync)(fd); }
int ftruncate64(int fd, off64_t size) { if (last()) _exit(77); return REAL(ftruncate64)(fd, size); }
int ftruncate(int fd, off_t size) { if (last()) _exit(77); return REAL(ftruncate)(fd, size); }
int unlink(const char *path) { if (last()) _exit(77); return REAL(unlink)(path); }
int rename(const char *from, const char *to) { if (last()) _exit(77); return REAL(rename)(from, to); }
