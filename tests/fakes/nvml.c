/* A libnvidia-ml.so.1 without GPUs: it plays what a text file says, re-read when the file changes.
 *
 * FAKE_NVML_STATE names the file, one fact a line; FAKE_NVML_LOG a file that gets one line a call ("name index").
 *   host KEY VALUE        driver, cuda, count (default: the GPUs listed)
 *   gpu INDEX KEY VALUE   a field; a field that is not listed is NotSupported
 *   host|gpu INDEX !CALL N|hang|hang_while|delay MS     what a call (or "*") does instead: a code,
 *                         never return, return code 10 once this line is gone, be slow
 *   gpu INDEX proc PID BYTES|none      gpu INDEX xid CODE (each line once)      gpu INDEX mig UUID NAME TOTAL USED
 * With -DOLD_DRIVER the _v2/_v3 names and the event reasons are left out, as in an old driver.
 * A handle that is none of ours aborts, as the real library crashes: no caller may pass one.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_GPUS 16
#define MAX_LINES 1024
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define MAGIC 0x47505544u

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { u32 magic; int index; int mig; } handle_t;
typedef struct { int index; char key[80]; char value[200]; } line_t;
typedef struct { u32 pid, pad; u64 bytes; u32 gi, ci; } process_t;
typedef struct { u32 id, scope; long long stamp, latency; u32 type; int code; union { u32 u; u64 ull; double d; } value; } field_t;
typedef struct { handle_t *device; u64 type, data; u32 gi, ci; } event_t;
typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static line_t lines[MAX_LINES];
static int line_count, xids_sent, initialised;
static struct timespec read_at;
static handle_t handles[MAX_GPUS], parts[MAX_GPUS][8];

static void reload(void) { /* under the lock */
    const char *path = getenv("FAKE_NVML_STATE");
    struct stat status;
    if (!path || stat(path, &status) || !memcmp(&status.st_mtim, &read_at, sizeof read_at)) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    read_at = status.st_mtim;
    char text[400];
    for (line_count = 0; line_count < MAX_LINES && fgets(text, sizeof text, file);) {
        line_t *line = &lines[line_count];
        line->value[0] = 0;
        if (sscanf(text, "gpu %d %79s %199[^\n]", &line->index, line->key, line->value) >= 2) line_count++;
        else if (sscanf(text, "host %79s %199[^\n]", line->key, line->value) >= 1) lines[line_count++].index = -1;
    }
    fclose(file);
}

/* The value of a field, copied: the file may change under us. NULL when it is not listed. `at`: the n-th such line. */
static char *value_of(int index, const char *key, int at) {
    static __thread char copy[200];
    char *found = NULL;
    pthread_mutex_lock(&lock);
    reload();
    for (int i = 0; i < line_count && !found; i++)
        if (lines[i].index == index && !strcmp(lines[i].key, key) && at-- == 0) found = strcpy(copy, lines[i].value);
    pthread_mutex_unlock(&lock);
    return found;
}

static int number_of(int index, const char *key, u64 *out) {
    char *text = value_of(index, key, 0);
    if (!text) return NOT_SUPPORTED;
    *out = strtoull(text, NULL, 10);
    return 0;
}

/* What the state says of this call: log it, hang, wait, or a code; 0 to go on. */
static int enter(const char *call, int index) {
    const char *path = getenv("FAKE_NVML_LOG");
    char key[90], line[120];
    if (path) {
        FILE *log = fopen(path, "a");
        if (log) { snprintf(line, sizeof line, "%s %d\n", call, index); fputs(line, log); fclose(log); }
    }
    snprintf(key, sizeof key, "!%s", call);
    char *what = value_of(index, key, 0);
    if (!what) what = value_of(index, "!*", 0);
    if (!what) return 0;
    if (!strcmp(what, "hang")) for (;;) pause();
    if (!strcmp(what, "hang_while")) {
        while ((what = value_of(index, key, 0)) || (what = value_of(index, "!*", 0))) usleep(20000);
        return 10;
    }
    if (!strncmp(what, "delay ", 6)) { usleep(1000 * atoi(what + 6)); return 0; }
    return atoi(what);
}

static int gpu_count(void) {
    u64 count = 0;
    if (!number_of(-1, "count", &count)) return (int)count;
    while (count < MAX_GPUS && value_of((int)count, "uuid", 0)) count++;
    return (int)count;
}

static handle_t *checked(handle_t *device) {
    if (!device || device->magic != MAGIC) { fputs("fake nvml: bad handle\n", stderr); abort(); }
    return device;
}

#define ENTER(call) int code = enter(#call, checked(device)->index); if (code) return code
#define HOST(call) int code = enter(#call, -1); if (code) return code; if (!initialised) return 1

static int put(const char *text, char *out, u32 length) {
    if (!text) return NOT_SUPPORTED;
    if (strlen(text) + 1 > length) return 7;
    strcpy(out, text);
    return 0;
}

int nvmlInitWithFlags(u32 flags) { int code = enter("nvmlInitWithFlags", -1); (void)flags; if (!code) initialised = 1; return code; }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { initialised = 0; return 0; }
const char *nvmlErrorString(int code) { static __thread char text[40]; snprintf(text, sizeof text, "error %d", code); return text; }

int nvmlSystemGetDriverVersion(char *out, u32 length) { HOST(nvmlSystemGetDriverVersion); return put(value_of(-1, "driver", 0), out, length); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { HOST(nvmlSystemGetCudaDriverVersion); u64 n; code = number_of(-1, "cuda", &n); if (!code) *out = (int)n; return code; }
int nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }
int nvmlDeviceGetCount_v2(u32 *out) { HOST(nvmlDeviceGetCount); *out = gpu_count(); return 0; }
int nvmlDeviceGetCount(u32 *out) { return nvmlDeviceGetCount_v2(out); }

int nvmlDeviceGetHandleByIndex_v2(u32 index, handle_t **out) {
    *out = NULL;
    if (!initialised) return 1;
    if ((int)index >= gpu_count()) return 2;
    int code = enter("nvmlDeviceGetHandleByIndex", (int)index);
    if (code) return code;
    handles[index].magic = MAGIC;
    handles[index].index = (int)index;
    handles[index].mig = -1;
    *out = &handles[index];
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, handle_t **out) {
    for (int index = 0; index < gpu_count(); index++)
        if (!strcmp(value_of(index, "uuid", 0), uuid)) return nvmlDeviceGetHandleByIndex_v2((u32)index, out);
    return NOT_FOUND;
}

/* A field of a MIG device: "mig UUID NAME TOTAL USED". */
static char *mig_field(handle_t *device, int field) {
    char *text = value_of(device->index, "mig", device->mig), *save = NULL, *word = text ? strtok_r(text, " ", &save) : NULL;
    while (word && field-- > 0) word = strtok_r(NULL, " ", &save);
    return word;
}

#define TEXT(call, key, field) int call(handle_t *device, char *out, u32 length) { ENTER(call); \
    return put(device->mig < 0 ? value_of(device->index, key, 0) : mig_field(device, field), out, length); }
TEXT(nvmlDeviceGetName, "name", 1)
TEXT(nvmlDeviceGetUUID, "uuid", 0)

int nvmlDeviceGetPciInfo_v3(handle_t *device, pci_t *out) {
    ENTER(nvmlDeviceGetPciInfo);
    memset(out, 0, sizeof *out);
    return put(value_of(device->index, "bus", 0), out->bus_id, sizeof out->bus_id);
}

static int memory_of(handle_t *device, u64 *total, u64 *reserved, u64 *used) {
    if (device->mig >= 0) {
        *total = strtoull(mig_field(device, 2), NULL, 10);
        *used = strtoull(mig_field(device, 3), NULL, 10);
        *reserved = 0;
        return 0;
    }
    *reserved = 0;
    number_of(device->index, "reserved", reserved);
    int code = number_of(device->index, "total", total);
    return code ? code : number_of(device->index, "used", used);
}

int nvmlDeviceGetMemoryInfo(handle_t *device, u64 *out) { /* total, free, used with reserved */
    ENTER(nvmlDeviceGetMemoryInfo);
    u64 total, reserved, used;
    if ((code = memory_of(device, &total, &reserved, &used))) return code;
    out[0] = total; out[1] = total - reserved - used; out[2] = used + reserved;
    return 0;
}

#define NUMBER(call, type, key) int call(handle_t *device, type *out) { ENTER(call); u64 n; \
    code = number_of(device->index, key, &n); if (!code) *out = (type)n; return code; }
#define NUMBER_OF(call, key) int call(handle_t *device, u32 kind, u32 *out) { ENTER(call); u64 n; (void)kind; \
    code = number_of(device->index, key, &n); if (!code) *out = (u32)n; return code; }
NUMBER(nvmlDeviceGetPowerUsage, u32, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, u32, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementLimit, u32, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, u32, "power_limit_default")
NUMBER(nvmlDeviceGetTotalEnergyConsumption, u64, "energy")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "reasons")
NUMBER(nvmlDeviceGetPersistenceMode, u32, "persistence")
NUMBER(nvmlDeviceGetComputeMode, u32, "compute_mode")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, u32, "pcie_gen")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, u32, "pcie_gen_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, u32, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, u32, "pcie_width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, u32, "pcie_replays")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, u32, "mig_max")
NUMBER_OF(nvmlDeviceGetTemperature, "temperature")
NUMBER_OF(nvmlDeviceGetClockInfo, "sm_clock")
NUMBER_OF(nvmlDeviceGetMaxClockInfo, "sm_clock_max")
NUMBER_OF(nvmlDeviceGetTemperatureThreshold, "slowdown")
NUMBER_OF(nvmlDeviceGetNvLinkState, "nvlink")

int nvmlDeviceGetUtilizationRates(handle_t *device, u32 *out) {
    ENTER(nvmlDeviceGetUtilizationRates);
    u64 gpu, memory = 0;
    if ((code = number_of(device->index, "util", &gpu))) return code;
    number_of(device->index, "memory_util", &memory);
    out[0] = (u32)gpu; out[1] = (u32)memory;
    return 0;
}

static int pair_of(handle_t *device, const char *key, u32 *current, u32 *pending) {
    u64 n;
    int code = number_of(device->index, key, &n);
    if (!code) *current = *pending = (u32)n;
    return code;
}
int nvmlDeviceGetEccMode(handle_t *device, u32 *current, u32 *pending) { ENTER(nvmlDeviceGetEccMode); return pair_of(device, "ecc", current, pending); }
int nvmlDeviceGetMigMode(handle_t *device, u32 *current, u32 *pending) { ENTER(nvmlDeviceGetMigMode); return pair_of(device, "mig_mode", current, pending); }
int nvmlDeviceGetTotalEccErrors(handle_t *device, u32 kind, u32 counter, u64 *out) {
    ENTER(nvmlDeviceGetTotalEccErrors);
    (void)counter;
    return number_of(device->index, kind ? "ecc_uncorrected" : "ecc_corrected", out);
}
int nvmlDeviceGetRemappedRows(handle_t *device, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed) {
    ENTER(nvmlDeviceGetRemappedRows);
    char *text = value_of(device->index, "remapped", 0);
    return text && sscanf(text, "%u %u %u %u", corrected, uncorrected, pending, failed) == 4 ? 0 : NOT_SUPPORTED;
}
int nvmlDeviceGetFieldValues(handle_t *device, int count, field_t *fields) {
    ENTER(nvmlDeviceGetFieldValues);
    for (int i = 0; i < count; i++) {
        char key[20];
        u64 n = 0;
        snprintf(key, sizeof key, "field_%u", fields[i].id);
        fields[i].code = number_of(device->index, key, &n);
        fields[i].type = 1;
        fields[i].value.ull = n;
    }
    return 0;
}

static int processes(handle_t *device, const char *key, u32 *count, process_t *out) {
    u32 room = *count, found = 0;
    char *text;
    for (; (text = value_of(device->index, key, (int)found)); found++) {
        if (found >= room) continue;
        char *rest = text;
        memset(&out[found], 0, sizeof *out);
        out[found].pid = (u32)strtoul(text, &rest, 10);
        out[found].bytes = strstr(rest, "none") ? ~0ull : strtoull(rest, NULL, 10);
        out[found].gi = out[found].ci = ~0u;
    }
    *count = found;
    return found > room ? 7 : 0;
}
static int compute(handle_t *device, u32 *count, process_t *out) { ENTER(nvmlDeviceGetComputeRunningProcesses); return processes(device, "proc", count, out); }
static int graphics(handle_t *device, u32 *count, process_t *out) { ENTER(nvmlDeviceGetGraphicsRunningProcesses); return processes(device, "graphics", count, out); }
int nvmlDeviceGetComputeRunningProcesses_v2(handle_t *device, u32 *count, process_t *out) { return compute(device, count, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(handle_t *device, u32 *count, process_t *out) { return graphics(device, count, out); }

#ifndef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(handle_t *device, u32 *count, process_t *out) { return compute(device, count, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(handle_t *device, u32 *count, process_t *out) { return graphics(device, count, out); }
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, u64, "reasons")
int nvmlDeviceGetMemoryInfo_v2(handle_t *device, u64 *out) { /* version, total, reserved, free, used */
    ENTER(nvmlDeviceGetMemoryInfo_v2);
    if (*(u32 *)out != 0x02000028) return 25;
    u64 total, reserved, used;
    if ((code = memory_of(device, &total, &reserved, &used))) return code;
    out[1] = total; out[2] = reserved; out[3] = total - reserved - used; out[4] = used;
    return 0;
}
#endif

int nvmlDeviceGetTopologyCommonAncestor(handle_t *device, handle_t *other, u32 *out) {
    ENTER(nvmlDeviceGetTopologyCommonAncestor);
    u64 n;
    checked(other);
    if (!(code = number_of(device->index, "path", &n))) *out = (u32)n;
    return code;
}
int nvmlDeviceGetP2PStatus(handle_t *device, handle_t *other, u32 kind, u32 *out) {
    ENTER(nvmlDeviceGetP2PStatus);
    u64 n;
    checked(other);
    if (!(code = number_of(device->index, kind == 2 ? "p2p_nvlink" : "p2p", &n))) *out = (u32)n;
    return code;
}

int nvmlDeviceGetMigDeviceHandleByIndex(handle_t *device, u32 at, handle_t **out) {
    ENTER(nvmlDeviceGetMigDeviceHandleByIndex);
    if (at >= 8 || !value_of(device->index, "mig", (int)at)) return NOT_FOUND;
    handle_t *part = &parts[device->index][at];
    part->magic = MAGIC; part->index = device->index; part->mig = (int)at;
    *out = part;
    return 0;
}

int nvmlEventSetCreate(void **set) { HOST(nvmlEventSetCreate); *set = &xids_sent; return 0; }
int nvmlEventSetFree(void *set) { (void)set; return 0; }
int nvmlDeviceRegisterEvents(handle_t *device, u64 types, void *set) { ENTER(nvmlDeviceRegisterEvents); (void)types; (void)set; return 0; }
int nvmlEventSetWait_v2(void *set, event_t *out, u32 timeout_ms) {
    HOST(nvmlEventSetWait);
    (void)set;
    int at = 0;
    for (int index = 0; index < gpu_count(); index++)
        for (int n = 0; ; n++) {
            char *text = value_of(index, "xid", n);
            if (!text) break;
            if (at++ < xids_sent) continue;
            xids_sent++;
            memset(out, 0, sizeof *out);
            out->device = &handles[index]; out->type = 8; out->data = strtoull(text, NULL, 10);
            return 0;
        }
    usleep(1000 * timeout_ms);
    return 10;
}
