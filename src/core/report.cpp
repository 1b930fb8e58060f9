// SPDX-License-Identifier: Apache-2.0
// Names of the plain data in gpubench/report.h and gpubench/device_info.h.
#include "gpubench/report.h"

namespace gpubench {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::skipped:
      return "skipped";
    case Status::failed:
      return "failed";
    case Status::wrong:
      return "wrong";
    case Status::timeout:
      return "timeout";
    case Status::not_run:
      return "not_run";
  }
  return "not_run";
}

std::string DeviceInfo::arch() const {
  if (kind == DeviceKind::cpu) return "cpu";
  return "sm_" + std::to_string(cc_major) + std::to_string(cc_minor);
}

int badness(Status status) {
  switch (status) {
    case Status::ok:
      return 0;
    case Status::not_run:
      return 1;
    case Status::skipped:
      return 2;
    case Status::timeout:
      return 3;
    case Status::failed:
      return 4;
    case Status::wrong:
      return 5;
  }
  return 5;
}

}  // namespace gpubench
