/* A disk that loses power: preloaded into a process, it notes how to undo each change below UNSYNCED_ROOT
 * until the file (for names: the folder) is synced. What the journal still holds when the process is killed
 * is what a machine could have lost; the test puts it back (`unsynced.rs`).
 *
 * A record is the file UNSYNCED_JOURNAL/<inode>/<sequence>, written before the change, so that a torn record
 * is one whose change never happened. The journal lies on the same file system as the root: it keeps removed
 * files alive by a hard link. With UNSYNCED_LIE set a sync is answered and forgotten, as some disks do; with
 * UNSYNCED_KILL_AT=n the process is killed when it is about to make its n-th change.
 *
 * Not seen: stores through mmap, copy_file_range, sendfile, pwritev, fallocate. SQLite and std::fs write
 * their durable files without them; SQLite's -shm is rebuilt at start and left out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The layout that unsynced.rs reads; both run on one machine, so the byte order is its own. */
struct header {
    uint64_t kind; /* 'W' bytes, 'T' length, 'C' created, 'U' unlinked, 'R' renamed */
    uint64_t inode;
    uint64_t offset;
    uint64_t old_size;
    uint64_t old_length; /* bytes, or the first path */
    uint64_t new_length; /* bytes, the second path, or for 'T' the new size */
};

#define MAX_TRACKED 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ino_t tracked[MAX_TRACKED];
static size_t tracked_count;
static char root[PATH_MAX], journal[PATH_MAX];
static int lies;
static unsigned long changes, kill_at;

static void fail(const char *what) {
    dprintf(STDERR_FILENO, "unsynced: %s: %s\n", what, strerror(errno));
    abort();
}

__attribute__((constructor)) static void start(void) {
    const char *from = getenv("UNSYNCED_ROOT"), *to = getenv("UNSYNCED_JOURNAL");
    if (!from || !to || !realpath(from, root) || !realpath(to, journal))
        fail("UNSYNCED_ROOT and UNSYNCED_JOURNAL must name folders");
    lies = getenv("UNSYNCED_LIE") != NULL;
    const char *last = getenv("UNSYNCED_KILL_AT");
    kill_at = last ? strtoul(last, NULL, 10) : 0;
}

/* The real call, below the library's own names: nothing here can recurse. */
static int raw_open(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}
static int raw_close(int fd) { return (int)syscall(SYS_close, fd); }

static int below_root(const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && path[length] == '/';
}

static int left_out(const char *path) {
    size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, "-shm") == 0;
}

static int is_tracked(int fd, struct stat *status) {
    if (fstat(fd, status) != 0 || !S_ISREG(status->st_mode)) return 0;
    for (size_t i = 0; i < tracked_count; i++)
        if (tracked[i] == status->st_ino) return 1;
    return 0;
}

static void track(ino_t inode) {
    for (size_t i = 0; i < tracked_count; i++)
        if (tracked[i] == inode) return;
    if (tracked_count == MAX_TRACKED) fail("too many files");
    tracked[tracked_count++] = inode;
}

static uint64_t next_sequence(void) {
    static uint64_t last;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* one order over all processes of a run */
    uint64_t sequence = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    last = sequence > last ? sequence : last + 1;
    return last;
}

static void write_all(int fd, const void *bytes, size_t length) {
    for (const char *at = bytes; length > 0;) {
        ssize_t written = syscall(SYS_write, fd, at, length);
        if (written <= 0) fail("journal write");
        at += written;
        length -= (size_t)written;
    }
}

/* Notes a change under the inode whose sync makes it last; answers its sequence. */
static uint64_t note(ino_t owner, struct header header, const void *old, const struct iovec *new, int parts) {
    char path[PATH_MAX + 64];
    uint64_t sequence = next_sequence();
    snprintf(path, sizeof path, "%s/%" PRIu64, journal, (uint64_t)owner);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) fail(path);
    snprintf(path, sizeof path, "%s/%" PRIu64 "/%020" PRIu64, journal, (uint64_t)owner, sequence);
    int fd = raw_open(path, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) fail(path);
    write_all(fd, &header, sizeof header);
    write_all(fd, old, header.old_length);
    for (int i = 0; i < parts; i++) write_all(fd, new[i].iov_base, new[i].iov_len);
    raw_close(fd);
    if (++changes == kill_at) kill(getpid(), SIGKILL);
    return sequence;
}

/* Drops the notes of an inode up to a sequence: they are on disk now. */
static void forget(ino_t owner, uint64_t upto) {
    char folder[PATH_MAX + 32], path[2 * PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%" PRIu64, journal, (uint64_t)owner);
    DIR *entries = opendir(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || strtoull(entry->d_name, NULL, 10) > upto) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat status;
        /* A removed file that only the journal kept: its own notes go with it, before its inode is used again. */
        if (strstr(entry->d_name, ".kept") && stat(path, &status) == 0 && status.st_nlink == 1) {
            syscall(SYS_unlink, path);
            forget(status.st_ino, UINT64_MAX);
        } else {
            syscall(SYS_unlink, path);
        }
    }
    closedir(entries);
    rmdir(folder); /* keeps the scan short; not empty is fine */
}

static void *old_bytes(int fd, uint64_t offset, uint64_t length) {
    char *bytes = malloc(length ? length : 1);
    if (!bytes) fail("memory");
    for (uint64_t done = 0; done < length;) {
        ssize_t got = syscall(SYS_pread64, fd, bytes + done, length - done, (off_t)(offset + done));
        if (got <= 0) fail("reading what is about to change");
        done += (uint64_t)got;
    }
    return bytes;
}

static void note_write(int fd, const struct stat *status, uint64_t offset, const struct iovec *new, int parts) {
    uint64_t size = (uint64_t)status->st_size, length = 0;
    for (int i = 0; i < parts; i++) length += new[i].iov_len;
    uint64_t covered = offset >= size ? 0 : (size - offset < length ? size - offset : length);
    /* The descriptor may be write-only: read through one of our own. */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reader = covered ? raw_open(path, O_RDONLY) : -1;
    void *old = old_bytes(reader, offset, covered);
    if (reader >= 0) raw_close(reader);
    note(status->st_ino, (struct header){'W', status->st_ino, offset, size, covered, length}, old, new, parts);
    free(old);
}

static void note_truncate(int fd, const struct stat *status, uint64_t size) {
    uint64_t old_size = (uint64_t)status->st_size, cut = old_size > size ? old_size - size : 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reader = cut ? raw_open(path, O_RDONLY) : -1;
    void *old = old_bytes(reader, size, cut);
    if (reader >= 0) raw_close(reader);
    note(status->st_ino, (struct header){'T', status->st_ino, size, old_size, cut, size}, old, NULL, 0);
    free(old);
}

/* The absolute name of a path whose last part need not exist, and the inode of its folder; 0 outside the root. */
static int locate(const char *given, char *path, ino_t *folder) {
    char parent[PATH_MAX], resolved[PATH_MAX];
    const char *slash = strrchr(given, '/'), *last = slash ? slash + 1 : given;
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - given + 1) : 1, slash ? given : ".");
    struct stat status;
    if (!realpath(parent, resolved) || stat(resolved, &status) != 0) return 0;
    if (snprintf(path, PATH_MAX, "%s/%s", resolved, last) >= PATH_MAX) return 0;
    *folder = status.st_ino;
    return below_root(path) && !left_out(path);
}

static void keep(const char *path, ino_t folder, uint64_t sequence) {
    char kept[PATH_MAX + 96];
    snprintf(kept, sizeof kept, "%s/%" PRIu64 "/%020" PRIu64 ".kept", journal, (uint64_t)folder, sequence);
    if (link(path, kept) != 0 && errno != ENOENT) fail(kept);
}

static int open_tracked(int at, const char *given, int flags, mode_t mode) {
    char path[PATH_MAX];
    ino_t folder;
    struct stat status;
    int ours = (at == AT_FDCWD || given[0] == '/') && locate(given, path, &folder);
    if (!ours) return (int)syscall(SYS_openat, at, given, flags, mode);

    pthread_mutex_lock(&lock);
    int existed = stat(path, &status) == 0;
    int truncates = existed && (flags & O_TRUNC) && S_ISREG(status.st_mode) && status.st_size > 0;
    int fd = (int)syscall(SYS_openat, at, given, flags & (truncates ? ~O_TRUNC : ~0), mode);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        track(status.st_ino);
        if (!existed) {
            size_t length = strlen(path);
            note(folder, (struct header){'C', status.st_ino, 0, 0, length, 0}, path, NULL, 0);
        }
        if (truncates) {
            note_truncate(fd, &status, 0);
            if (syscall(SYS_ftruncate, fd, 0) != 0) fail("truncate at open");
        }
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

#define OPEN(name, parameters, at)                                         \
    int name parameters {                                                  \
        mode_t mode = 0;                                                   \
        if (flags & (O_CREAT | __O_TMPFILE)) {                             \
            va_list rest;                                                  \
            va_start(rest, flags);                                         \
            mode = va_arg(rest, mode_t);                                   \
            va_end(rest);                                                  \
        }                                                                  \
        return open_tracked(at, path, flags, mode);                        \
    }
OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int at, const char *path, int flags, ...), at)
OPEN(openat64, (int at, const char *path, int flags, ...), at)

static ssize_t pwrite_tracked(int fd, const void *bytes, size_t length, off64_t offset) {
    struct stat status;
    if (!is_tracked(fd, &status)) return syscall(SYS_pwrite64, fd, bytes, length, offset);
    pthread_mutex_lock(&lock);
    fstat(fd, &status);
    note_write(fd, &status, (uint64_t)offset, &(struct iovec){(void *)bytes, length}, 1);
    ssize_t result = syscall(SYS_pwrite64, fd, bytes, length, offset);
    pthread_mutex_unlock(&lock);
    return result;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite_tracked(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite_tracked(fd, bytes, length, offset); }

/* Bytes at the descriptor's own position. */
static void note_append(int fd, struct stat *status, const struct iovec *parts, int count) {
    fstat(fd, status);
    off_t position = fcntl(fd, F_GETFL) & O_APPEND ? status->st_size : lseek(fd, 0, SEEK_CUR);
    note_write(fd, status, (uint64_t)position, parts, count);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    struct stat status;
    if (!is_tracked(fd, &status)) return syscall(SYS_write, fd, bytes, length);
    pthread_mutex_lock(&lock);
    note_append(fd, &status, &(struct iovec){(void *)bytes, length}, 1);
    ssize_t result = syscall(SYS_write, fd, bytes, length);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    struct stat status;
    if (!is_tracked(fd, &status)) return syscall(SYS_writev, fd, parts, count);
    pthread_mutex_lock(&lock);
    note_append(fd, &status, parts, count);
    ssize_t result = syscall(SYS_writev, fd, parts, count);
    pthread_mutex_unlock(&lock);
    return result;
}

static int truncate_tracked(int fd, off64_t size) {
    struct stat status;
    if (!is_tracked(fd, &status)) return (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    fstat(fd, &status);
    note_truncate(fd, &status, (uint64_t)size);
    int result = (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_unlock(&lock);
    return result;
}
int ftruncate(int fd, off_t size) { return truncate_tracked(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncate_tracked(fd, size); }

static int sync_tracked(long call, int fd) {
    struct stat status;
    pthread_mutex_lock(&lock);
    uint64_t upto = next_sequence();
    pthread_mutex_unlock(&lock);
    int result = (int)syscall(call, fd);
    if (result != 0 || lies || fstat(fd, &status) != 0) return result;
    pthread_mutex_lock(&lock);
    forget(status.st_ino, upto);
    pthread_mutex_unlock(&lock);
    return result;
}
int fsync(int fd) { return sync_tracked(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_tracked(SYS_fdatasync, fd); }

static int unlink_tracked(int at, const char *given, int flags) {
    char path[PATH_MAX];
    ino_t folder;
    struct stat status;
    int ours = !(flags & AT_REMOVEDIR) && (at == AT_FDCWD || given[0] == '/') && locate(given, path, &folder);
    if (!ours || lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return (int)syscall(SYS_unlinkat, at, given, flags);
    pthread_mutex_lock(&lock);
    keep(path, folder, note(folder, (struct header){'U', status.st_ino, 0, 0, strlen(path), 0}, path, NULL, 0));
    int result = (int)syscall(SYS_unlinkat, at, given, flags);
    pthread_mutex_unlock(&lock);
    return result;
}
int unlink(const char *path) { return unlink_tracked(AT_FDCWD, path, 0); }
int unlinkat(int at, const char *path, int flags) { return unlink_tracked(at, path, flags); }

static int rename_tracked(int from_at, const char *from_given, int to_at, const char *to_given, unsigned flags) {
    char from[PATH_MAX], to[PATH_MAX];
    ino_t from_folder, to_folder;
    struct stat status;
    int ours = (from_at == AT_FDCWD || from_given[0] == '/') && (to_at == AT_FDCWD || to_given[0] == '/') &&
               locate(from_given, from, &from_folder) && locate(to_given, to, &to_folder);
    if (!ours || lstat(from, &status) != 0 || !S_ISREG(status.st_mode))
        return (int)syscall(SYS_renameat2, from_at, from_given, to_at, to_given, flags);
    pthread_mutex_lock(&lock);
    struct iovec name = {to, strlen(to)};
    keep(to, to_folder, note(to_folder, (struct header){'R', status.st_ino, 0, 0, strlen(from), name.iov_len}, from, &name, 1));
    int result = (int)syscall(SYS_renameat2, from_at, from_given, to_at, to_given, flags);
    pthread_mutex_unlock(&lock);
    return result;
}
int rename(const char *from, const char *to) { return rename_tracked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_at, const char *from, int to_at, const char *to) { return rename_tracked(from_at, from, to_at, to, 0); }
int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    return rename_tracked(from_at, from, to_at, to, flags);
}
