// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: one line that is rewritten on a terminal, a line per finished case elsewhere.
#pragma once

#include <cstddef>
#include <string>

#include "gpubench/report.h"
#include "measure/sampler.h"

namespace gpubench {

/// Columns of the terminal behind a file descriptor; a width that suits files where it is none.
std::size_t output_width(int file);

class Progress {
 public:
  Progress(bool quiet, std::size_t total);

  void leave_out() { --total_; }  ///< a case whose result is there already
  void begin(const std::string& id);
  void join() { ++index_; }             ///< another case is measured in turn with it
  void phase(const std::string& what);  ///< "preparing", "verifying"
  void sampling(const SamplingProgress& progress);
  void end(const Result& result);
  void warn(const std::string& message);  ///< always printed

 private:
  void draw(const std::string& text);
  std::string left() const;

  bool quiet_;
  bool terminal_;
  std::size_t total_;
  std::size_t index_ = 0;
  std::size_t ended_ = 0;
  double begin_s_;
  std::string id_;
};

}  // namespace gpubench
