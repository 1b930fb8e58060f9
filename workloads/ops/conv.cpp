// SPDX-License-Identifier: Apache-2.0
// ops/conv: 2-D convolution, forward or one of its two gradients.
#include "ops/conv/job.h"

namespace gpubench {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 20;

ConvProblem problem_of(const Params& params) {
  return {.pass = parse_conv_pass(params.text("pass")),
          .dtype = params.dtype(),
          .shape = {.n = params.integer("n"),
                    .h = params.integer("h"),
                    .w = params.integer("w"),
                    .c = params.integer("c"),
                    .k = params.integer("k"),
                    .r = params.integer("r"),
                    .s = params.integer("s"),
                    .stride = params.integer("stride"),
                    .pad = params.integer("pad"),
                    .dilation = params.integer("dilation"),
                    .groups = params.integer("groups")},
          .tune = params.flag("tune")};
}

ParamSpec extent_param(std::string name, std::int64_t default_value, std::string help,
                       std::int64_t min = 1) {
  return int_param(std::move(name), default_value, std::move(help), min, kMostExtent);
}

const Registration kConv{{
    .name = "ops/conv",
    .summary = "2-D convolution of NHWC images with KRSC filters, or one of its gradients",
    .params = {choice_param("pass", "forward", {"forward", "dgrad", "wgrad"},
                            "y, the images' gradient dx, or the filters' gradient dw"),
               choice_param("dtype", "fp16", {"fp16", "bf16", "tf32", "fp32"},
                            "element type of every tensor; tf32: FP32 data on TF32 tensor cores"),
               int_param("n", 256, "images"), extent_param("h", 56, "height of an image"),
               extent_param("w", 56, "width of an image"), int_param("c", 64, "input channels"),
               int_param("k", 64, "filters: output channels"),
               extent_param("r", 3, "height of a filter"),
               extent_param("s", 3, "width of a filter"),
               extent_param("stride", 1, "step between outputs, both directions"),
               extent_param("pad", 1, "zeros on each side, both directions", 0),
               extent_param("dilation", 1, "step between a filter's taps, both directions"),
               int_param("groups", 1, "channels and filters in this many separate convolutions"),
               bool_param("tune", false,
                          "time the library's candidates instead of taking its first"),
               choice_param("impl", "auto", {"auto", "cudnn", "cpu"}, "who computes it")},
    .footprint =
        [](const DeviceInfo& device, const Conditions& conditions, const Params& params) {
          return conv_footprint(device, conditions, problem_of(params));
        },
    .prepare =
        [](Context& context, const Params& params) {
          return make_conv_job(context, problem_of(params), params.text("impl"));
        },
}};

}  // namespace
}  // namespace gpubench
