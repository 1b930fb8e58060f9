// SPDX-License-Identifier: Apache-2.0
#include "app/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "app/say.h"
#include "gpubench/telemetry.h"
#include "report/text_table.h"
#include "util/text.h"

namespace gpubench {

std::size_t output_width(int file) {
  constexpr std::size_t kFileWidth = 150;
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return kFileWidth;
  return size.ws_col;
}

Progress::Progress(bool quiet, std::size_t total)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      total_(total),
      begin_s_(steady_seconds()) {}

std::string Progress::left() const {
  if (index_ < 2) return {};
  const double per_case = (steady_seconds() - begin_s_) / double(index_ - 1);
  const int seconds = int(per_case * double(total_ - index_ + 1));
  return fmt::format(", about {}:{:02} left", seconds / 60, seconds % 60);
}

void Progress::draw(const std::string& text) {
  if (quiet_ || !terminal_) return;
  std::string line = fmt::format("[{}/{}] {}", index_, total_, text);
  const std::size_t width = output_width(STDERR_FILENO) - 1;
  if (line.size() > width) line.resize(width);
  say(fmt::format("\r\x1b[K{}", line));
  std::fflush(stderr);
}

void Progress::begin(const std::string& id) {
  ++index_;
  id_ = id;
  draw(id_ + left());
}

void Progress::phase(const std::string& what) { draw(fmt::format("{}: {}{}", id_, what, left())); }

void Progress::sampling(const SamplingProgress& progress) {
  if (!(progress.median_s > 0)) {
    phase(fmt::format("warming up {:.1f} s", progress.elapsed_s));
    return;
  }
  const std::string noise = std::isfinite(progress.noise)
                                ? fmt::format(" ± {:.2f} %", 100 * progress.noise)
                                : std::string();
  draw(fmt::format("{}: {}{}{}", id_, format_time(progress.median_s), noise, left()));
}

void Progress::end(const Result& result) {
  ++ended_;
  if (quiet_) return;
  if (terminal_) say("\r\x1b[K");
  std::string outcome = std::string(to_string(result.status));
  if (result.time_s) outcome = format_time(result.time_s->median);
  if (result.status != Status::ok) {
    outcome = fmt::format("{}: {} {}", to_string(result.status), result.reason.code,
                          result.reason.message);
  }
  say(printable_lines(fmt::format("[{}/{}] {}: {}\n", ended_, total_, result.id, outcome)));
}

void Progress::warn(const std::string& message) {
  if (terminal_ && !quiet_) say("\r\x1b[K");
  say(printable_lines(fmt::format("gpubench: {}\n", message)));
}

}  // namespace gpubench
