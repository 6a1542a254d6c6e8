// The C interface between the Python runtime, the device libraries and the kernel libraries.
//
// A *kernel library* holds one op: it exports `opgold_op_<name>`, an opgold_entry (export.h makes it).
// A *device library* runs entries: the emulator on a CPU, or CUDA on a GPU. Both export the functions declared below,
// so that nothing above this file knows which one it talks to.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum opgold_dtype {
  opgold_bool = 1,
  opgold_uint8 = 2,
  opgold_int32 = 3,
  opgold_int64 = 4,
  opgold_float16 = 5,
  opgold_bfloat16 = 6,
  opgold_float32 = 7,
  opgold_float64 = 8,
};

enum opgold_flags {
  opgold_reads = 1,       // its content before the call is defined
  opgold_writes = 2,      // the call may write it
  opgold_contiguous = 4,  // row-major without gaps
};

enum opgold_device { opgold_host = 0, opgold_emulated = 1, opgold_cuda = 2, opgold_xpu = 3 };

enum { opgold_max_rank = 8, opgold_absent = -1 };

typedef struct opgold_tensor {
  const char* name;  // the golden model's argument name
  void* data;
  int64_t shape[opgold_max_rank];
  int32_t rank;  // opgold_absent for an optional argument that is not given
  int32_t dtype;
  int32_t flags;
  int32_t device;
} opgold_tensor;

typedef struct opgold_attribute {
  const char* name;
  int32_t is_real;
  int64_t integer;
  double real;
} opgold_attribute;

// Returns 0, or 1 after writing what is wrong into `message`.
typedef int (*opgold_entry)(void* stream, const opgold_tensor* tensors, int32_t tensor_count,
                            const opgold_attribute* attributes, int32_t attribute_count, char* message,
                            int64_t message_size);

enum opgold_schedule { opgold_ascending = 0, opgold_descending = 1, opgold_random = 2 };

// When an XPU's emulator makes a transfer that nobody waits for yet: as late as it may, or at once.
enum opgold_copies { opgold_late = 0, opgold_early = 1 };
// Whether the XPU's emulator reports cores that end before a barrier or wait at different ones, or lets them as a device does.
enum opgold_barriers { opgold_strict_barriers = 0, opgold_device_barriers = 1 };

typedef struct opgold_options {
  int32_t schedule;    // order of blocks, warps and lanes (emulator only)
  int32_t shift;       // bases stand this many elements past a 256-byte boundary
  uint64_t seed;       // of the random schedule and of the canaries
  int64_t step_limit;  // accesses one thread may make in one launch (emulator, checked flavour)
  double time_limit;   // processor seconds one launch may take (emulator), wall seconds one call may take (GPU)
  int32_t clusters;    // of the XPU that is imitated; 0: 8
  int32_t cores;       // that launchers take of each cluster; 0: all 64
  int32_t copies;      // opgold_copies
  int32_t barriers;    // opgold_barriers
} opgold_options;

// --- exported by every device library ---

// Runs one entry as one transaction: copies `tensors` (host data) into guarded device buffers, calls the entry, waits,
// checks the guards, copies every tensor with opgold_writes back, and returns a report: a JSON object, valid until the
// next call on this thread. Keys: "error" (null, or what the entry refused), "seconds" (of the entry alone),
// "launches" ([{"kernel","grid","block"}]), "addresses" ({name: device address}), "findings" (a list; docs/findings.md),
// "excuses" (annotations that were met: [{"kind","reason","file","line","count"}]),
// "device_lost" (whether nothing of this process runs on the device any more; absent: no).
const char* opgold_device_call(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                               const opgold_attribute* attributes, int32_t attribute_count,
                               const opgold_options* options);

// NULL if usable, else why not.
const char* opgold_device_unavailable(void);

// --- exported by device libraries of real devices, for benchmarks and for callers that keep their data there ---

void* opgold_device_allocate(int64_t bytes);  // NULL when exhausted
void opgold_device_free(void* address);
int opgold_device_copy(void* target, const void* source, int64_t bytes);  // either side may be host memory; 0 on success

// Captures `launches` calls of the entry in one graph and replays it `samples` times: seconds a call, one entry a sample.
// What is read and written is put back before each replay.
int opgold_device_time(opgold_entry entry, const opgold_tensor* tensors, int32_t tensor_count,
                       const opgold_attribute* attributes, int32_t attribute_count, int32_t launches, int32_t samples,
                       double* seconds, char* message, int64_t message_size);

#ifdef __cplusplus
}
#endif
