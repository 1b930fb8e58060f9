// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/select.h"
#include "gpubench/error.h"

namespace gpubench {
namespace {

DeviceInfo gpu(int index, const std::string& uuid, const std::string& pci) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = index;
  info.name = "NVIDIA H200";
  info.uuid = uuid;
  info.pci_id = pci;
  return info;
}

const std::vector<DeviceInfo> kNode = {
    gpu(0, "GPU-5f1e0000-aaaa-0000-0000-000000000000", "0000:1b:00.0"),
    gpu(1, "GPU-5f1f0000-bbbb-0000-0000-000000000000", "0000:c1:00.0"),
    gpu(2, "MIG-77777777-cccc-0000-0000-000000000000", "0001:1b:00.0"),
};

struct Accepted {
  const char* text;
  std::vector<int> ordinals;
};

class AcceptedLists : public testing::TestWithParam<Accepted> {};

TEST_P(AcceptedLists, NamesTheseDevices) {
  EXPECT_EQ(parse_device_list(GetParam().text, kNode), GetParam().ordinals);
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, AcceptedLists,
    testing::Values(Accepted{"0", {0}}, Accepted{"2,0", {2, 0}}, Accepted{" 1 , 2 ", {1, 2}},
                    Accepted{"all", {0, 1, 2}}, Accepted{"ALL", {0, 1, 2}},
                    Accepted{"GPU-5f1f0000-bbbb-0000-0000-000000000000", {1}},
                    Accepted{"GPU-5f1e", {0}}, Accepted{"gpu-5F1E,MIG-7", {0, 2}},
                    Accepted{"0000:C1:00.0", {1}}, Accepted{"00000000:1B:00.0", {0}},
                    Accepted{"1b:00", {0}}, Accepted{"0001:1b:00.0", {2}}));

struct Refused {
  const char* text;
  const char* says;
};

class RefusedLists : public testing::TestWithParam<Refused> {};

TEST_P(RefusedLists, SayWhyAndWhatThereIs) {
  try {
    parse_device_list(GetParam().text, kNode);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
    EXPECT_NE(message.find("available: 0 (NVIDIA H200, GPU-5f1e"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, RefusedLists,
    testing::Values(Refused{"3", "no device '3'"}, Refused{"-1", "no device '-1'"},
                    Refused{"99999999999999999999", "no device '999"}, Refused{"", "empty"},
                    Refused{"0,,1", "empty"}, Refused{"0,", "empty"},
                    Refused{"0,0", "'0' names device 0 a second time"},
                    Refused{"0,GPU-5f1e", "a second time"}, Refused{"1,c1:00.0", "a second time"},
                    Refused{"GPU-5f1", "fits 2 devices"}, Refused{"GPU-", "no device"},
                    Refused{"GPU-9", "no device 'GPU-9'"}, Refused{"0,all", "stands alone"},
                    Refused{"0x0", "no device"}, Refused{"NoDevFiles", "no device"}));

TEST(DeviceList, WithoutDevicesSaysNone) {
  for (const char* text : {"0", "all"}) {
    try {
      parse_device_list(text, {});
      FAIL() << "accepted " << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("available: none"), std::string::npos);
    }
  }
}

TEST(NormalPciId, TakesEverySpellingAndNothingElse) {
  EXPECT_EQ(normal_pci_id("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normal_pci_id("0002:1b:0.1"), "0002:1b:00.1");
  EXPECT_EQ(normal_pci_id("10000:01:00.0"), "10000:01:00.0");
  for (const char* text : {"", "0", "1b:zz.0", "1b:00.00", "1:2:3:4", "GPU-1", "1b:00.0.0"}) {
    EXPECT_EQ(normal_pci_id(text), "") << text;
  }
}

TEST(CheckDeviceList, TellsTypingErrorsWithoutDevices) {
  for (const char* text :
       {"0", "3,17", "all", "ALL", " 0 , GPU-5f1e ", "MIG-7", "0000:1b:00.0", "1b:00"})
    EXPECT_NO_THROW(check_device_list(text)) << text;
  for (const char* text :
       {"", "gpu", "GPU-", "0,", "-1", "0,all", "cpu,0", "H200", "0;1", "zz:00.0"})
    EXPECT_THROW(check_device_list(text), ConfigError) << text;
}

}  // namespace
}  // namespace gpubench
