#include "compiler/codegen/backends.h"

#include "gtest/gtest.h"
#include "target/engine_model.h"

namespace edgekiln::compiler {
namespace {

TEST(BackendsTest, EveryEngineModelThatDescriptorsMayNameHasOne) {
  v1::Machine machine;
  const auto* models = v1::EngineDescriptor::Model_descriptor();
  for (int i = 0; i < models->value_count(); ++i) {
    const auto model =
        static_cast<v1::EngineDescriptor::Model>(models->value(i)->number());
    if (!target::FindEngineModel(model).ok()) continue;
    machine.add_engines()->set_model(model);
  }
  ASSERT_GT(machine.engines_size(), 0);
  for (int32_t engine = 0; engine < machine.engines_size(); ++engine) {
    EXPECT_TRUE(FindBackend(machine, engine).ok()) << engine;
  }
}

TEST(BackendsTest, RefusesWhatTheMachineLacks) {
  v1::Machine machine;
  machine.add_engines()->set_name("npu0");
  EXPECT_EQ(FindBackend(machine, -1).status().message(),
            "the machine has no engine -1");
  EXPECT_EQ(FindBackend(machine, 1).status().message(),
            "the machine has no engine 1");
  EXPECT_EQ(FindBackend(machine, 0).status().message(),
            "engine npu0: nothing compiles for its model");
}

}  // namespace
}  // namespace edgekiln::compiler
