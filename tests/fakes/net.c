/* LD_PRELOAD: every connect() and listen() of internet sockets goes to the file FAKE_NET_LOG, as `connect ADDRESS PORT`. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void tell(const char *what, const struct sockaddr *address) {
    char name[64] = "?", line[128];
    int port = 0, before = errno, file;
    const char *path = getenv("FAKE_NET_LOG");
    if (!path || !address || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &four->sin_addr, name, sizeof name);
        port = ntohs(four->sin_port);
    } else {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &six->sin6_addr, name, sizeof name);
        port = ntohs(six->sin6_port);
    }
    file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file >= 0) {
        int size = snprintf(line, sizeof line, "%s %s %d\n", what, name, port);
        if (write(file, line, size) < 0) errno = before;
        close(file);
    }
    errno = before;
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (!real) real = dlsym(RTLD_NEXT, "connect");
    tell("connect", address);
    return real(fd, address, size);
}

int listen(int fd, int backlog) {
    static int (*real)(int, int);
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    if (!real) real = dlsym(RTLD_NEXT, "listen");
    if (!getsockname(fd, (struct sockaddr *)&own, &size)) tell("listen", (struct sockaddr *)&own);
    return real(fd, backlog);
}
