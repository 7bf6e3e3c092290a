#include "target/host_cost.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

TEST(HostCostTest, UsesTheClassOrTheDefault) {
  const auto machine = Parse<v1::Machine>(R"(
      host_costs { op: "softmax" cycles_per_element: 60 cycles_per_call: 500 }
      host_costs { op: "default" cycles_per_element: 8 cycles_per_call: 10 })");
  EXPECT_EQ(*HostCycles(machine, "softmax", 10), 1100);
  EXPECT_EQ(*HostCycles(machine, "reshape", 10), 90);
  EXPECT_FALSE(HostCycles(machine, "reshape", INT64_MAX).ok());
  EXPECT_FALSE(HostCycles(v1::Machine(), "reshape", 1).ok());
}

struct ElementsCase {
  const char* attributes;
  std::vector<std::string> inputs;
  std::string output;
  int64_t want;
};

TEST(HostCostTest, CountsMacsOrTheLargestOperand) {
  const ElementsCase kCases[] = {
      {"conv2d {}",
       {"shape: [1,4,4,3]", "shape: [8,3,3,3]"},
       "shape: [1,4,4,8]",
       4 * 4 * 8 * 27},
      {"depthwise_conv2d {}",
       {"shape: [1,4,4,8]", "shape: [1,3,3,8]"},
       "shape: [1,4,4,8]",
       4 * 4 * 8 * 9},
      {"fully_connected {}",
       {"shape: [1,64]", "shape: [10,64]"},
       "shape: [1,10]",
       640},
      {"mat_mul {}",
       {"shape: [2,5,3]", "shape: [2,3,7]"},
       "shape: [2,5,7]",
       2 * 5 * 7 * 3},
      {"conv2d { groups: 2 }",
       {"shape: [1,4,4,4]", "shape: [8,3,3,2]"},
       "shape: [1,4,4,8]",
       4 * 4 * 8 * 18},
      {"conv3d {}",
       {"shape: [1,2,4,4,3]", "shape: [5,2,3,3,3]"},
       "shape: [1,2,4,4,5]",
       2 * 4 * 4 * 5 * 54},
      {"transposed_conv { groups: 2 }",
       {"shape: [1,3,4]", "shape: [6,5,2]"},
       "shape: [1,7,6]",
       3 * 4 * 5 * 6 / 2},
      {"lstm {}",
       {"shape: [7,2,3]", "shape: [20,3]", "shape: [20,5]"},
       "shape: [7,2,5]",
       7 * 2 * (60 + 100)},
      {"gru {}",
       {"shape: [7,2,3]", "shape: [15,3]", "shape: [15,5]"},
       "shape: [7,2,5]",
       7 * 2 * (45 + 75)},
      {"rnn {}",
       {"shape: [7,2,3]", "shape: [5,3]", "shape: [5,5]"},
       "shape: [7,2,5]",
       7 * 2 * (15 + 25)},
      {"svdf {}",
       {"shape: [2,3]", "shape: [4,3]", "shape: [4,9]"},
       "shape: [2,4]",
       2 * (12 + 36)},
      {"softmax {}", {"shape: [1,10]"}, "shape: [1,10]", 10},
      {"average_pool2d {}", {"shape: [1,8,8,2]"}, "shape: [1,1,1,2]", 128},
  };
  for (const ElementsCase& c : kCases) {
    std::vector<v1::TensorType> types;
    for (const std::string& input : c.inputs) {
      types.push_back(Parse<v1::TensorType>(input));
    }
    std::vector<const v1::TensorType*> inputs;
    for (const v1::TensorType& type : types) inputs.push_back(&type);
    inputs.push_back(nullptr);  // An absent bias.
    const auto output = Parse<v1::TensorType>(c.output);
    const auto elements =
        HostElements(Parse<v1::OpAttributes>(c.attributes), inputs, {&output});
    ASSERT_TRUE(elements.ok()) << elements.status();
    EXPECT_EQ(*elements, c.want) << c.attributes;
  }
  const auto huge = Parse<v1::TensorType>("shape: [4294967296, 4294967296]");
  EXPECT_FALSE(HostElements({}, {&huge}, {}).ok());
}

TEST(HostCostTest, NamesOps) {
  EXPECT_EQ(OpAttributesName(Parse<v1::OpAttributes>("softmax {}")), "softmax");
  EXPECT_EQ(OpAttributesName({}), "");
}

}  // namespace
}  // namespace edgekiln::target
