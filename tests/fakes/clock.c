/* LD_PRELOAD: a box whose wall clock is FAKE_SKEW_S seconds off. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long skew(void) {
    const char *text = getenv("FAKE_SKEW_S");
    return text ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, out);
    if (!code && id == CLOCK_REALTIME) out->tv_sec += skew();
    return code;
}

int gettimeofday(struct timeval *out, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int code = real(out, zone);
    if (!code) out->tv_sec += skew();
    return code;
}
