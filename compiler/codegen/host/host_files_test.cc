#include "compiler/codegen/host/host_files.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/text.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kGraph[] = R"(
%x : float32[1,4] = input
%y : float32[1,4] = softmax(%x) {axis 1 beta 1} id s
return %y
)";

constexpr char kMachine[] = R"pb(
  memories {
    name: "flash"
    holds: [ CODE, CONSTANTS ]
    capacity_bytes: 4096
    host_reaches: true
    alignment_bytes: 1
  }
  memories {
    name: "ram"
    holds: ACTIVATIONS
    capacity_bytes: 4096
    base_address: 0x80000000
    host_reaches: true
    alignment_bytes: 1
  })pb";

constexpr char kProgram[] = R"pb(
  layers { id: "s" op: "softmax" engine: -1 }
  inputs {
    type {
      name: "x"
      element_type: FLOAT32
      shape: [ 1, 4 ]
    }
    location { memory: 1 address: 0x80000000 }
  }
  outputs {
    type {
      name: "y"
      element_type: FLOAT32
      shape: [ 1, 4 ]
    }
    location { memory: 1 address: 0x80000010 }
  }
  steps {
    host_op {
      attributes { softmax { axis: 1 beta: 1 } }
      inputs {
        type {
          name: "x"
          element_type: FLOAT32
          shape: [ 1, 4 ]
        }
        location { memory: 1 address: 0x80000000 }
      }
      outputs {
        type {
          name: "y"
          element_type: FLOAT32
          shape: [ 1, 4 ]
        }
        location { memory: 1 address: 0x80000010 }
      }
    }
  }
  ram_bytes: 32)pb";

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

absl::StatusOr<std::vector<CFile>> FilesOf(const v1::Program& program) {
  const auto graph = ParseGraph(kGraph);
  if (!graph.ok()) return graph.status();
  return HostFiles(program, *graph, "", Parse<v1::Machine>(kMachine));
}

TEST(HostFilesTest, OperatorsReachTensorsThroughTheDriver) {
  const auto files = FilesOf(Parse<v1::Program>(kProgram));
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> paths;
  std::string source;
  for (const CFile& file : *files) {
    paths.push_back(file.path);
    if (file.path == "network.c") source = file.text;
    // Not a file of desk/ by that name.
    if (file.path == "desk/chip.c") {
      EXPECT_THAT(file.text, testing::HasSubstr("#include \"../network.h\"\n"));
    }
  }
  EXPECT_THAT(paths,
              testing::UnorderedElementsAre(
                  "edgekiln_driver.h", "network.h", "network.c", "Makefile",
                  "check.c", "check_data.h", "desk/chip.c", "desk/desk.h"));
  EXPECT_THAT(source, testing::HasSubstr("#define network_t0 edgekiln_at(1, "
                                         "0x80000000u)"));
  EXPECT_THAT(source, testing::HasSubstr("network_layer_0_s();"));
  EXPECT_THAT(source, testing::HasSubstr("{NETWORK_HOST, 0u, 0u, 0u}"));
}

struct ErrorCase {
  const char* name;
  std::function<void(v1::Program&)> spoil;
  absl::StatusCode code;
};

void PrintTo(const ErrorCase& c, std::ostream* out) { *out << c.name; }

const ErrorCase kErrors[] = {
    {"NoSuchMemory",
     [](v1::Program& program) {
       program.mutable_inputs(0)->mutable_location()->set_memory(2);
     },
     absl::StatusCode::kInvalidArgument},
    {"BelowTheMemory",
     [](v1::Program& program) {
       program.mutable_steps(0)
           ->mutable_host_op()
           ->mutable_inputs(0)
           ->mutable_location()
           ->set_address(0);
     },
     absl::StatusCode::kInvalidArgument},
    {"NoSuchStream",
     [](v1::Program& program) { program.add_steps()->mutable_launch(); },
     absl::StatusCode::kInvalidArgument},
    {"NoSuchLayer",
     [](v1::Program& program) {
       program.mutable_steps(0)->mutable_host_op()->set_layer(1);
     },
     absl::StatusCode::kInvalidArgument},
    {"OtherOutputs", [](v1::Program& program) { program.clear_outputs(); },
     absl::StatusCode::kInvalidArgument},
    {"UnalignedTensor",
     [](v1::Program& program) {
       program.mutable_steps(0)
           ->mutable_host_op()
           ->mutable_outputs(0)
           ->mutable_location()
           ->set_address(0x80000012);
     },
     absl::StatusCode::kUnimplemented},
};

class HostFilesErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(HostFilesErrorTest, IsRefused) {
  v1::Program program = Parse<v1::Program>(kProgram);
  GetParam().spoil(program);
  EXPECT_EQ(FilesOf(program).status().code(), GetParam().code)
      << FilesOf(program).status();
}

INSTANTIATE_TEST_SUITE_P(All, HostFilesErrorTest, testing::ValuesIn(kErrors),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler
