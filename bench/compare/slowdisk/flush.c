// Makes a disk slow: preloaded into a program, it lets each flush cost OPENINTENT_BENCH_FLUSH_MICROSECONDS more.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef int (*flush)(int);

static int slowly(const char *name, int descriptor) {
	const char *setting = getenv("OPENINTENT_BENCH_FLUSH_MICROSECONDS");
	long microseconds = setting ? atol(setting) : 0;
	struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
	while (nanosleep(&left, &left) != 0 && errno == EINTR) {
	}
	return ((flush)dlsym(RTLD_NEXT, name))(descriptor);
}

int fsync(int descriptor) { return slowly("fsync", descriptor); }

int fdatasync(int descriptor) { return slowly("fdatasync", descriptor); }
