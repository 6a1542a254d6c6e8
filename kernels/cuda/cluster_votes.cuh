// One kernel for all slots, whose flag hangs on what they become: a thread-block cluster, or one block.
//
// One block would do, but all stores, scattered over the slots' rows, would leave through one multiprocessor. The
// blocks of a cluster (compute capability 9.0 and later) run at once and can wait for each other, so they share the
// slots. Elsewhere, on the emulator too, the same kernel runs as one block, which may not use a cluster's instructions.
// Threads are numbered over all blocks.
#pragma once

#include "draft_rows.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define OPGOLD_HAS_CLUSTERS
#endif

namespace opgold {

__device__ inline unsigned cluster_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline unsigned cluster_threads() { return gridDim.x * blockDim.x; }
__device__ inline bool in_cluster() { return gridDim.x > 1; }

// A barrier in two parts: none of the cluster's threads leaves wait() before all have come to arrive(). It waits for no
// store to global memory, and orders none.
__device__ inline void cluster_arrive() {
#ifdef OPGOLD_HAS_CLUSTERS
  if (in_cluster()) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

__device__ inline void cluster_wait() {
#ifdef OPGOLD_HAS_CLUSTERS
  if (in_cluster()) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
#endif
  __syncthreads();
}

// A vote over all warps, in shared memory. Each warp sends its vote to the first block, where an mbarrier counts the
// bytes that come: a second barrier of the cluster would have to wait for the stores before it. All threads call
// open(), then any().
struct ClusterVotes {
  uint64_t arrived;  // the mbarrier
  int32_t votes[kMostThreads / kWarp];

  __device__ void open() {
#ifdef OPGOLD_HAS_CLUSTERS
    if (!in_cluster()) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&arrived)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    cluster_arrive();
#endif
  }

  // Whether any thread's vote is true. Only the first warp is told.
  __device__ bool any(bool vote) {
#ifdef OPGOLD_HAS_CLUSTERS
    if (in_cluster()) return any_of_cluster(vote);
#endif
    return __syncthreads_or(vote) != 0;
  }

#ifdef OPGOLD_HAS_CLUSTERS
 private:
  __device__ bool any_of_cluster(bool vote) {
    const unsigned lane = threadIdx.x % kWarp, warp = cluster_thread() / kWarp;
    const int some = __any_sync(~0u, vote);
    cluster_wait();  // the mbarrier is there
    if (lane == 0)
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                       in_first_block(address(&votes[warp]))),
                   "r"(some), "r"(in_first_block(address(&arrived)))
                   : "memory");
    if (warp > 0) return false;
    const uint32_t warps = cluster_threads() / kWarp, bytes = warps * uint32_t(sizeof(int32_t));
    if (lane == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&arrived)), "r"(bytes) : "memory");
    for (uint32_t done = 0; !done;)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(address(&arrived))
          : "memory");
    return __any_sync(~0u, lane < warps && votes[lane] != 0);
  }
  __device__ static uint32_t address(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  }
  __device__ static uint32_t in_first_block(uint32_t address) {
    uint32_t mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(mapped) : "r"(address));
    return mapped;
  }
#endif
};

struct ClusterShape {
  unsigned blocks;
  unsigned threads;  // of a block
};

inline bool device_has_clusters() {
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
}

// Starts `kernel` as a cluster, where there are clusters and a block of it has fewer threads than are `wanted`; else
// as one block of as many as are wanted, but at most kMostThreads.
template <class... Parameters>
void launch_cluster(ClusterShape shape, Stream stream, int64_t wanted, void (*kernel)(Parameters...),
                    const Parameters&... parameters) {
#ifndef OPGOLD_EMULATOR
  if (wanted > shape.threads && device_has_clusters()) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = shape.blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.blocks;
    config.blockDim = shape.threads;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (cudaLaunchKernelEx(&config, kernel, parameters...) == cudaSuccess) return;
    cudaGetLastError();  // a device, or a part of one, too small for the cluster
  }
#endif
  kernel<<<1, threads_for_slots(wanted), 0, stream>>>(parameters...);
}

}  // namespace opgold
