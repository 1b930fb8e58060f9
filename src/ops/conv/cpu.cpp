// SPDX-License-Identifier: Apache-2.0
// Provider `cpu`: each image unfolded into a matrix [p q][r s c] per group, then a matrix product.
// Images are shared out among threads, the library runs single-threaded in each; a single image is
// left to the library's own threads.
#include <fmt/format.h>

#include <algorithm>

#include "libs/cblas.h"
#include "libs/libraries.h"
#include "ops/conv/providers.h"
#include "ops/support/parallel.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr auto kNoTrans = CblasApi::kNoTrans;
constexpr auto kTrans = CblasApi::kTrans;

class CpuConv : public Plan {
 public:
  CpuConv(const CblasApi& blas, const ConvProblem& problem, int threads)
      : blas_(blas),
        pass_(problem.pass),
        out_dtype_(conv_output_dtype(problem.dtype)),
        shape_(problem.shape),
        images_(size(shape_.n)),
        positions_(size(shape_.p() * shape_.q())),
        depth_(size(shape_.r * shape_.s * shape_.group_c())),
        group_k_(size(shape_.group_k())),
        output_count_(conv_operands(problem).back().count),
        threads_(size(std::max(threads, 1))),
        parts_(std::min(images_, threads_)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(checked_mul({parts_, scratch_floats(), sizeof(float)}));
  }

  std::string algorithm() const override {
    return fmt::format("im2col and {} sgemm, {} thread{}", blas_.name(), threads_,
                       threads_ == 1 ? "" : "s");
  }

  void run(Stream&, std::span<void* const> operands, void* workspace) override {
    const auto* first = static_cast<const float*>(operands[conv_operand::kFirst]);
    const auto* second = static_cast<const float*>(operands[conv_operand::kSecond]);
    auto* out = static_cast<float*>(operands[conv_operand::kOutput]);
    auto* scratch = static_cast<float*>(workspace);
    blas_.set_num_threads(static_cast<int>(parts_ > 1 ? 1 : threads_));
    parallel_for(parts_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        float* unfolded = scratch + part * scratch_floats();
        if (pass_ == ConvPass::wgrad) {
          std::fill_n(unfolded + positions_ * depth_, output_count_, 0.f);
        }
        for (std::size_t image = part; image < images_; image += parts_) {
          run_image(first, second, out, image, unfolded);
        }
      }
    });
    blas_.set_num_threads(static_cast<int>(threads_));
    if (pass_ == ConvPass::wgrad) add_parts(scratch, out);
    if (out_dtype_ != Dtype::fp32) round(out);
  }

 private:
  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

  /// An unfolded image, and for wgrad a part's own sum over its images.
  std::size_t scratch_floats() const {
    const auto unfolded = checked_mul({positions_, depth_});
    return static_cast<std::size_t>(
        checked_add({unfolded, pass_ == ConvPass::wgrad ? output_count_ : 0}));
  }

  void run_image(const float* first, const float* second, float* out, std::size_t image,
                 float* unfolded) const {
    const std::size_t x_count = size(shape_.h * shape_.w * shape_.c), k = size(shape_.k);
    const std::size_t x_at = image * x_count, y_at = image * positions_ * k;
    if (pass_ == ConvPass::dgrad) std::fill_n(out + x_at, x_count, 0.f);
    for (std::size_t group = 0; group < size(shape_.groups); ++group) {
      const std::size_t k_at = group * group_k_, w_at = k_at * depth_;
      switch (pass_) {
        case ConvPass::forward:
          unfold(first + x_at, group, unfolded);
          blas_.sgemm(kNoTrans, kTrans, positions_, group_k_, depth_, 1, unfolded, depth_,
                      second + w_at, depth_, 0, out + y_at + k_at, k);
          break;
        case ConvPass::dgrad:
          blas_.sgemm(kNoTrans, kNoTrans, positions_, depth_, group_k_, 1, first + y_at + k_at, k,
                      second + w_at, depth_, 0, unfolded, depth_);
          fold(unfolded, group, out + x_at);
          break;
        case ConvPass::wgrad:
          unfold(first + x_at, group, unfolded);
          blas_.sgemm(kTrans, kNoTrans, group_k_, depth_, positions_, 1, second + y_at + k_at, k,
                      unfolded, depth_, 1, unfolded + positions_ * depth_ + w_at, depth_);
          break;
      }
    }
  }

  /// Calls visit(offset of the group's channels in the image or -1, offset in the unfolded matrix)
  /// for each output position and filter tap.
  template <class Visit>
  void for_each_tap(std::size_t group, const Visit& visit) const {
    const std::int64_t channels = shape_.group_c(),
                       first = static_cast<std::int64_t>(group) * channels;
    std::int64_t to = 0;
    for (std::int64_t p = 0; p < shape_.p(); ++p) {
      for (std::int64_t q = 0; q < shape_.q(); ++q) {
        for (std::int64_t r = 0; r < shape_.r; ++r) {
          const std::int64_t h = p * shape_.stride - shape_.pad + r * shape_.dilation;
          for (std::int64_t s = 0; s < shape_.s; ++s, to += channels) {
            const std::int64_t w = q * shape_.stride - shape_.pad + s * shape_.dilation;
            const bool inside = h >= 0 && h < shape_.h && w >= 0 && w < shape_.w;
            visit(inside ? (h * shape_.w + w) * shape_.c + first : -1, to);
          }
        }
      }
    }
  }

  void unfold(const float* image, std::size_t group, float* unfolded) const {
    const std::int64_t channels = shape_.group_c();
    for_each_tap(group, [&](std::int64_t from, std::int64_t to) {
      if (from < 0) {
        std::fill_n(unfolded + to, channels, 0.f);
      } else {
        std::copy_n(image + from, channels, unfolded + to);
      }
    });
  }

  void fold(const float* unfolded, std::size_t group, float* image) const {
    const std::int64_t channels = shape_.group_c();
    for_each_tap(group, [&](std::int64_t to, std::int64_t from) {
      if (to < 0) return;
      for (std::int64_t c = 0; c < channels; ++c) image[to + c] += unfolded[from + c];
    });
  }

  void add_parts(const float* scratch, float* out) const {
    parallel_for(output_count_, kGrain, [&](std::size_t begin, std::size_t end) {
      std::fill(out + begin, out + end, 0.f);
      for (std::size_t part = 0; part < parts_; ++part) {
        const float* sum = scratch + part * scratch_floats() + positions_ * depth_;
        for (std::size_t i = begin; i < end; ++i) out[i] += sum[i];
      }
    });
  }

  void round(float* out) const {
    parallel_for(output_count_, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[i] = round_to(out_dtype_, out[i]);
    });
  }

  static constexpr std::size_t kGrain = 1 << 15;

  const CblasApi& blas_;
  ConvPass pass_;
  Dtype out_dtype_;
  ConvShape shape_;
  std::size_t images_, positions_, depth_, group_k_, output_count_;
  std::size_t threads_, parts_;
};

Support supports(const DeviceInfo& device, const ConvProblem&) {
  if (device.kind == DeviceKind::cpu) return Support::yes();
  return Support::no("E_UNSUPPORTED_DEVICE", "runs on the cpu device only (--device cpu)");
}

std::unique_ptr<Plan> make_plan(Context& context, const ConvProblem& problem) {
  return std::make_unique<CpuConv>(context.libraries.cblas(), problem,
                                   context.device.info().sm_count);
}

}  // namespace

Provider<ConvProblem> cpu_conv_provider() { return {"cpu", supports, make_plan}; }

}  // namespace gpubench
