// SPDX-License-Identifier: Apache-2.0
// FLOPs and least bytes of each workload: pure functions, 1 multiply-add = 2 FLOP. The name of the
// rule goes into the report. Sources: docs/measuring.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpubench/workload.h"

namespace gpubench {

/// C[m][n] = A[m][k] B[k][n]: 2mnk FLOP, epilogue not counted ("gemm:2mnk"), or that for each
/// matrix of a batch ("gemm:2mnk*batch"). Integer multiply-adds count alike, 2 operations each.
/// Element sizes in bytes; one bias serves the whole batch. `extra_matrices`: like C, which an
/// epilogue reads (a residual) or writes (aux) besides.
Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t in_bytes,
               std::size_t out_bytes, std::size_t bias_bytes, std::int64_t batch = 1,
               int extra_matrices = 0);

struct AttentionSizes {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, seq = 1, seq_kv = 1, head_dim = 1;
  bool causal = false;
  std::int64_t diagonal = 0;  ///< causal: query i sees keys up to i + diagonal
  std::int64_t window = 0;    ///< causal: and no more than this many of them; 0: all
  bool backward = false;
  std::size_t element_bytes = 2;
};

/// Pairs of a query and a key that the mask keeps, of one batch and head.
double attention_kept_pairs(const AttentionSizes& sizes);

/// Forward 4 b h d for each kept pair: all s t of a full pass ("attention:4bhssd", or
/// "attention:4bhstd" where the t keys are not as many as the s queries), and with a mask exactly
/// those it keeps ("attention:causal" from the top left, "attention:causal_bottom_right",
/// "attention:window", "attention:window_bottom_right"). Backward 2.5 times that (five matrix
/// products against two). Heads that share keys and values do the same products.
/// Bytes: forward reads q, k, v, writes o and the FP32 log-sum-exp; backward reads q, k, v, o, do,
/// lse and writes dq, dk, dv.
Work attention_work(const AttentionSizes& sizes);

/// Convolution of [n][h][w][c] to [n][p][q][k] by r x s filters, forward or either gradient:
/// 2 n p q k c r s / groups FLOP ("conv:2npqkcrs/groups"). Products with padding count as work, as
/// in every published rate: implementations may skip them. Bytes: images, filters and outputs once.
Work conv_work(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t p,
               std::int64_t q, std::int64_t k, std::int64_t r, std::int64_t s, std::int64_t groups,
               std::size_t element_bytes);

/// STREAM counts: copy and scale 2 n e, triad 3 n e, read n e bytes; FLOPs 0, 1, 2, 1 per element.
Work memory_work(std::string_view kernel, std::uint64_t elements, std::size_t element_bytes);

/// All-reduce of `elements` on each of n ranks, as nccl-tests counts: algorithm bandwidth S / t for
/// the S bytes of one rank, bus bandwidth 2 (n - 1) / n times that (doc/PERFORMANCE.md there): what
/// each rank sends at least. One rank sends nothing: no bus bandwidth, and it is a copy that reads
/// and writes S in memory. With more the links bind, and no bytes of memory are counted.
Work all_reduce_work(std::uint64_t elements, std::size_t element_bytes, int ranks);

/// What crosses the link: `bytes` in each direction that is used.
Work transfer_work(bool to_device, bool to_host, std::uint64_t bytes);

/// Passes over a working set of `bytes`; copying reads half of it and writes the other half.
Work cache_work(std::uint64_t passes, std::uint64_t bytes);

/// Kernels that do nothing, `launches` of them per iteration.
Work launch_work(std::uint64_t launches);

/// Chains of x = a x + b: 2 FLOP each ("fma:2n").
Work fma_work(std::uint64_t threads, std::uint64_t per_thread);

/// Products of tiles D[m][n] += A[m][k] B[k][n], `products` of them: 2mnk FLOP each ("mma:2mnk").
Work mma_work(std::uint64_t products, std::uint64_t m, std::uint64_t n, std::uint64_t k);

}  // namespace gpubench
