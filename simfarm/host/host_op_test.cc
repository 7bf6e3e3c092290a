#include "simfarm/host/host_op.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

const char kMachine[] = R"(
    host_costs { op: "default" cycles_expr: "2 * elements + 10" })";
target::HostCosts Costs() {
  return *target::HostCosts::Create(Parse<v1::Machine>(kMachine));
}
const char kReshape[] = R"(
    attributes { reshape {} }
    inputs { type { name: "a" element_type: INT8 shape: [2, 3] }
             location { address: 0 } }
    outputs { type { name: "b" element_type: INT8 shape: [6] }
              location { address: 8 } })";

TEST(HostOpTest, ComputesOnSystemMemory) {
  const auto op = Parse<v1::Program::HostOp>(kReshape);
  const auto host = HostOp::Create(op, Costs());
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(host->cycles(), 2 * 6 + 10);
  std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9};
  ChipMemory memory;
  memory.Add({"ram", ChipMemory::Kind::kReadWrite, 0, bytes.data(), 16});
  const absl::Status status = host->Run(memory, CpuPath::kBest);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(bytes, testing::ElementsAre(1, 2, 3, 4, 5, 6, 0, 0, 1, 2, 3, 4, 5,
                                          6, 9, 9));
}

// Element by element; no op that reads another element, and nothing shifted.
TEST(HostOpTest, ClipsInPlace) {
  const char kClip[] = R"(
      attributes { clip { clamp { min: 2 max: 5 } } }
      inputs { type { name: "a" element_type: INT8 shape: [2, 3]
                      quantization { scale: 1 zero_point: 0 } }
               location { address: 8 } }
      outputs { type { name: "b" element_type: INT8 shape: [2, 3]
                       quantization { scale: 1 zero_point: 0 } }
                location { address: 8 } })";
  auto op = Parse<v1::Program::HostOp>(kClip);
  const auto host = HostOp::Create(op, Costs());
  ASSERT_TRUE(host.ok()) << host.status();
  std::vector<uint8_t> bytes = {9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8};
  ChipMemory memory;
  memory.Add({"ram", ChipMemory::Kind::kReadWrite, 0, bytes.data(), 16});
  const absl::Status status = host->Run(memory, CpuPath::kBest);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(bytes, testing::ElementsAre(9, 9, 9, 9, 9, 9, 9, 9, 2, 2, 3, 4, 5,
                                          5, 7, 8));
  op.mutable_outputs(0)->mutable_location()->set_address(7);
  EXPECT_FALSE(HostOp::Create(op, Costs()).ok());
  op.mutable_outputs(0)->mutable_location()->set_address(8);
  op.mutable_outputs(0)->mutable_type()->set_element_type(v1::INT16);
  EXPECT_FALSE(HostOp::Create(op, Costs()).ok());
  op.mutable_outputs(0)->mutable_type()->set_element_type(v1::INT8);
  op.mutable_attributes()->mutable_transpose();
  EXPECT_FALSE(HostOp::Create(op, Costs()).ok());
}

TEST(HostOpTest, OutputsNeedWritableMemory) {
  const auto op = Parse<v1::Program::HostOp>(kReshape);
  const auto host = HostOp::Create(op, Costs());
  ASSERT_TRUE(host.ok()) << host.status();
  std::vector<uint8_t> bytes(16);
  ChipMemory read_only;
  read_only.Add({"ram", ChipMemory::Kind::kReadOnly, 0, bytes.data(), 16});
  EXPECT_FALSE(host->Run(read_only, CpuPath::kBest).ok());
  ChipMemory small;
  small.Add({"ram", ChipMemory::Kind::kReadWrite, 0, bytes.data(), 13});
  EXPECT_FALSE(host->Run(small, CpuPath::kBest).ok());
}

TEST(HostOpTest, RefusesUnusableOperands) {
  const struct {
    const char* from;
    const char* to;
    const char* message;
  } kCases[] = {
      {"address: 8", "address: 5", "overlaps an input"},
      {"shape: [2, 3]", "shape: [2, -3]", "unusable shape"},
      {"shape: [2, 3]", "shape: [4294967296, 4294967296]", "unusable shape"},
      {"shape: [2, 3]", "shape: [2, 3, 4294967296]", "unusable"},
      {"INT8 shape: [2", "FLOAT32 shape: [2", ""},
      {"element_type: INT8 shape: [6]", "shape: [6]", "element type"},
      {"element_type: INT8 shape: [6]", "element_type: INT16 shape: [6]", ""},
      {"shape: [6]", "shape: [0]", "without elements"},
  };
  for (const auto& c : kCases) {
    std::string text = kReshape;
    const size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);
    const auto op = Parse<v1::Program::HostOp>(text);
    const auto host = HostOp::Create(op, Costs());
    absl::Status status = host.status();
    if (status.ok()) {
      std::vector<uint8_t> bytes(64);
      ChipMemory memory;
      memory.Add({"ram", ChipMemory::Kind::kReadWrite, 0, bytes.data(), 64});
      status = host->Run(memory, CpuPath::kBest);
    }
    EXPECT_FALSE(status.ok()) << c.to;
  }
}

}  // namespace
}  // namespace edgekiln::simfarm
