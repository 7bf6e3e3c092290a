#include "compiler/codegen/host_orders.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

v1::Layout Reversed(std::vector<int64_t> extents, int32_t bytes) {
  v1::Layout layout = target::DenseLayout(extents, 1);
  layout.set_reversed_bytes(bytes);
  return layout;
}

// Two sums, a pool, and an op that computes along an axis.
constexpr char kNet[] = R"(
%x : int8[1,2,3,4] scale 1 zero 0 = input
%a : int8[1,2,3,4] scale 1 zero 0 = binary(%x, %x) {function MAXIMUM} id a
%b : int8[1,2,3,4] scale 1 zero 0 = add(%a, %a) {} id b
%c : int8[1,2,3,4] scale 1 zero 0 = add(%b, %a) {} id c
%p : int8[1,1,1,4] scale 1 zero 0 = average_pool2d(%c) {kernel_h 2 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id p
%s : int8[1,1,1,4] scale 0.0078125 zero 0 = softmax(%p) {beta 1} id s
return %s
)";

struct Net {
  Graph graph;
  v1::Partition partition;  // All on the host.

  explicit Net(const std::string& text) {
    auto parsed = ParseGraph(text);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    if (parsed.ok()) graph = *std::move(parsed);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      auto& placement = *partition.add_placements();
      placement.set_op(static_cast<int32_t>(i));
      placement.set_engine(-1);
    }
  }
  TensorId Find(const std::string& name) const {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].name == name) return static_cast<TensorId>(t);
    }
    ADD_FAILURE() << "no tensor " << name;
    return 0;
  }
  std::vector<HostOrder> Orders() const {
    auto views = Views::Create(graph, partition, {});
    EXPECT_TRUE(views.ok()) << views.status();
    return HostOrders(graph, partition, *views);
  }
  std::vector<bool> NoneDense() const {
    return std::vector<bool>(graph.tensors.size(), false);
  }
};

// What a pool reads and somebody else gets stays as it is.
TEST(HostOrdersTest, PoolsRestoreInWhatNothingElseReads) {
  const auto restores = [](const std::string& text) {
    for (const HostOrder& order : Net(text).Orders()) {
      if (order.kind == HostOrder::kChannels) return order.restores;
    }
    ADD_FAILURE() << "no pool";
    return false;
  };
  EXPECT_TRUE(restores(kNet));
  EXPECT_FALSE(
      restores(absl::StrReplaceAll(kNet, {{"return %s", "return %s, %c"}})));
  EXPECT_FALSE(restores(absl::StrReplaceAll(
      kNet, {{"return %s",
              "%d : int8[1,2,3,4] scale 1 zero 0 = add(%c, %a) {} id d\n"
              "return %s, %d"}})));
}

TEST(HostOrdersTest, AreOfElementsAndOfPools) {
  const Net net(kNet);
  const auto orders = net.Orders();
  ASSERT_EQ(orders.size(), 4);
  EXPECT_EQ(orders[2].kind, HostOrder::kElements);
  EXPECT_EQ(
      orders[2].places,
      (std::vector<TensorId>{net.Find("b"), net.Find("a"), net.Find("c")}));
  EXPECT_EQ(orders[3].kind, HostOrder::kChannels);
  EXPECT_EQ(orders[3].places,
            (std::vector<TensorId>{net.Find("c"), net.Find("p")}));
}

TEST(HostOrdersTest, LeaveOutWhatTheOrderMattersTo) {
  for (const char* op : {
           // Operands of two shapes, of more than a byte, of two element sizes.
           "%a : int8[1,2,2,2] scale 1 zero 0 = input\n"
           "%b : int8[2] scale 1 zero 0 = input\n"
           "%c : int8[1,2,2,2] scale 1 zero 0 = add(%a, %b) {} id c\n",
           "%a : int16[1,2,2,2] scale 1 zero 0 = input\n"
           "%b : int16[1,2,2,2] scale 1 zero 0 = input\n"
           "%c : int16[1,2,2,2] scale 1 zero 0 = add(%a, %b) {} id c\n",
           // A reshape: layouts are of the other shape.
           "%x : int8[1,2,2,2] scale 1 zero 0 = input\n"
           "%a : int8[1,4,2] scale 1 zero 0 = reshape(%x) {} id a\n"
           "%b : int8[1,4,2] scale 1 zero 0 = input\n"
           "%c : int8[1,4,2] scale 1 zero 0 = add(%a, %b) {} id c\n",
           // A constant for each channel.
           "%a : int8[1,2,2,2] scale 1 zero 0 = input\n"
           "%b : int8[2] scale 1 zero 0 = constant [1, 2]\n"
           "%c : int8[1,2,2,2] scale 1 zero 0 = add(%a, %b) {} id c\n",
       }) {
    const Net net(std::string(op) + "return %c\n");
    EXPECT_TRUE(net.Orders().empty()) << op;
  }
  const Net scalar(
      "%a : int8[1,2,2,2] scale 1 zero 0 = input\n"
      "%b : int8[1] scale 1 zero 0 = constant [1]\n"
      "%c : int8[1,2,2,2] scale 1 zero 0 = add(%a, %b) {} id c\n"
      "return %c\n");
  EXPECT_EQ(scalar.Orders().size(), 1);
}

TEST(SettleLayoutsTest, SpreadOverSumsAndPools) {
  const Net net(kNet);
  std::vector<bool> dense = net.NoneDense();
  dense[net.Find("x")] = true;
  HostLayouts layouts = {{net.Find("a"), Reversed({1, 2, 3, 4}, 4)}};
  auto orders = net.Orders();
  orders.erase(orders.begin());
  SettleLayouts(net.graph, orders, dense, layouts);
  ASSERT_EQ(layouts.size(), 3);
  EXPECT_EQ(layouts[net.Find("c")].SerializeAsString(),
            Reversed({1, 2, 3, 4}, 4).SerializeAsString());
  // What the pool makes is put in plain order, unless others have it otherwise.
  EXPECT_FALSE(layouts.contains(net.Find("p")));
  layouts = {{net.Find("a"), Reversed({1, 2, 3, 4}, 4)},
             {net.Find("p"), Reversed({1, 1, 1, 4}, 4)}};
  SettleLayouts(net.graph, orders, dense, layouts);
  EXPECT_EQ(layouts.size(), 4);
  EXPECT_EQ(layouts[net.Find("p")].SerializeAsString(),
            Reversed({1, 1, 1, 4}, 4).SerializeAsString());
}

// Not by way of a tensor that others read later, nor where it saves nothing.
TEST(SettleLayoutsTest, PoolsThatCannotRestoreNeedAll) {
  constexpr char kPool[] =
      "%x : int8[1,2,3,4] scale 1 zero 0 = input\n"
      "%a : int8[1,2,3,4] scale 1 zero 0 = binary(%x, %x) {function MAXIMUM} "
      "id a\n"
      "%p : int8[1,HEIGHT,3,4] scale 1 zero 0 = max_pool2d(%a) {kernel_h "
      "HEIGHT kernel_w 1 window {stride_h HEIGHT stride_w 1 dilation_h 1 "
      "dilation_w 1}} id p\n"
      "%s : int8[1,2,3,4] scale 1 zero 0 = add(%x, %READ) {} id s\n"
      "return %p, %s\n";
  const auto settled = [&](const char* height, const char* read) {
    const Net net(absl::StrReplaceAll(
        kPool, {{"int8[1,HEIGHT", height[0] == '2' ? "int8[1,1" : "int8[1,2"},
                {"HEIGHT", height},
                {"READ", read}}));
    auto orders = net.Orders();
    EXPECT_EQ(orders.size(), 3);
    // Leaves the pool.
    orders = {orders[1]};
    std::vector<bool> dense = net.NoneDense();
    dense[net.Find("p")] = true;
    HostLayouts layouts = {{net.Find("a"), Reversed({1, 2, 3, 4}, 4)}};
    SettleLayouts(net.graph, orders, dense, layouts);
    return layouts.size();
  };
  EXPECT_EQ(settled("2", "x"), 1);
  EXPECT_EQ(settled("2", "a"), 0);
  EXPECT_EQ(settled("1", "x"), 0);
}

// One dense tensor makes all others dense that an op joins with it, but for a
// pool's result.
TEST(SettleLayoutsTest, OneDenseTensorMakesTheOthersDense) {
  const Net net(kNet);
  for (const char* name : {"x", "b"}) {
    SCOPED_TRACE(name);
    std::vector<bool> dense = net.NoneDense();
    dense[net.Find(name)] = true;
    HostLayouts layouts = {{net.Find("a"), Reversed({1, 2, 3, 4}, 4)}};
    SettleLayouts(net.graph, net.Orders(), dense, layouts);
    EXPECT_TRUE(layouts.empty());
    EXPECT_TRUE(dense[net.Find("a")]);
    EXPECT_TRUE(dense[net.Find("c")]);
  }
}

TEST(SettleLayoutsTest, LayoutsThatDifferOrHaveGapsAreLeft) {
  const Net net(kNet);
  auto orders = net.Orders();
  orders.resize(3);
  v1::Layout gaps = target::StridedLayout({1, 2, 3, 4}, {48, 24, 8, 1}, 1);
  for (const v1::Layout& other : {Reversed({1, 2, 3, 4}, 8), gaps}) {
    std::vector<bool> dense = net.NoneDense();
    HostLayouts layouts = {{net.Find("a"), gaps}, {net.Find("c"), other}};
    SettleLayouts(net.graph, orders, dense, layouts);
    EXPECT_TRUE(layouts.empty());
  }
}

}  // namespace
}  // namespace edgekiln::compiler
