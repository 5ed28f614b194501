/* LD_PRELOAD: a box with other disks. FAKE_DISKS names a file, re-read at each call, one rule a line:
 *   PATH total available free inodes_total inodes_available flags      (bytes; flags: 1 is read-only)
 *   PATH error ERRNO        PATH hang
 * statvfs takes the rule with the longest path that leads the asked one; without one it asks the real function.
 * FAKE_MOUNTINFO names the file that is opened instead of /proc/self/mountinfo, FAKE_FILES a folder whose
 * `proc/meminfo`, `dev/kmsg` and the like (folders, too) are opened instead of the real ones where they exist.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int find(const char *asked, char *rule, size_t size) {
    const char *name = getenv("FAKE_DISKS");
    FILE *file = name ? fopen(name, "r") : NULL;
    size_t best = 0;
    char line[600], path[300];
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        int end = 0;
        if (sscanf(line, "%299s%n", path, &end) != 1) continue;
        size_t length = strlen(path);
        if (length > best && !strncmp(asked, path, length) && (!asked[length] || asked[length] == '/')) {
            best = length;
            snprintf(rule, size, "%s", line + end);
        }
    }
    fclose(file);
    return best > 0;
}

static int play(const char *path, struct statvfs *out) {
    char rule[600];
    unsigned long long total, available, unused, inodes, inodes_available;
    unsigned long flags;
    if (!find(path, rule, sizeof rule)) return 1;
    if (strstr(rule, "hang")) for (;;) pause();
    if (sscanf(rule, " error %d", &errno) == 1) return -1;
    memset(out, 0, sizeof *out);
    sscanf(rule, "%llu %llu %llu %llu %llu %lu", &total, &available, &unused, &inodes, &inodes_available, &flags);
    out->f_bsize = 1048576; /* not the unit of the counts: whoever uses it is wrong */
    out->f_frsize = 4096;
    out->f_blocks = total / 4096;
    out->f_bavail = available / 4096;
    out->f_bfree = unused / 4096;
    out->f_files = inodes;
    out->f_ffree = out->f_favail = inodes_available;
    out->f_flag = flags;
    return 0;
}

int statvfs(const char *path, struct statvfs *out) {
    int played = play(path, out);
    if (played <= 0) return played;
    return ((int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs"))(path, out);
}
int statvfs64(const char *path, struct statvfs64 *out) {
    int played = play(path, (struct statvfs *)out);
    if (played <= 0) return played;
    return ((int (*)(const char *, struct statvfs64 *))dlsym(RTLD_NEXT, "statvfs64"))(path, out);
}

static const char *instead(const char *path) {
    static __thread char other[600];
    const char *mounts = getenv("FAKE_MOUNTINFO"), *folder = getenv("FAKE_FILES");
    if (mounts && !strcmp(path, "/proc/self/mountinfo")) return mounts;
    if (folder && path[0] == '/' && (!strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) || !strcmp(path, "/dev/kmsg"))) {
        snprintf(other, sizeof other, "%s%s", folder, path);
        if (!access(other, R_OK)) return other;
    }
    return path;
}

#define OPEN(name) int name(const char *path, int flags, ...) { \
    va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(instead(path), flags, mode); }
OPEN(open)
OPEN(open64)

DIR *opendir(const char *path) { return ((DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir"))(instead(path)); }
