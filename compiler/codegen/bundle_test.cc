#include "compiler/codegen/bundle.h"

#include "gtest/gtest.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

// Its map tells where a tensor begins, which is all only of a dense one.
TEST(BundleTest, InputsAndOutputsMustBeDense) {
  v1::Program program;
  *program.add_layouts() = target::DenseLayout({1, 4}, 1);
  *program.add_layouts() = target::StridedLayout({1, 4}, {0, 2}, 1);
  program.add_inputs()->mutable_type()->set_name("x");
  program.add_outputs()->mutable_type()->set_name("y");
  const auto error = [&] {
    return BundleFiles(program, v1::Graph(), "", v1::Machine(), BundleOrigin())
        .status();
  };
  // This machine has no memories to tell of.
  EXPECT_EQ(error().message().find("dense"), absl::string_view::npos);
  program.mutable_outputs(0)->set_layout(1);
  EXPECT_EQ(error().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(error().message(), "'y' is not dense, which no bundle can tell");
  program.mutable_inputs(0)->set_layout(2);
  EXPECT_EQ(error().message(), "'x' has no layout");
  program.mutable_inputs(0)->set_layout(-1);
  EXPECT_EQ(error().message(), "'x' has no layout");
}

}  // namespace
}  // namespace edgekiln::compiler
