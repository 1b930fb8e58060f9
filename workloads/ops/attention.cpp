// SPDX-License-Identifier: Apache-2.0
// ops/attention: self-attention, forward or backward.
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
          .backward = params.text("pass") == "backward"};
}

const Registration kAttention{{
    .name = "ops/attention",
    .summary = "softmax(Q K^T / sqrt(d)) V of [batch][seq][heads][head_dim], or its gradients",
    .params = {int_param("batch", 4, "sequences"), int_param("heads", 16, "attention heads"),
               int_param("seq", 4096, "positions of each sequence; checked in seq^2 time"),
               choice_param("head_dim", "128", {"64", "128"}, "elements per head"),
               choice_param("dtype", "bf16", {"bf16", "fp16"}, "element type of every tensor"),
               bool_param("causal", false, "a position sees itself and those before it"),
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
