// SPDX-License-Identifier: Apache-2.0
// Verbs that tell what there is: list, show, specs, devices, doctor.
#include <memory>

#include "app/arguments.h"
#include "app/validators.h"
#include "app/verbs.h"

namespace gpubench {

void add_list(CLI::App& app, const Choose& choose) {
  app.add_subcommand("list", "Workloads and suites")->callback([choose] { choose(list_verb); });
}

void add_show(CLI::App& app, const Choose& choose) {
  const auto name = std::make_shared<std::string>();
  CLI::App* show = app.add_subcommand("show", "Parameters of a workload, or cases of a suite");
  show->add_option("name", *name, "Workload or suite")->required();
  show->callback([choose, name] { choose([name] { return show_verb(*name); }); });
}

void add_specs(CLI::App& app, const Choose& choose) {
  const auto options = std::make_shared<SpecsOptions>();
  CLI::App* specs = app.add_subcommand("specs", "Published peaks of known devices, with sources");
  specs->add_option("id", options->id, "One entry, with its sources");
  specs->add_flag("--json", options->json, "As JSON");
  specs->add_flag("--check", options->check, "Look for figures that contradict one another");
  add_catalogue(specs, options->catalogue);
  specs->callback([choose, options] { choose([options] { return specs_verb(*options); }); });
}

void add_devices(CLI::App& app, const Choose& choose) {
  struct Options {
    bool json = false;
    std::string catalogue;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* devices =
      app.add_subcommand("devices", "GPUs of this machine and their catalogue entries");
  devices->add_flag("--json", options->json, "As JSON");
  add_catalogue(devices, options->catalogue);
  devices->callback([choose, options] {
    choose([options] { return devices_verb(options->json, options->catalogue); });
  });
}

void add_doctor(CLI::App& app, const Choose& choose) {
  app.add_subcommand("doctor", "Driver, libraries and where they were looked for")
      ->callback([choose] { choose(doctor_verb); });
}

}  // namespace gpubench
