// Sessions of firmware: two layers with code and one without, in C, compiled
// for RV32.

#include "simfarm/session/firmware_session.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "simfarm/session/testing/test_firmware.h"
#include "tests/support/skip.h"

namespace edgekiln::simfarm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `twice` doubles the input, in 2 * in[0] instructions and some; `sum` adds the
// state, in place. in[3] says what goes wrong.
constexpr char kNetwork[] = R"(
#include <stdint.h>
#define EXIT (*(volatile uint32_t *)0x100000)
__attribute__((section(".arena"))) struct {
  int8_t in[4], state[4], a[4], next[4];
  volatile int8_t hole[4];
} mem;
volatile int factor = 2;
volatile int invocations;

__attribute__((noinline)) int deep(int n) {
  volatile int kept[16];
  kept[0] = n;
  return n == 0 ? 0 : deep(n - 1) + kept[0];
}

__attribute__((noinline)) void net_sum(void) {
  for (int i = 0; i < 4; ++i) mem.a[i] += mem.state[i];
  for (int i = 0; i < 4; ++i) mem.next[i] = mem.a[i];
}

__attribute__((noinline)) void net_twice(void) {
  int n = mem.in[0];
  __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(n));
  for (int i = 0; i < 4; ++i) mem.a[i] = factor * mem.in[i];
  switch (mem.in[3]) {
    case 100: for (;;) __asm__ volatile("");
    case 101: ((void (*)(void))0x40000000)(); break;
    case 102: __asm__ volatile("sw zero, 2(%0)\n" :: "r"(&mem) : "memory"); break;
    case 103: *(volatile int32_t *)(0x20000000) = 1; break;
    case 104: deep(1000); break;
    case 105: mem.a[0] = mem.hole[1]; break;
    case 106: net_sum(); break;
    case 111: EXIT = 0x5555; break;
    case 112: EXIT = 0x1234; break;
    case 113: mem.a[0] = invocations; break;
  }
}

void net_setup(void) { invocations = 0; }

int net_invoke(void) {
  ++invocations;
  net_twice();
  if (mem.in[3] == 107) return 3;
  if (mem.in[3] != 108) net_sum();
  if (mem.in[3] == 109) net_sum();
  return mem.in[3] == 110 ? 9 : 0;
}
)";

constexpr char kProgram[] = R"(
version: 3
inputs { type { name: "x" element_type: INT8 shape: 4 }
         location { memory: 1 address: 0x80001000 } }
inputs { type { name: "s" element_type: INT8 shape: 4
                quantization { scale: 1 zero_point: 3 } }
         location { memory: 1 address: 0x80001004 } }
outputs { type { name: "y" element_type: INT8 shape: 4 }
          location { memory: 1 address: 0x80001008 } }
outputs { type { name: "n" element_type: INT8 shape: 4
                 quantization { scale: 1 zero_point: 3 } }
          location { memory: 1 address: 0x8000100c } }
carries { output: 1 input: 1 }
layers { id: "twice" } layers { id: "alias" } layers { id: "sum" }
taps { stream: -1 step: 0 tensor: 0 box { begin: 0 end: 4 }
       location { memory: 1 address: 0x80001008 } }
taps { stream: -1 step: 1 tensor: 1 box { begin: 0 end: 4 }
       location { memory: 1 address: 0x80001008 } }
taps { stream: -1 step: 2 tensor: 2 box { begin: 0 end: 4 }
       location { memory: 1 address: 0x80001008 } }
layouts { extents: 4 element_bits: 8 size_bytes: 4
          terms { axis: 0 stride_bytes: 1 } }
firmware { processor: RV32IM run: "ek_run" stack_bytes: 1024
           functions: "net_twice" functions: "" functions: "net_sum" }
)";

// A tap as "tensor: values".
std::string Line(int tensor, const std::vector<int>& values) {
  std::string line = absl::StrCat(tensor, ":");
  for (const int value : values) absl::StrAppend(&line, " ", value);
  return line;
}

std::string Bytes(const std::vector<int>& values) {
  return {values.begin(), values.end()};
}

class FirmwareSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!firmware::HasCompiler()) EK_SKIP(firmware::kNoCompiler);
    static const auto* const elf =
        new absl::StatusOr<std::string>(firmware::Build(kNetwork));
    ASSERT_TRUE(elf->ok()) << elf->status();
    elf_ = **elf;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(kProgram, &program_));
    machine_ = firmware::Machine();
    options_.tensor_element_bytes = {1, 1, 1};
    options_.max_instructions = 100'000;
  }

  absl::StatusOr<std::unique_ptr<Session>> Load() const {
    return LoadSession(program_, elf_, machine_, options_);
  }

  // Of a program that loads.
  std::unique_ptr<Session> MustLoad() const {
    absl::StatusOr<std::unique_ptr<Session>> session = Load();
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  // Runs on `input`, and the state of the session.
  absl::StatusOr<v1::SimReport> RunChecked(Session& session,
                                           const std::vector<int>& input) {
    taps_.clear();
    const std::string bytes = Bytes(input);
    return session.RunChecked({bytes, ""}, Visitor(), &outputs_);
  }
  absl::Status Run(Session& session, const std::vector<int>& input) {
    taps_.clear();
    const std::string bytes = Bytes(input);
    return session.Run({bytes, ""}, Visitor(), &outputs_);
  }

  TapVisitor Visitor() {
    return [this](const v1::Program::Tap& tap, absl::string_view values) {
      taps_.push_back(Line(tap.tensor(), {values.begin(), values.end()}));
      return absl::OkStatus();
    };
  }

  std::string elf_;
  v1::Program program_;
  v1::Machine machine_;
  SessionOptions options_;
  std::vector<std::string> taps_;
  std::vector<std::string> outputs_;
};

int64_t SumOfLayers(const v1::SimReport& report) {
  int64_t sum = 0;
  for (const auto& layer : report.layers()) sum += layer.cycles();
  return sum;
}

TEST_F(FirmwareSessionTest, GivesValuesTapsAndCycles) {
  const auto session = MustLoad();
  const auto report = RunChecked(*session, {1, 2, 3, 4});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(outputs_,
              ElementsAre(Bytes({5, 7, 9, 11}), Bytes({5, 7, 9, 11})));
  // `sum` overwrites what the layer without code gives.
  const auto taps = ElementsAre(Line(0, {2, 4, 6, 8}), Line(1, {2, 4, 6, 8}),
                                Line(2, {5, 7, 9, 11}));
  EXPECT_THAT(taps_, taps);
  EXPECT_GT(report->setup_instructions(), 10);
  EXPECT_GT(report->instructions(), 50);
  EXPECT_EQ(report->cycles(), report->instructions());
  ASSERT_EQ(report->layers_size(), 3);
  EXPECT_EQ(SumOfLayers(*report), report->cycles());
  EXPECT_GT(report->layers(0).cycles(), 30);
  EXPECT_EQ(report->layers(1).cycles(), 0);
  EXPECT_GT(report->layers(2).cycles(), 30);
  EXPECT_EQ(report->layers(2).layer(), 2);
  EXPECT_EQ(report->layers(2).compute_cycles(), report->layers(2).cycles());
  EXPECT_EQ(report->layers(2).fidelity(), v1::EXACT);
  ASSERT_EQ(report->engines_size(), 1);
  EXPECT_EQ(report->engines(0).name(), "core");
  EXPECT_EQ(report->engines(0).busy_cycles(), report->cycles());
  EXPECT_EQ(session->report().SerializeAsString(), report->SerializeAsString());
  const RunCount count = session->last_run();
  EXPECT_EQ(count.cycles, report->cycles());
  EXPECT_EQ(count.instructions, report->instructions());

  // Fast runs give the same, also the second one, which needs no setup.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session->SetStates({}).ok());
    ASSERT_TRUE(Run(*session, {1, 2, 3, 4}).ok());
    EXPECT_EQ(outputs_[0], Bytes({5, 7, 9, 11}));
    EXPECT_THAT(taps_, taps);
    EXPECT_EQ(session->last_run(), count);
  }
  // The core is of another processor with all that RV32IM has.
  for (const v1::Processor processor : {v1::RV32IMC, v1::RV32IMF}) {
    program_.mutable_firmware()->set_processor(processor);
    machine_.mutable_firmware()->set_processor(processor);
    const auto other = RunChecked(*MustLoad(), {1, 2, 3, 4});
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(other->SerializeAsString(), report->SerializeAsString());
  }
}

// 20 more rounds of two instructions in `twice`.
TEST_F(FirmwareSessionTest, CyclesBelongToTheirLayer) {
  const auto more = [&] {
    const auto session = MustLoad();
    const auto one = RunChecked(*session, {1, 0, 0, 0});
    const auto many = RunChecked(*session, {21, 0, 0, 0});
    EXPECT_TRUE(one.ok()) << one.status();
    EXPECT_TRUE(many.ok()) << many.status();
    EXPECT_EQ(SumOfLayers(*one), one->cycles());
    EXPECT_EQ(many->instructions() - one->instructions(), 40);
    for (const int layer : {1, 2}) {
      EXPECT_EQ(many->layers(layer).cycles(), one->layers(layer).cycles());
    }
    EXPECT_EQ(many->layers(0).cycles() - one->layers(0).cycles(),
              many->cycles() - one->cycles());
    EXPECT_EQ(session->report().cycles(), many->cycles());
    // Counting without checks counts the same.
    EXPECT_TRUE(Run(*session, {1, 0, 0, 0}).ok());
    EXPECT_EQ(session->last_run().cycles, one->cycles());
    return many->cycles() - one->cycles();
  };
  EXPECT_EQ(more(), 40);
  v1::Setting* cost = machine_.mutable_firmware()->add_costs();
  cost->set_name("alu");
  cost->set_value(2);
  cost = machine_.mutable_firmware()->add_costs();
  cost->set_name("branch_taken");
  cost->set_value(5);
  EXPECT_EQ(more(), 20 * (2 + 5));
  machine_.mutable_memories(0)->set_wait_cycles(3);
  EXPECT_EQ(more(), 20 * (2 + 5 + 2 * 3));
  machine_.mutable_firmware()->clear_costs();
  EXPECT_EQ(more(), 20 * 2 * (1 + 3));
  const auto report = RunChecked(*MustLoad(), {1, 2, 3, 4});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->layers(0).fidelity(), v1::CYCLE_APPROXIMATE);
}

// However borders of layers are rounded.
TEST_F(FirmwareSessionTest, CyclesAreOfTheWallClock) {
  const auto core = MustLoad();
  machine_.set_host_clock_hz(1000);
  const auto session = MustLoad();
  for (int rounds = 1; rounds <= 5; ++rounds) {
    const auto before = RunChecked(*core, {rounds, 2, 3, 4});
    ASSERT_TRUE(before.ok()) << before.status();
    const auto report = RunChecked(*session, {rounds, 2, 3, 4});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->cycles(), (before->cycles() + 9) / 10);
    EXPECT_EQ(SumOfLayers(*report), report->cycles());
    EXPECT_EQ(session->last_run().cycles, report->cycles());
    EXPECT_EQ(report->engines(0).busy_cycles(), before->cycles());
    EXPECT_EQ(report->engines(0).clock_hz(), 1000);
  }
}

TEST_F(FirmwareSessionTest, TheTimelineHasASegmentPerLayer) {
  options_.segments = true;
  const auto session = MustLoad();
  EXPECT_THAT(std::string(session->MakeTimeline().status().message()),
              HasSubstr("it has not run"));
  const auto report = RunChecked(*session, {1, 2, 3, 4});
  ASSERT_TRUE(report.ok()) << report.status();
  const auto timeline = session->MakeTimeline();
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->cycles(), report->cycles());
  EXPECT_THAT(timeline->layers(), ElementsAre("twice", "alias", "sum"));
  ASSERT_EQ(timeline->engines_size(), 1);
  EXPECT_EQ(timeline->engines(0).name(), "core");
  for (const auto* segments :
       {&timeline->engines(0).segments(), &report->engines(0).segments()}) {
    ASSERT_EQ(segments->size(), 2);  // None for what takes no cycle.
    const v1::TimelineSegment& twice = segments->Get(0);
    const v1::TimelineSegment& sum = segments->Get(1);
    EXPECT_EQ(twice.begin(), 0);
    EXPECT_EQ(twice.layer(), 0);
    EXPECT_EQ(twice.kind(), v1::TimelineSegment::HOST_OP);
    EXPECT_EQ(sum.begin(), report->layers(0).cycles());
    EXPECT_EQ(sum.layer(), 2);
    EXPECT_EQ(sum.end(), report->cycles());
  }
}

TEST_F(FirmwareSessionTest, CarriesWhatTheLastRunLeft) {
  const auto session = MustLoad();
  EXPECT_THAT(session->states(), ElementsAre(Bytes({3, 3, 3, 3})));
  ASSERT_TRUE(RunChecked(*session, {1, 2, 3, 4}).ok());
  EXPECT_THAT(session->states(), ElementsAre(Bytes({5, 7, 9, 11})));
  ASSERT_TRUE(Run(*session, {1, 1, 1, 1}).ok());
  EXPECT_EQ(outputs_[0], Bytes({7, 9, 11, 13}));
  ASSERT_TRUE(RunChecked(*session, {1, 1, 1, 1}).ok());
  EXPECT_EQ(outputs_[0], Bytes({9, 11, 13, 15}));
  // A clone starts anew, and neither sees the other.
  const auto clone = session->Clone();
  EXPECT_THAT(clone->states(), ElementsAre(Bytes({3, 3, 3, 3})));
  EXPECT_EQ(clone->report().cycles(), session->report().cycles());
  EXPECT_EQ(clone->last_run(), RunCount());
  ASSERT_TRUE(Run(*clone, {0, 0, 0, 0}).ok());
  EXPECT_EQ(outputs_[0], Bytes({3, 3, 3, 3}));
  ASSERT_TRUE(Run(*session, {0, 0, 0, 0}).ok());
  EXPECT_EQ(outputs_[0], Bytes({9, 11, 13, 15}));
  // States that the caller gives or sets.
  const std::string zero = Bytes({0, 0, 0, 0});
  const std::string given = Bytes({1, 2, 3, 4});
  ASSERT_TRUE(session->Run({zero, given}, nullptr, &outputs_).ok());
  EXPECT_EQ(outputs_[0], given);
  ASSERT_TRUE(session->SetStates({Bytes({9, 9, 9, 9})}).ok());
  ASSERT_TRUE(Run(*session, {0, 0, 0, 0}).ok());
  EXPECT_EQ(outputs_[0], Bytes({9, 9, 9, 9}));
  EXPECT_FALSE(session->SetStates({"1"}).ok());
  EXPECT_FALSE(session->Run({zero}, nullptr, &outputs_).ok());
  EXPECT_FALSE(session->Run({"123", ""}, nullptr, &outputs_).ok());
  EXPECT_THAT(session->states(), ElementsAre(Bytes({9, 9, 9, 9})));
}

TEST_F(FirmwareSessionTest, ShowsWhatALoaderHasToBringAbout) {
  std::vector<std::string> lines;
  const std::string input = Bytes({1, 2, 3, 4});
  std::string image;
  ASSERT_TRUE(
      MustLoad()
          ->VisitStart(
              {input, ""},
              [&](int32_t memory, uint64_t address, absl::string_view bytes) {
                if (memory == 0) {
                  EXPECT_EQ(address, firmware::kFlash + image.size());
                  absl::StrAppend(&image, bytes);
                  return;
                }
                lines.push_back(absl::StrCat(memory, " ", address, " ",
                                             std::string(bytes)));
              })
          .ok());
  EXPECT_GT(image.size(), 300u);
  EXPECT_EQ(elf_.find(image.substr(0, 300)) != std::string::npos, true);
  EXPECT_THAT(lines,
              ElementsAre(absl::StrCat("1 ", firmware::kArena, " ", input),
                          absl::StrCat("1 ", firmware::kArena + 4, " ",
                                       Bytes({3, 3, 3, 3}))));
}

struct FaultCase {
  int selector;
  absl::StatusCode code;
  std::vector<std::string> messages;
};

TEST_F(FirmwareSessionTest, FaultsNameLayerFunctionAndAddress) {
  constexpr auto kFault = absl::StatusCode::kFailedPrecondition;
  const FaultCase kCases[] = {
      {100,
       kFault,
       {"layer twice: the firmware does not end; where: function net_twice, pc "
        "0x2000",
        "limit: 100000 instructions"}},
      {101, kFault, {"layer twice: executes 0x40000000, which holds no code"}},
      {102,
       kFault,
       {"layer twice: misaligned store to ram 0x80001002; where: function "
        "net_twice"}},
      {103,
       kFault,
       {"layer twice: store to flash 0x20000000 is not possible; where: "
        "function net_twice"}},
      {104,
       kFault,
       {"layer twice: stack overflow at ram 0x80003b", "function deep",
        "limit: 1024 bytes of stack"}},
      {106,
       kFault,
       {"function net_sum of layer sum is called inside of function net_twice "
        "of layer twice"}},
      {107,
       absl::StatusCode::kInvalidArgument,
       {"an index is out of range; where: layer sum"}},
      {108, kFault, {"function net_sum of layer sum was not called"}},
      {109, kFault, {"function net_sum of layer sum is called a second time"}},
      {110, kFault, {"the run ended with code 9; limit: 3 layers"}},
      {111,
       kFault,
       {"the run ended inside of function net_twice of layer twice"}},
      {112,
       kFault,
       {"layer twice: device access at exit device 0x00100000", "0x1234"}},
  };
  const auto session = MustLoad();
  for (const FaultCase& each : kCases) {
    for (const bool checked : {true, false}) {
      const absl::Status status =
          checked ? RunChecked(*session, {0, 0, 0, each.selector}).status()
                  : Run(*session, {0, 0, 0, each.selector});
      EXPECT_EQ(status.code(), each.code) << each.selector;
      for (const std::string& message : each.messages) {
        EXPECT_THAT(std::string(status.message()), HasSubstr(message))
            << checked;
      }
      // It changed no state, and the next run is as good as any.
      ASSERT_TRUE(Run(*session, {0, 0, 0, 0}).ok());
      EXPECT_EQ(outputs_[0], Bytes({3, 3, 3, 3}));
      ASSERT_TRUE(session->SetStates({}).ok());
    }
  }
}

// The firmware counts its inferences.
TEST_F(FirmwareSessionTest, SetupRunsFirstAndAfterErrors) {
  const auto session = MustLoad();
  const auto invocations = [&](bool checked) {
    EXPECT_TRUE(session->SetStates({Bytes({0, 0, 0, 0})}).ok());
    const std::vector<int> input = {0, 0, 0, 113};
    EXPECT_TRUE(checked ? RunChecked(*session, input).ok()
                        : Run(*session, input).ok());
    return outputs_[0][0];
  };
  EXPECT_EQ(invocations(false), 1);
  EXPECT_EQ(invocations(false), 2);
  EXPECT_EQ(invocations(true), 1);
  EXPECT_EQ(invocations(true), 1);
  EXPECT_EQ(invocations(false), 3);
  EXPECT_FALSE(Run(*session, {0, 0, 0, 103}).ok());
  EXPECT_EQ(invocations(false), 1);
  EXPECT_FALSE(session->Run({"1", ""}, nullptr, &outputs_).ok());
  EXPECT_EQ(invocations(false), 2);  // It had not begun.
}

TEST_F(FirmwareSessionTest, CheckedRunsFindWhatNothingWrote) {
  const auto session = MustLoad();
  EXPECT_THAT(
      std::string(RunChecked(*session, {0, 0, 0, 105}).status().message()),
      HasSubstr("layer twice: reads ram 0x80001011, which nothing wrote; "
                "where: function net_twice"));
  EXPECT_TRUE(Run(*session, {0, 0, 0, 105}).ok());
  // Taps and outputs as well.
  const v1::Program good = program_;
  program_.mutable_taps(2)->mutable_location()->set_address(0x8000100e);
  EXPECT_THAT(
      std::string(RunChecked(*MustLoad(), {0, 0, 0, 0}).status().message()),
      HasSubstr("layer sum: tap shows a byte that nothing wrote; where: "
                "address 0x80001010"));
  EXPECT_TRUE(Run(*MustLoad(), {0, 0, 0, 0}).ok());
  program_ = good;
  program_.mutable_outputs(0)->mutable_location()->set_address(0x8000100d);
  EXPECT_THAT(
      std::string(RunChecked(*MustLoad(), {0, 0, 0, 0}).status().message()),
      HasSubstr("output 0 shows a byte that nothing wrote"));
}

TEST_F(FirmwareSessionTest, AnErrorOfTheVisitorEndsTheRun) {
  const auto session = MustLoad();
  const std::string input = Bytes({1, 2, 3, 4});
  const TapVisitor refuse = [](const v1::Program::Tap& tap, absl::string_view) {
    return tap.tensor() == 1 ? absl::DataLossError("differs")
                             : absl::OkStatus();
  };
  EXPECT_EQ(session->Run({input, ""}, refuse, &outputs_),
            absl::DataLossError("differs"));
  ASSERT_TRUE(Run(*session, {1, 2, 3, 4}).ok());
  EXPECT_EQ(outputs_[0], Bytes({5, 7, 9, 11}));
}

// A compiler makes one function of equal ones.
TEST_F(FirmwareSessionTest, LayersMayShareAFunction) {
  program_.mutable_firmware()->set_functions(1, "net_sum");
  const auto session = MustLoad();
  const auto report = RunChecked(*session, {1, 2, 3, 109});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(outputs_[0], Bytes({8, 10, 12, 109 * 2 + 6 - 256}));
  EXPECT_GT(report->layers(1).cycles(), 20);
  EXPECT_EQ(SumOfLayers(*report), report->cycles());
}

TEST_F(FirmwareSessionTest, SetupMayNotEnd) {
  std::string network = kNetwork;
  const std::string setup = "{ invocations = 0; }";
  network.replace(network.find(setup), setup.size(),
                  "{ for (;;) invocations = 0; }");
  const auto elf = firmware::Build(network);
  ASSERT_TRUE(elf.ok()) << elf.status();
  elf_ = *elf;
  EXPECT_THAT(
      std::string(RunChecked(*MustLoad(), {0, 0, 0, 0}).status().message()),
      HasSubstr("setup: the firmware does not end; where: function net_setup"));
}

struct HostileCase {
  const char* message;
  std::function<void(v1::Program*, v1::Machine*)> edit;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

void AddCost(v1::Machine* machine, const std::string& name, int64_t cycles) {
  v1::Setting* cost = machine->mutable_firmware()->add_costs();
  cost->set_name(name);
  cost->set_value(cycles);
}

TEST_F(FirmwareSessionTest, RefusesWhatCannotRun) {
  const HostileCase kCases[] = {
      {"program version 2", [](auto* p, auto*) { p->set_version(2); }},
      {"only rv32 is simulated; where: processor cortex-m4",
       [](auto* p, auto* m) {
         p->mutable_firmware()->set_processor(v1::CORTEX_M4);
         m->mutable_firmware()->set_processor(v1::CORTEX_M4);
       },
       absl::StatusCode::kUnimplemented},
      {"processor 99 is unknown",
       [](auto* p, auto*) {
         p->mutable_firmware()->set_processor(static_cast<v1::Processor>(99));
       }},
      {"processor 0 is unknown",
       [](auto* p, auto*) { p->mutable_firmware()->clear_processor(); }},
      {"for another processor than the machine's",
       [](auto* p, auto*) {
         p->mutable_firmware()->set_processor(v1::RV32IMC);
       }},
      {"for another processor than the machine's",
       [](auto*, auto* m) { m->clear_firmware(); }},
      {"firmware beside steps",
       [](auto* p, auto*) { p->add_steps()->mutable_wait(); }},
      {"firmware beside steps",
       [](auto* p, auto*) { p->add_segments()->set_size_bytes(1); }},
      {"3 functions for 4 layers", [](auto* p, auto*) { p->add_layers(); }},
      {"no function \"net_none\"",
       [](auto* p, auto*) {
         p->mutable_firmware()->set_functions(0, "net_none");
       }},
      {"no function \"\"",
       [](auto* p, auto*) { p->mutable_firmware()->clear_run(); }},
      {"belongs to another ELF file",
       [](auto* p, auto*) {
         const Digest digest = DigestOf("another");
         p->mutable_firmware()->mutable_elf()->set_hash(digest.hash);
         p->mutable_firmware()->mutable_elf()->set_size_bytes(7);
       }},
      {"a stack of 0 bytes",
       [](auto* p, auto*) { p->mutable_firmware()->set_stack_bytes(0); }},
      {"a stack of 16385 bytes; where: firmware, memory ram; limit: 1 to 16384",
       [](auto* p, auto*) { p->mutable_firmware()->set_stack_bytes(16385); }},
      {"a stack of -9223372036854775808 bytes",
       [](auto* p, auto*) {
         p->mutable_firmware()->set_stack_bytes(INT64_MIN);
       }},
      {"flash cannot be written",
       [](auto* p, auto*) {
         p->mutable_inputs(0)->mutable_location()->set_memory(0);
         p->mutable_inputs(0)->mutable_location()->set_address(0x20000000);
       }},
      {"outside its memory",
       [](auto* p, auto*) {
         p->mutable_outputs(0)->mutable_location()->set_address(0x80003ffd);
       }},
      {"for a tensor of 5",
       [](auto* p, auto*) {
         p->mutable_inputs(0)->mutable_type()->set_shape(0, 5);
       }},
      {"outside its memory",
       [](auto* p, auto*) {
         p->mutable_taps(0)->mutable_location()->set_address(~uint64_t{0});
       }},
      {"no step 3", [](auto* p, auto*) { p->mutable_taps(0)->set_step(3); }},
      {"no stream 0",
       [](auto* p, auto*) { p->mutable_taps(0)->set_stream(0); }},
      {"no tensor 3",
       [](auto* p, auto*) { p->mutable_taps(0)->set_tensor(3); }},
      {"no layout 1",
       [](auto* p, auto*) { p->mutable_taps(0)->set_layout(1); }},
      {"cannot reach",
       [](auto* p, auto* m) {
         auto* memory = m->add_memories();
         *memory = m->memories(1);
         memory->set_name("pad");
         memory->set_host_reaches(false);
         p->mutable_taps(0)->mutable_location()->set_memory(2);
       }},
      {"no output 9",
       [](auto* p, auto*) { p->mutable_carries(0)->set_output(9); }},
      {"no instruction class \"lod\"",
       [](auto*, auto* m) { AddCost(m, "lod", 2); }},
      {"the class occurs twice",
       [](auto*, auto* m) {
         AddCost(m, "load", 2);
         AddCost(m, "load", 3);
       }},
      {"value 4294967297 is out of range",
       [](auto*, auto* m) { AddCost(m, "load", (int64_t{1} << 32) + 1); }},
      {"value 0 is out of range",
       [](auto*, auto* m) { AddCost(m, "load", 0); }},
      {"-1 wait cycles",
       [](auto*, auto* m) { m->mutable_memories(0)->set_wait_cycles(-1); }},
      {"exit device",
       [](auto*, auto* m) {
         m->mutable_memories(0)->set_base_address(0x100000);
       }},
      {"multiples of 16",
       [](auto*, auto* m) {
         m->mutable_memories(0)->set_capacity_bytes(4095);
       }},
      {"lie in no memory",
       [](auto*, auto* m) { m->mutable_memories(0)->set_capacity_bytes(128); }},
      {"too much simulated memory",
       [](auto*, auto* m) {
         m->mutable_memories(0)->set_capacity_bytes(0x100000);
       },
       absl::StatusCode::kResourceExhausted},
  };
  const v1::Program program = program_;
  const v1::Machine machine = machine_;
  options_.max_memory_bytes = 0x20000;
  ASSERT_TRUE(Load().ok()) << Load().status();
  for (const HostileCase& each : kCases) {
    program_ = program;
    machine_ = machine;
    each.edit(&program_, &machine_);
    const absl::Status status = Load().status();
    EXPECT_EQ(status.code(), each.code) << each.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(each.message));
  }
  program_ = program;
  machine_ = machine;
  // With its own digest it is taken; not for 64-bit cores, nor cut.
  const Digest digest = DigestOf(elf_);
  program_.mutable_firmware()->mutable_elf()->set_hash(digest.hash);
  program_.mutable_firmware()->mutable_elf()->set_size_bytes(digest.size_bytes);
  EXPECT_TRUE(Load().ok());
  program_.mutable_firmware()->clear_elf();
  elf_[4] = 2;
  EXPECT_THAT(std::string(Load().status().message()), HasSubstr("32-bit"));
  elf_ = "";
  EXPECT_THAT(std::string(Load().status().message()), HasSubstr("ELF header"));
}

TEST_F(FirmwareSessionTest, CyclesAreNotCountedWithoutARun) {
  const absl::Status status =
      CountCycles(program_, machine_, options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("depend on data"));
}

// Every byte of the ELF file may be another one.
TEST_F(FirmwareSessionTest, AnyElfFileIsRefusedOrRuns) {
  options_.max_instructions = 2'000;
  const std::string good = elf_;
  int refused = 0;
  for (size_t i = 0; i < 4 * 52; ++i) {
    elf_ = good;
    const size_t at = i < 52 + 32 * 3 ? i : i * 7919 % good.size();
    elf_[at] = static_cast<char>(elf_[at] ^ (i % 3 == 0 ? 0xff : 0x10));
    const auto session = Load();
    if (!session.ok()) {
      ++refused;
      continue;
    }
    (void)RunChecked(**session, {1, 2, 3, 4});
    (void)Run(**session, {1, 2, 3, 4});
  }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace edgekiln::simfarm
