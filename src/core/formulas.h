// SPDX-License-Identifier: Apache-2.0
// FLOPs and least bytes of each workload: pure functions, 1 multiply-add = 2 FLOP. The name of the
// rule goes into the report. Sources: docs/measuring.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpubench/workload.h"

namespace gpubench {

/// C[m][n] = A[m][k] B[k][n]: 2mnk FLOP, epilogue not counted ("gemm:2mnk"). Element sizes in
/// bytes.
Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t in_bytes,
               std::size_t out_bytes, std::size_t bias_bytes);

/// Forward 4 b h s^2 d ("attention:4bhssd"); causal counts the s (s + 1) / 2 kept positions exactly
/// ("attention:causal"). Backward 2.5 times that (five matrix products against two).
/// Bytes: forward reads q, k, v, writes o and the FP32 log-sum-exp; backward reads q, k, v, o, do,
/// lse and writes dq, dk, dv.
Work attention_work(std::int64_t batch, std::int64_t heads, std::int64_t seq, std::int64_t head_dim,
                    bool causal, bool backward, std::size_t element_bytes);

/// Convolution of [n][h][w][c] to [n][p][q][k] by r x s filters, forward or either gradient:
/// 2 n p q k c r s / groups FLOP ("conv:2npqkcrs/groups"). Products with padding count as work, as
/// in every published rate: implementations may skip them. Bytes: images, filters and outputs once.
Work conv_work(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t p,
               std::int64_t q, std::int64_t k, std::int64_t r, std::int64_t s, std::int64_t groups,
               std::size_t element_bytes);

/// STREAM counts: copy and scale 2 n e, triad 3 n e, read n e bytes; FLOPs 0, 1, 2, 1 per element.
Work memory_work(std::string_view kernel, std::uint64_t elements, std::size_t element_bytes);

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
