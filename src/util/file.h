// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Saving is atomic: a reader sees the old text or the new, never half.
#pragma once

#include <string>
#include <string_view>

namespace gpubench {

/// Where a symbolic link leads, so that what is done to a file is not done to the link. A path that
/// does not exist is given back as it is.
std::string resolved(const std::string& path);

/// Throws ConfigError with the path and the system's reason; a folder is an error, and
/// so is more than 1 GiB.
std::string read_file(const std::string& path);

/// Temporary file in the same folder, fsync, rename. What exists and is no regular file (/dev/full,
/// a pipe) is written to directly. Throws Error E_WRITE with the path and the system's reason.
void save_atomically(const std::string& path, std::string_view text);

/// Throws ConfigError E_OUTPUT if save_atomically(path) could not work. Leaves no file behind and
/// never changes one that exists.
void check_writable(const std::string& path);

}  // namespace gpubench
