// SPDX-License-Identifier: Apache-2.0
// ops/attention: attention with full, causal and sliding-window masks, forward or backward.
#include "ops/attention/attention.h"

namespace gpubench {
namespace {

AttentionProblem problem_of(const Params& params) {
  return {.batch = params.integer("batch"),
          .heads = params.integer("heads"),
          .seq = params.integer("seq"),
          .head_dim = params.integer("head_dim"),
          .dtype = params.dtype(),
          .causal = params.flag("causal"),
          .backward = params.text("pass") == "backward",
          .kv_heads = params.integer("kv_heads"),
          .seq_kv = params.integer("seq_kv"),
          .align = params.text("causal_align") == "bottom_right" ? CausalAlign::bottom_right
                                                                 : CausalAlign::top_left,
          .window = params.integer("window")};
}

const Registration kAttention{{
    .name = "ops/attention",
    .summary = "softmax(Q K^T / sqrt(d)) V of [batch][seq][heads][head_dim], or its gradients",
    .params = {int_param("batch", 4, "sequences"), int_param("heads", 16, "heads of the queries"),
               int_param("kv_heads", 0, "heads of keys and values, a divisor of heads; 0: heads",
                         0),
               int_param("seq", 4096, "queries of each sequence; checked in seq * seq_kv time"),
               int_param("seq_kv", 0, "keys of each sequence; 0: seq", 0),
               int_param("head_dim", 128, "elements per head"),
               choice_param("dtype", "bf16", {"bf16", "fp16", "fp8"},
                            "element type of every tensor; fp8 is E4M3 with scales, forward only"),
               bool_param("causal", false, "a position sees itself and those before it"),
               choice_param("causal_align", "top_left", {"top_left", "bottom_right"},
                            "causal with seq_kv other than seq: query 0 sees key 0 only, or the "
                            "last query sees every key"),
               int_param("window", 0,
                         "causal: keys that a query sees at most, itself included; "
                         "0: all",
                         0),
               choice_param("pass", "forward", {"forward", "backward"},
                            "forward: o and log-sum-exp; backward: dq, dk, dv"),
               choice_param("impl", "auto", {"auto", "cudnn", "cpu"}, "who computes it")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return attention_footprint(device, conditions, problem_of(params));
        },
    .prepare =
        [](Context& context, const Params& params) {
          return prepare_attention(context, problem_of(params), params.text("impl"));
        },
}};

}  // namespace
}  // namespace gpubench
