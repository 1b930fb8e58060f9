// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

namespace gpubench {

/// To stderr. A closed stderr (`2>&1 | head`) must neither end a run nor hide an exit code, so
/// errors of writing are ignored; fmt::print would throw.
inline void say(const std::string& text) noexcept { std::fputs(text.c_str(), stderr); }

}  // namespace gpubench
