#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

TEST(OpKindTest, IsTheNameOfTheField) {
  EXPECT_EQ(OpKind({}), "");
  const google::protobuf::OneofDescriptor& ops =
      *v1::OpAttributes::descriptor()->FindOneofByName("op");
  for (int i = 0; i < ops.field_count(); ++i) {
    v1::OpAttributes op;
    op.GetReflection()->MutableMessage(&op, ops.field(i));
    EXPECT_EQ(OpKind(op), ops.field(i)->name());
  }
}

}  // namespace
}  // namespace edgekiln::ops
