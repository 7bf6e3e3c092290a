#include "compiler/codegen/host_rooms_fit.h"

#include <cstdint>
#include <string>

#include "base/error.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

using testing::HasSubstr;

// 100 bytes, 200, 50; 2 and 0.5 weights for each channel.
Graph Net() {
  const auto graph = ParseGraph(R"(
%x : int8[1,10,10,1] scale 1 zero 0 = input
%v : int8[2,1,1,1] scale 1 zero 0 = constant [1, 2]
%w : int8[1,2,1,2] scale 1 zero 0 = constant [1, 2, 3, 4]
%a : int8[1,10,10,2] scale 2 zero 0 = conv2d(%x, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id first
%b : int8[1,5,10,1] scale 4 zero 0 = conv2d(%a, %w) {window {stride_h 2 stride_w 1 dilation_h 1 dilation_w 1}} id second
return %b
)");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *graph;
}

// A host alone, whose only memory has so many bytes.
v1::Machine Host(int64_t bytes) {
  const auto target = target::ResolveTarget("extends: \"diana-cpu\"");
  EXPECT_TRUE(target.ok()) << target.status();
  v1::Machine machine = target->machine();
  machine.mutable_memories(0)->set_capacity_bytes(bytes);
  return machine;
}

struct Case {
  const char* expr;
  const char* code;
  bool ports_stay;
  int64_t need;
  const char* text;
};

TEST(HostRoomsFitTest, CountsTensorsRoomsConstantsAndCode) {
  const Graph graph = Net();
  const auto partition = PartitionOnHost(graph);
  ASSERT_TRUE(partition.ok()) << partition.status();
  const Case cases[] = {
      // The first op has 100 + 200 bytes; 6 are constants.
      {"10", "", false, 316,
       "316 bytes: 300 of tensors, 10 that the host's kernel of the op keeps "
       "beside them, 6 of constants"},
      {"out_elements", "7", false, 520, "14 of kernels' code"},
      // The second one with the input, which nobody reads any more.
      {"select(stride_h == 2, 100, 0)", "", true, 456, "350 of tensors, 100"},
      {"select(stride_h == 2, 100, 0)", "", false, 356, "250 of tensors, 100"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    v1::TileRecipe recipe;
    recipe.set_ports_stay(c.ports_stay);
    v1::TileRecipe::HostRoom& room = *recipe.add_host_rooms();
    room.set_op("conv2d");
    room.set_bytes_expr(c.expr);
    room.set_code_bytes_expr(c.code);
    EXPECT_TRUE(CheckHostRooms(graph, *partition, Host(c.need), recipe).ok());
    const absl::Status refused =
        TilePartition(*partition, Host(c.need - 1), recipe).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    const auto detail = GetErrorDetail(refused);
    ASSERT_TRUE(detail.has_value()) << refused;
    EXPECT_EQ(detail->reason, "MEMORY_TOO_SMALL");
    EXPECT_THAT(detail->where, HasSubstr("memory l2; op "));
    EXPECT_THAT(detail->need, HasSubstr(c.text));
    EXPECT_THAT(detail->need, HasSubstr(std::to_string(c.need)));
  }
}

TEST(HostRoomsFitTest, ExpressionsThatGiveNoSizeAreErrors) {
  const Graph graph = Net();
  const auto partition = PartitionOnHost(graph);
  ASSERT_TRUE(partition.ok()) << partition.status();
  for (const char* expr : {"0 - 1", "floordiv(1, pad_top)"}) {
    v1::TileRecipe recipe;
    recipe.add_host_rooms()->set_op("conv2d");
    recipe.mutable_host_rooms(0)->set_bytes_expr(expr);
    const absl::Status refused =
        CheckHostRooms(graph, *partition, Host(1 << 20), recipe);
    EXPECT_EQ(refused.code(), absl::StatusCode::kOutOfRange) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("host_rooms \"conv2d\": bytes_expr"));
  }
}

}  // namespace
}  // namespace edgekiln::compiler
