#include "compiler/codegen/backends.h"

#include "compiler/codegen/machine_backends.h"
#include "gtest/gtest.h"
#include "target/engine_model.h"

namespace edgekiln::compiler {
namespace {

// An engine of each model that descriptors may name.
v1::Machine AllModels() {
  v1::Machine machine;
  const auto* models = v1::EngineDescriptor::Model_descriptor();
  for (int i = 0; i < models->value_count(); ++i) {
    const auto model =
        static_cast<v1::EngineDescriptor::Model>(models->value(i)->number());
    if (!target::FindEngineModel(model).ok()) continue;
    machine.add_engines()->set_model(model);
  }
  return machine;
}

TEST(BackendsTest, EveryEngineModelThatDescriptorsMayNameHasOne) {
  const v1::Machine machine = AllModels();
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

TEST(MachineBackendsTest, KeepOneForEachModelThatHasSomethingToKeep) {
  v1::Machine machine = AllModels();
  const int32_t models = machine.engines_size();
  machine.MergeFrom(AllModels());
  MachineBackends backends(machine);
  int kept = 0;
  for (int32_t engine = 0; engine < machine.engines_size(); ++engine) {
    const auto common = FindBackend(machine, engine);
    const auto found = backends.Find(engine);
    ASSERT_TRUE(common.ok() && found.ok()) << found.status();
    const bool keeps = (*common)->OnMachine(machine) != nullptr;
    EXPECT_EQ(*found != *common, keeps) << engine;
    EXPECT_EQ(*found, *backends.Find(engine % models)) << engine;
    kept += keeps ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_EQ(backends.Find(-1).status().message(),
            "the machine has no engine -1");
}

}  // namespace
}  // namespace edgekiln::compiler
