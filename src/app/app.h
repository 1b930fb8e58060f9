// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpubench {

/// The program: parses arguments, runs a verb, turns errors into messages and exit codes.
int run_app(int argc, char** argv);

}  // namespace gpubench
