#include "compiler/codegen/bundle.h"

#include <string>

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

// Firmware writes what it says, in this order.
TEST(BundleTest, StepsOfTheHostAreText) {
  v1::Machine machine;
  for (const char* name : {"flash", "ram", "tile_mem"}) {
    machine.add_memories()->set_name(name);
  }
  machine.mutable_memories(0)->set_host_reaches(true);
  machine.mutable_memories(0)->add_holds(v1::MemoryDescriptor::CONSTANTS);
  machine.mutable_memories(1)->set_host_reaches(true);
  machine.mutable_memories(1)->add_holds(v1::MemoryDescriptor::ACTIVATIONS);
  machine.add_links()->set_name("mover");
  v1::Machine::Engine& engine = *machine.add_engines();
  engine.set_name("array");
  engine.set_model(v1::EngineDescriptor::REGISTER_JOB);
  v1::RegisterJobs::Register& reg = *engine.mutable_jobs()->add_registers();
  reg.set_name("KERNEL");
  reg.set_offset(4);
  engine.mutable_jobs()->set_start_offset(128);

  v1::Program program;
  program.add_layouts()->set_size_bytes(16);
  v1::Program::Move& move = *program.add_steps()->mutable_move();
  move.mutable_from()->set_address(64);
  move.mutable_to()->set_memory(2);
  v1::Program::RegisterWrites& writes =
      *program.add_steps()->mutable_register_writes();
  writes.add_writes()->set_offset(4);
  writes.mutable_writes(0)->set_value(42);
  writes.add_writes()->set_offset(128);
  writes.mutable_writes(1)->set_value(1);
  v1::Program::Poll& poll = *program.add_steps()->mutable_poll();
  poll.set_offset(132);
  poll.set_mask(1);
  poll.set_value(1);
  program.add_steps()
      ->mutable_host_op()
      ->mutable_attributes()
      ->mutable_softmax();

  const auto steps = [&]() -> std::string {
    const auto files =
        BundleFiles(program, v1::Graph(), "", machine, BundleOrigin());
    if (!files.ok()) return std::string(files.status().message());
    for (const BundleFile& file : *files) {
      if (file.path == "steps.txt") return file.bytes;
    }
    return "none";
  };
  EXPECT_EQ(steps(),
            "0    move  flash 0x00000040 to tile_mem 0x00000000, layouts 0 to "
            "0, mover\n"
            "1    write array\n"
            "       KERNEL 0x0000002a\n"
            "       start 0x00000001\n"
            "2    poll  array 0x84 until & 0x00000001 is 0x00000001\n"
            "3    host  softmax\n");
  writes.set_engine(1);
  EXPECT_EQ(steps(), "step 1: the machine has no engine 1");
  program.clear_steps();
  EXPECT_EQ(steps(), "none");
}

}  // namespace
}  // namespace edgekiln::compiler
