// SPDX-License-Identifier: Apache-2.0
#include "app/app.h"

int main(int argc, char** argv) { return gpubench::run_app(argc, argv); }
