// SPDX-License-Identifier: Apache-2.0
// Errors that end a case (never the run) and the stable codes that reports carry.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace gpubench {

/// Why something did not happen: a stable code (`E_OOM_PLANNED`) and a sentence that says what to
/// do.
struct Reason {
  std::string code;
  std::string message;
};

/// Base of everything gpubench throws.
class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const noexcept { return code_; }
  Reason reason() const { return {code_, what()}; }

 private:
  std::string code_;
};

/// The user asked for something impossible or misspelt: exit code 2 before a run.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message, std::string code = "E_CONFIG")
      : Error(std::move(code), message) {}
};

/// No usable device, or the device reported a fault. `sticky` faults lose the device for the
/// process.
class DeviceError : public Error {
 public:
  DeviceError(std::string code, const std::string& message, bool sticky = false)
      : Error(std::move(code), message), sticky_(sticky) {}
  bool sticky() const noexcept { return sticky_; }

 private:
  bool sticky_;
};

/// A library is present but a call into it failed.
class LibraryError : public Error {
 public:
  LibraryError(std::string code, const std::string& message) : Error(std::move(code), message) {}
};

/// This device, library or shape can't do it: the case is `skipped`, with this reason.
class Unsupported : public Error {
 public:
  Unsupported(std::string code, const std::string& message) : Error(std::move(code), message) {}
};

}  // namespace gpubench
