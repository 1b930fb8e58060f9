// SPDX-License-Identifier: Apache-2.0
#include "core/formulas.h"

#include <string>
#include <vector>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {

Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t in_bytes,
               std::size_t out_bytes, std::size_t bias_bytes, std::int64_t batch,
               int extra_matrices) {
  const auto rows = static_cast<double>(m), columns = static_cast<double>(n);
  const auto depth = static_cast<double>(k), matrices = static_cast<double>(batch);
  Work work;
  work.flops = matrices * 2 * rows * columns * depth;
  work.bytes = matrices * ((rows * depth + depth * columns) * static_cast<double>(in_bytes) +
                           (1 + extra_matrices) * rows * columns * static_cast<double>(out_bytes)) +
               columns * static_cast<double>(bias_bytes);
  work.flop_rule = batch == 1 ? "gemm:2mnk" : "gemm:2mnk*batch";
  return work;
}

namespace {

/// Sum over i in [0, count) of i + first, each held to [0, most].
double sum_of_clamped(double first, double count, double most) {
  const auto up_to = [most](double last) {  // sum over i in [0, last], held to `most`
    if (last <= 0) return 0.0;
    if (last <= most) return last * (last + 1) / 2;
    return most * (most + 1) / 2 + (last - most) * most;
  };
  return up_to(first + count - 1) - up_to(first - 1);
}

std::string attention_rule(const AttentionSizes& sizes) {
  if (!sizes.causal) return sizes.seq == sizes.seq_kv ? "attention:4bhssd" : "attention:4bhstd";
  const std::string mask = sizes.window > 0 ? "attention:window" : "attention:causal";
  return mask + (sizes.diagonal == 0 ? "" : "_bottom_right");
}

}  // namespace

double attention_kept_pairs(const AttentionSizes& sizes) {
  const auto queries = static_cast<double>(sizes.seq), keys = static_cast<double>(sizes.seq_kv);
  if (!sizes.causal) return queries * keys;
  // Query i keeps the keys below i + diagonal + 1, less those below that minus the window.
  const double end = static_cast<double>(sizes.diagonal) + 1;
  const double kept = sum_of_clamped(end, queries, keys);
  if (sizes.window == 0) return kept;
  return kept - sum_of_clamped(end - static_cast<double>(sizes.window), queries, keys);
}

Work attention_work(const AttentionSizes& sizes) {
  const auto depth = static_cast<double>(sizes.head_dim);
  const double matrices = static_cast<double>(sizes.batch) * static_cast<double>(sizes.heads);
  const double rows = matrices * static_cast<double>(sizes.seq);
  const double key_rows = static_cast<double>(sizes.batch) * static_cast<double>(sizes.kv_heads) *
                          static_cast<double>(sizes.seq_kv);
  const double lse_bytes = rows * 4;
  Work work;
  work.flops = 4 * matrices * attention_kept_pairs(sizes) * depth * (sizes.backward ? 2.5 : 1);
  // q and o, k and v; and the gradient of each.
  work.bytes = (sizes.backward ? 4 : 2) * (rows + key_rows) * depth *
                   static_cast<double>(sizes.element_bytes) +
               lse_bytes;
  work.flop_rule = attention_rule(sizes) + (sizes.backward ? "*2.5" : "");
  return work;
}

Work conv_work(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t p,
               std::int64_t q, std::int64_t k, std::int64_t r, std::int64_t s, std::int64_t groups,
               std::size_t element_bytes) {
  const auto images = static_cast<double>(n);
  const double in =
      images * static_cast<double>(h) * static_cast<double>(w) * static_cast<double>(c);
  const double out =
      images * static_cast<double>(p) * static_cast<double>(q) * static_cast<double>(k);
  const double per_filter = static_cast<double>(r) * static_cast<double>(s) *
                            (static_cast<double>(c) / static_cast<double>(groups));
  Work work;
  work.flops = 2 * out * per_filter;
  work.bytes =
      (in + out + static_cast<double>(k) * per_filter) * static_cast<double>(element_bytes);
  work.flop_rule = "conv:2npqkcrs/groups";
  return work;
}

Work memory_work(std::string_view kernel, std::uint64_t elements, std::size_t element_bytes) {
  struct Count {
    std::string name;
    double arrays, flops;
  };
  static const std::vector<Count> kCounts{
      {"copy", 2, 0}, {"scale", 2, 1}, {"triad", 3, 2}, {"read", 1, 1}};
  std::vector<std::string> names;
  for (const Count& count : kCounts) {
    if (count.name == kernel) {
      Work work;
      work.flops = count.flops * static_cast<double>(elements);
      work.bytes =
          count.arrays * static_cast<double>(elements) * static_cast<double>(element_bytes);
      if (work.flops > 0) work.flop_rule = "stream:" + count.name;
      return work;
    }
    names.push_back(count.name);
  }
  throw ConfigError("unknown memory kernel '" + std::string(kernel) + "'" +
                    suggestion(kernel, names));
}

Work all_reduce_work(std::uint64_t elements, std::size_t element_bytes, int ranks) {
  Work work;
  work.message_bytes = static_cast<double>(elements) * static_cast<double>(element_bytes);
  if (ranks > 1) {
    work.bus_factor = 2.0 * (ranks - 1) / ranks;
  } else {
    work.bytes = 2 * work.message_bytes;
  }
  return work;
}

Work transfer_work(bool to_device, bool to_host, std::uint64_t bytes) {
  Work work;
  work.bytes = static_cast<double>(bytes) * ((to_device ? 1 : 0) + (to_host ? 1 : 0));
  work.bytes_over = to_device && to_host ? "pcie_duplex" : "pcie";
  return work;
}

Work cache_work(std::uint64_t passes, std::uint64_t bytes) {
  Work work;
  work.bytes = static_cast<double>(passes) * static_cast<double>(bytes);
  work.bytes_over = "l2";
  return work;
}

Work launch_work(std::uint64_t launches) {
  Work work;
  work.items = static_cast<double>(launches);
  work.item_name = "launches";
  return work;
}

Work fma_work(std::uint64_t threads, std::uint64_t per_thread) {
  Work work;
  work.flops = 2 * static_cast<double>(threads) * static_cast<double>(per_thread);
  work.flop_rule = "fma:2n";
  return work;
}

Work mma_work(std::uint64_t products, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Work work;
  work.flops = 2 * static_cast<double>(products) * static_cast<double>(m) * static_cast<double>(n) *
               static_cast<double>(k);
  work.flop_rule = "mma:2mnk";
  return work;
}

}  // namespace gpubench
