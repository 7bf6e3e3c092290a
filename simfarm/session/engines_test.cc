// Sessions with several engines, two of which the host drives.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/report.h"
#include "simfarm/session/session.h"
#include "simfarm/session/testing/fake_engines.h"
#include "target/layout.h"

namespace edgekiln::simfarm {
namespace {

using fake::kRam;
using fake::kShared;
using testing::ElementsAre;
using testing::HasSubstr;
using Spent = StreamTiming::Spent;

void SetLocation(v1::Location* location, int32_t memory, uint64_t address) {
  location->set_memory(memory);
  location->set_address(address);
}

// Builds programs on the fake chip: x (4 bytes at the begin of ram) is moved to
// shared, worked on, and moved back to y, 16 behind.
class EnginesTest : public testing::Test {
 protected:
  EnginesTest() {
    program_.set_version(3);
    for (const char* name : {"load", "conv", "add", "store", "host"}) {
      program_.add_layers()->set_id(name);
    }
    *program_.add_layouts() = target::DenseLayout({4}, 1);
    *program_.add_layouts() = target::StridedLayout({2, 2}, {4, 1}, 1);
    *program_.add_layouts() = target::DenseLayout({2, 2}, 1);
    for (auto* binding : {program_.add_inputs(), program_.add_outputs()}) {
      binding->mutable_type()->set_element_type(v1::INT8);
      binding->mutable_type()->add_shape(4);
    }
    program_.mutable_inputs(0)->mutable_type()->set_name("x");
    program_.mutable_outputs(0)->mutable_type()->set_name("y");
    SetLocation(program_.mutable_inputs(0)->mutable_location(), 1, kRam);
    SetLocation(program_.mutable_outputs(0)->mutable_location(), 1, kRam + 16);
    options_.tensor_element_bytes = {1};
  }

  void Move(int32_t from_memory, uint64_t from, int32_t to_memory, uint64_t to,
            int32_t layer, int32_t link = 0) {
    v1::Program::Move& move = *program_.add_steps()->mutable_move();
    SetLocation(move.mutable_from(), from_memory, from);
    SetLocation(move.mutable_to(), to_memory, to);
    move.set_layer(layer);
    move.set_link(link);
  }
  void Load(uint64_t to) { Move(1, kRam, 2, to, 0); }
  void Store(uint64_t from) { Move(2, from, 1, kRam + 16, 3); }
  void Job(int32_t engine, uint64_t from, uint64_t to, uint32_t cycles,
           int32_t layer) {
    *program_.add_steps()->mutable_register_writes() =
        fake::Job(engine, from, to, 4, cycles, layer);
  }
  void Await(int32_t engine, int32_t layer) {
    *program_.add_steps()->mutable_poll() = fake::AwaitJob(engine, layer);
  }
  // x + 2: a adds, then b.
  void MakeChain() {
    Load(kShared);
    Job(0, kShared, kShared + 8, 20, 1);
    Await(0, 1);
    Job(1, kShared + 8, kShared + 16, 7, 2);
    Await(1, 2);
    Store(kShared + 16);
  }

  auto LoadIt(std::optional<absl::string_view> constants = "") const {
    return LoadProgram(program_, constants,
                       std::make_shared<const v1::Machine>(fake::Machine()),
                       options_, fake::NewSimulator);
  }
  // The error of loading, or of the checked run; the same without values.
  std::string Error() const {
    const auto loaded = LoadIt();
    const auto without = LoadIt(std::nullopt);
    const absl::Status counted =
        without.ok() ? CheckWithoutRun(*without) : without.status();
    if (!loaded.ok()) {
      EXPECT_EQ(loaded.status().message(), counted.message());
      return std::string(loaded.status().message());
    }
    std::vector<std::string> outputs;
    const auto report = NewSession(*loaded)->RunChecked({"\x01\x02\x03\x04"},
                                                        nullptr, &outputs);
    EXPECT_EQ(report.status().message(), counted.message());
    return std::string(report.status().message());
  }

  v1::Program program_;
  SessionOptions options_;
};

TEST_F(EnginesTest, MemoryOutlivesJobsAndIsShown) {
  MakeChain();
  v1::Program::Tap& tap = *program_.add_taps();
  tap.set_stream(-1);
  tap.set_step(2);
  SetLocation(tap.mutable_location(), 2, kShared + 8);
  *tap.mutable_box() = target::WholeBox({4});
  const auto loaded = LoadIt();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE((*loaded)->concurrent);
  const std::unique_ptr<Session> session = NewSession(*loaded);
  std::vector<std::string> taps;
  const TapVisitor visit = [&](const v1::Program::Tap&, absl::string_view v) {
    taps.emplace_back(v);
    return absl::OkStatus();
  };
  std::vector<std::string> outputs;
  const auto report =
      session->RunChecked({"\x01\x02\x03\x04"}, visit, &outputs);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(outputs, ElementsAre("\x03\x04\x05\x06"));
  EXPECT_THAT(taps, ElementsAre("\x02\x03\x04\x05"));
  for (const auto& each : {session->Clone(), session->Clone()}) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(each->Run({"\x11\x12\x13\x14"}, visit, &outputs).ok());
      EXPECT_THAT(outputs, ElementsAre("\x13\x14\x15\x16"));
    }
  }
  EXPECT_EQ(taps.size(), 5);
  // A tap shows what is there when it is looked at: not while the job runs.
  program_.mutable_taps(0)->set_step(1);
  EXPECT_THAT(Error(), HasSubstr("step 1: race: reads a byte while engine a, "
                                 "launched by step 1, may still write it; "
                                 "where: tap, shared 0x108"));
}

TEST_F(EnginesTest, CountsWhatTheHostDoes) {
  MakeChain();
  options_.segments = true;
  const auto loaded = LoadIt();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const v1::SimReport& report = (*loaded)->report;
  // Of 200 Hz, in cycles of the wall's 100: a move takes 10 + 1, 6 of the
  // wall's. 5 writes take 10, 5: the job of a runs in [11, 31). Reads take 1.5
  // each: the 14th ends at 11 + 21. The next writes end at 37, the job of b,
  // twice as slow, at 51; the 10th read ends at 52. The move ends at 58.
  EXPECT_EQ(report.cycles(), 58);
  EXPECT_EQ(report.layers(0).cycles(), 6);
  EXPECT_EQ(report.layers(1).cycles(), 5 + 21);
  EXPECT_EQ(report.layers(1).fidelity(), v1::ESTIMATE);
  EXPECT_EQ(report.layers(2).cycles(), 5 + 15);
  EXPECT_EQ(report.layers(3).cycles(), 6);
  EXPECT_EQ(report.layers(0).dma_bytes_read(), 4);
  EXPECT_EQ(report.layers(0).dma_bytes_written(), 0);
  EXPECT_EQ(report.layers(3).dma_bytes_written(), 4);
  ASSERT_EQ(report.engines_size(), 4);
  EXPECT_EQ(report.engines(0).busy_cycles(), 20);
  EXPECT_EQ(report.engines(1).busy_cycles(), 7);
  EXPECT_EQ(report.engines(3).busy_cycles(), 11 + 10 + 42 + 10 + 30 + 11);
  std::string segments;
  for (const auto& engine : report.engines()) {
    for (const v1::TimelineSegment& s : engine.segments()) {
      absl::StrAppend(&segments, engine.name(), " ", engine.units(s.unit()),
                      " ", s.begin(), " ", s.end(), " ", s.layer(), " ",
                      v1::TimelineSegment::Kind_Name(s.kind()), "\n");
    }
  }
  EXPECT_EQ(segments,
            "a compute 11 31 1 COMPUTE\n"
            "b compute 37 51 2 COMPUTE\n"
            "cpu cpu 0 6 0 HOST_MOVE\n"
            "cpu cpu 6 11 1 HOST_REGISTERS\n"
            "cpu cpu 11 32 1 HOST_POLL\n"
            "cpu cpu 32 37 2 HOST_REGISTERS\n"
            "cpu cpu 37 52 2 HOST_POLL\n"
            "cpu cpu 52 58 3 HOST_MOVE\n");
}

TEST_F(EnginesTest, LinksChangeLayouts) {
  // Two rows of 2 with a gap between them: set-up once, two bytes apart in ram.
  Move(1, kRam, 2, kShared, 0);
  program_.mutable_steps(0)->mutable_move()->set_from_layout(2);
  program_.mutable_steps(0)->mutable_move()->set_to_layout(1);
  Job(0, kShared, kShared + 8, 1, 1);
  Await(0, 1);
  EXPECT_THAT(Error(), HasSubstr("step 1: engine a, layer conv: register 0x10: "
                                 "reads a byte that nothing wrote, shared "
                                 "0x102"));
  program_.mutable_steps()->DeleteSubrange(1, 2);
  Store(kShared);
  program_.mutable_steps(1)->mutable_move()->set_from_layout(1);
  program_.mutable_steps(1)->mutable_move()->set_to_layout(2);
  EXPECT_EQ(Error(), "");
}

TEST_F(EnginesTest, EnginesWorkSideBySide) {
  Load(kShared);
  Load(kShared + 8);
  Job(0, kShared, kShared + 16, 50, 1);
  Job(1, kShared + 8, kShared + 24, 4, 2);
  Await(1, 2);
  Store(kShared + 24);
  Await(0, 1);
  EXPECT_EQ(Error(), "");
  const auto loaded = LoadIt();
  EXPECT_TRUE((*loaded)->concurrent);
  const v1::SimReport& report = (*loaded)->report;
  // a computes in [17, 67), b in [22, 30): all of that is a's. The host loads
  // until 12 and stores in a's time.
  EXPECT_EQ(report.layers(1).cycles(), report.cycles() - 12);
  EXPECT_EQ(report.layers(2).cycles(), 0);
  EXPECT_EQ(report.layers(3).cycles(), 0);
}

TEST_F(EnginesTest, FindsRaces) {
  struct Case {
    const char* message;
    std::function<void(EnginesTest*)> build;
  };
  const auto two = [this](uint64_t from, uint64_t to) {
    Load(kShared);
    Load(kShared + 8);
    Job(0, kShared, kShared + 16, 9, 1);
    Job(1, from, to, 9, 2);
    Await(0, 1);
    Await(1, 2);
    Store(kShared + 16);
  };
  // Reads what a writes.
  two(kShared + 18, kShared + 32);
  EXPECT_THAT(Error(), HasSubstr("step 3: engine b, layer add: register 0x10: "
                                 "race: reads a byte while engine a, launched "
                                 "by step 2, may still write it, shared "
                                 "0x112"));
  program_.clear_steps();
  two(kShared + 8, kShared + 19);
  EXPECT_THAT(Error(), HasSubstr("race: writes a byte while engine a, launched "
                                 "by step 2, may still use it, shared 0x113"));
  // Writes what a reads.
  program_.clear_steps();
  two(kShared + 8, kShared + 3);
  EXPECT_THAT(Error(), HasSubstr("race: writes a byte while engine a, launched "
                                 "by step 2, may still use it, shared 0x103"));
  program_.clear_steps();
  two(kShared + 8, kShared + 32);
  EXPECT_EQ(Error(), "");
  // The link against an engine, both ways.
  program_.clear_steps();
  Load(kShared);
  Job(0, kShared, kShared + 8, 9, 1);
  Store(kShared + 10);
  Await(0, 1);
  program_.mutable_steps(2)->mutable_move()->mutable_from()->set_address(
      kShared + 8);
  EXPECT_THAT(Error(), HasSubstr("step 2: race: reads a byte while engine a, "
                                 "launched by step 1, may still write it; "
                                 "where: move, shared 0x108"));
  program_.mutable_steps()->SwapElements(2, 3);
  EXPECT_EQ(Error(), "");
  program_.clear_steps();
  Load(kShared);
  Job(0, kShared, kShared + 8, 9, 1);
  Load(kShared + 3);
  Await(0, 1);
  Store(kShared + 8);
  EXPECT_THAT(Error(), HasSubstr("step 2: race: writes a byte while engine a, "
                                 "launched by step 1, may still use it; where: "
                                 "move, shared 0x103"));
  program_.mutable_steps()->SwapElements(2, 3);
  EXPECT_EQ(Error(), "");
}

TEST_F(EnginesTest, RefusesWhatCannotRun) {
  MakeChain();
  const v1::Program good = program_;
  const struct {
    const char* message;
    std::function<void(v1::Program*)> edit;
  } kCases[] = {
      // Nobody wrote what the second engine reads.
      {"step 3: engine b, layer add: register 0x10: reads a byte that nothing "
       "wrote, shared 0x120",
       [](auto* p) {
         *p->mutable_steps(3)->mutable_register_writes() =
             fake::Job(1, kShared + 32, kShared + 16, 4, 1, 2);
       }},
      {"step 0: a move writes what it reads; where: ram 0x80000002",
       [](auto* p) {
         SetLocation(p->mutable_steps(0)->mutable_move()->mutable_to(), 1,
                     kRam + 2);
       }},
      {"step 0: link mover: an address lies outside its memory; where: move to "
       "at 0x1fd, 4 bytes; limit: shared: 0x100, 256 bytes",
       [](auto* p) {
         SetLocation(p->mutable_steps(0)->mutable_move()->mutable_to(), 2,
                     0x1fd);
       }},
      {"step 0: link mover: the link does not reach memory flash; where: move "
       "to",
       [](auto* p) {
         SetLocation(p->mutable_steps(0)->mutable_move()->mutable_to(), 0, 0);
       }},
      {"step 0: link mover: the link does not reach memory pad; where: move "
       "from",
       [](auto* p) {
         SetLocation(p->mutable_steps(0)->mutable_move()->mutable_from(), 3, 0);
       }},
      {"step 0: the link is not the host's; where: link dma",
       [](auto* p) { p->mutable_steps(0)->mutable_move()->set_link(1); }},
      {"step 0: no link 2",
       [](auto* p) { p->mutable_steps(0)->mutable_move()->set_link(2); }},
      {"step 0: no link -2",
       [](auto* p) { p->mutable_steps(0)->mutable_move()->set_link(-2); }},
      {"cannot reach a scratchpad; where: move to",
       [](auto* p) { p->mutable_steps(0)->mutable_move()->set_link(-1); }},
      // Two jobs and no poll between them.
      {"step 2: engine a, layer conv: register 0x0 is written while the engine "
       "is busy",
       [](auto* p) { *p->mutable_steps(2) = p->steps(1); }},
      {"no poll sees the end of the last job; where: engine b",
       [](auto* p) { p->mutable_steps()->DeleteSubrange(4, 2); }},
      {"step 2: engine a, layer conv: the poll never ends: no job runs that "
       "could change it; where: register 0x14, which holds 0x0, mask 0x3; "
       "limit: 0x2",
       [](auto* p) {
         p->mutable_steps(2)->mutable_poll()->set_mask(3);
         p->mutable_steps(2)->mutable_poll()->set_value(2);
       }},
      {"the poll never ends",  // The value is not among the bits.
       [](auto* p) { p->mutable_steps(2)->mutable_poll()->set_value(2); }},
      {"step 2: engine b, layer add: the poll never ends",
       [](auto* p) {
         *p->mutable_steps(2)->mutable_poll() = fake::AwaitJob(1, 2);
         p->mutable_steps(2)->mutable_poll()->set_value(1);
       }},
      {"the poll does not wait for the job that runs",
       [](auto* p) { p->mutable_steps(2)->mutable_poll()->set_value(1); }},
      {"step 2: engine a, layer conv: register 0x0 cannot be read",
       [](auto* p) { p->mutable_steps(2)->mutable_poll()->set_offset(0); }},
      {"step 1: engine a, layer conv: there is no register 0x40",
       [](auto* p) {
         p->mutable_steps(1)
             ->mutable_register_writes()
             ->mutable_writes(0)
             ->set_offset(0x40);
       }},
      {"register 0x10: reads or writes outside the memory, shared 0x1fd",
       [](auto* p) {
         *p->mutable_steps(1)->mutable_register_writes() =
             fake::Job(0, kShared, 0x1fd, 4, 1, 1);
       }},
      {"register 0x10: reads or writes outside the memory, shared 0x0",
       [](auto* p) {
         *p->mutable_steps(1)->mutable_register_writes() =
             fake::Job(0, 0, kShared, 4, 1, 1);
       }},
      {"writes no registers",
       [](auto* p) {
         p->mutable_steps(1)->mutable_register_writes()->clear_writes();
       }},
      {"step 1: engine a, layer conv: the engine reads no record",
       [](auto* p) {
         p->mutable_steps(1)
             ->mutable_register_writes()
             ->mutable_record()
             ->add_words(1);
       }},
      {"engine (none), layer conv: no engine 7",
       [](auto* p) {
         p->mutable_steps(1)->mutable_register_writes()->set_engine(7);
       }},
      {"no engine -1",
       [](auto* p) { p->mutable_steps(2)->mutable_poll()->set_engine(-1); }},
      {"engine c, layer conv: the engine runs streams",
       [](auto* p) { p->mutable_steps(2)->mutable_poll()->set_engine(2); }},
      {"no layer 5",
       [](auto* p) {
         p->mutable_steps(1)->mutable_register_writes()->set_layer(5);
       }},
      {"no layer -1",
       [](auto* p) { p->mutable_steps(2)->mutable_poll()->set_layer(-1); }},
      {"it polls, it does not wait; where: engine a",
       [](auto* p) { p->mutable_steps(2)->mutable_wait()->set_engine(0); }},
      {"engine a runs no streams: the host drives it; where: stream 0",
       [](auto* p) { p->add_streams()->set_code("x"); }},
  };
  ASSERT_EQ(Error(), "");
  for (const auto& c : kCases) {
    program_ = good;
    c.edit(&program_);
    EXPECT_THAT(Error(), HasSubstr(c.message));
  }
}

// A stream of four commands of one cycle, each of a layer of its own.
TEST_F(EnginesTest, LaunchesRanges) {
  Load(kShared);
  Store(kShared);
  auto* stream = program_.add_streams();
  stream->set_engine(2);
  for (int i = 0; i < 4; ++i) {
    stream->mutable_code()->push_back(fake::Command(Spent::kComputing, 1 << i));
    auto* range = program_.add_ranges();
    range->set_first_command(i);
    range->set_last_command(i);
    range->set_layer(i);
    if (i == 0) continue;  // Never launched.
    v1::Program::Tap& tap = *program_.add_taps();
    tap.set_command(i);
    SetLocation(tap.mutable_location(), 1, kRam);
    *tap.mutable_box() = target::WholeBox({4});
  }
  const auto launch = [&](int32_t first, int32_t end) {
    auto* added = program_.add_steps()->mutable_launch();
    added->set_first_command(first);
    added->set_end_command(end);
    program_.add_steps()->mutable_wait()->set_engine(2);
  };
  launch(1, 3);
  launch(2, 0);
  launch(1, 3);
  launch(2, 4);  // The same as [2, 0).
  const auto loaded = LoadIt();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->streams.size(), 2);
  const v1::SimReport& report = (*loaded)->report;
  EXPECT_EQ(report.layers(0).cycles(), 6);  // Of the host: never launched.
  EXPECT_EQ(report.layers(1).cycles(), 2 * 2);
  EXPECT_EQ(report.layers(2).cycles(), 4 * 4);
  EXPECT_EQ(report.layers(3).cycles(), 2 * 8 + 6);
  std::vector<int32_t> commands;
  const TapVisitor visit = [&](const v1::Program::Tap& tap, absl::string_view) {
    commands.push_back(tap.command());
    return absl::OkStatus();
  };
  std::vector<std::string> outputs;
  ASSERT_TRUE(NewSession(*loaded)->Run({"1234"}, visit, &outputs).ok());
  EXPECT_THAT(commands, ElementsAre(1, 2, 2, 3, 1, 2, 2, 3));

  const v1::Program good = program_;
  program_.mutable_taps(1)->set_command(0);
  EXPECT_THAT(Error(), HasSubstr("a tap of a command that no step launches; "
                                 "where: stream 0, command 0, tensor 0"));
  const std::pair<int32_t, int32_t> kBad[] = {{2, 2},  {3, 2}, {4, 0}, {-1, 2},
                                              {0, -1}, {0, 5}, {5, 5}};
  for (const auto& [first, end] : kBad) {
    program_ = good;
    program_.mutable_steps(2)->mutable_launch()->set_first_command(first);
    program_.mutable_steps(2)->mutable_launch()->set_end_command(end);
    EXPECT_THAT(Error(), HasSubstr(absl::StrCat(
                             "a launch of no commands, or of some beyond the "
                             "stream; where: stream 0, commands [",
                             first, ", ", end, "); limit: 4 commands")));
  }
  program_ = good;
  for (const auto& [first, end] :
       {std::pair{0, 4}, {0, 3}, {0, 2}, {1, 4}, {3, 4}}) {
    launch(first, end);
  }
  EXPECT_THAT(Error(), HasSubstr("overlap too often"));
}

// Bytes of programs are changed; what still loads runs, and counts as it runs.
TEST_F(EnginesTest, DamagedProgramsAreRefusedOrRun) {
  MakeChain();
  auto* stream = program_.add_streams();
  stream->set_engine(2);
  stream->set_code(std::string(3, fake::Command(Spent::kTransfer, 2)));
  program_.add_ranges()->set_last_command(2);
  program_.add_steps()->mutable_launch()->set_first_command(1);
  program_.add_steps()->mutable_wait()->set_engine(2);
  ASSERT_EQ(Error(), "");
  const std::string good = program_.SerializeAsString();
  Rng rng(11);
  int ran = 0;
  int refused = 0;
  options_.max_memory_bytes = 1 << 12;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (uint64_t i = 1 + rng.Below(2); i > 0; --i) {
      bytes[rng.Below(bytes.size())] =
          static_cast<char>(rng.Below(2) == 0 ? rng.Below(128) : rng.Below(8));
    }
    if (!program_.ParseFromString(bytes)) continue;
    const auto loaded = LoadIt();
    if (!loaded.ok()) {
      ++refused;
      continue;
    }
    ++ran;
    const std::unique_ptr<Session> session = NewSession(*loaded);
    std::vector<std::string> outputs;
    std::vector<absl::string_view> inputs(program_.inputs_size(), "1234");
    const auto report = session->RunChecked(inputs, nullptr, &outputs);
    if (report.ok()) {
      EXPECT_TRUE(session->Run(inputs, nullptr, &outputs).ok());
    }
    (void)session->Run(inputs, nullptr, &outputs);
  }
  EXPECT_GT(ran, 100);
  EXPECT_GT(refused, 300);
}

// What the naive owner of a cycle is made of.
struct Work {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t layer = 0;
  bool computes = true;
};

// Random programs of a, b and c and the host, with all clocks equal, followed
// with a clock that ticks.
TEST_F(EnginesTest, EveryCycleHasOneOwner) {
  Rng rng(7);
  v1::Machine machine = fake::Machine();
  machine.set_host_clock_hz(100);
  machine.mutable_engines(1)->set_clock_hz(100);
  program_.clear_inputs();
  program_.clear_outputs();
  auto* segment = program_.add_segments();
  SetLocation(segment->mutable_location(), 1, kRam);
  const std::string constants = "1234";
  segment->mutable_digest()->set_hash(DigestOf(constants).hash);
  segment->mutable_digest()->set_size_bytes(4);
  segment->set_size_bytes(4);
  const v1::Program empty = program_;
  for (int round = 0; round < 100; ++round) {
    program_ = empty;
    std::vector<std::vector<Work>> work(4);  // Engines, then the host.
    std::vector<int64_t> busy_until(3, -1);  // -1: idle.
    int64_t now = 0;
    const auto host = [&](int64_t cycles, int32_t layer) {
      work[3].push_back({now, now + cycles, layer});
      now += cycles;
    };
    const auto await = [&](int32_t engine) {
      if (busy_until[engine] < 0) return;
      if (engine == 2) {
        program_.add_steps()->mutable_wait()->set_engine(2);
        now = std::max(now, busy_until[2]);
      } else {
        Await(engine, 4);
        do {
          host(3, 4);
        } while (now < busy_until[engine]);
      }
      busy_until[engine] = -1;
    };
    Load(kShared);
    Load(kShared + 8);
    host(11, 0);
    host(11, 0);
    for (int i = 0; i < 20; ++i) {
      const auto engine = static_cast<int32_t>(rng.Below(4));
      const auto layer = static_cast<int32_t>(rng.Below(5));
      if (engine == 3) {
        Move(1, kRam, 1, kRam + 8, layer, -1);
        host(20, layer);
        continue;
      }
      if (busy_until[engine] >= 0) {
        await(engine);
        continue;
      }
      if (engine == 2) {
        const int32_t index = program_.streams_size();
        auto* stream = program_.add_streams();
        stream->set_engine(2);
        int64_t at = now;
        for (int32_t c = 0; c < 3; ++c) {
          const auto spent = static_cast<Spent>(rng.Below(4));
          const auto cycles = static_cast<int>(rng.Below(20));
          const auto of = static_cast<int32_t>(rng.Below(5));
          stream->mutable_code()->push_back(fake::Command(spent, cycles));
          auto* range = program_.add_ranges();
          range->set_stream(index);
          range->set_first_command(c);
          range->set_last_command(c);
          range->set_layer(of);
          work[2].push_back({at, at + cycles, of, spent == Spent::kComputing});
          at += cycles;
        }
        program_.add_steps()->mutable_launch()->set_stream(index);
        busy_until[2] = at;
        continue;
      }
      const int64_t cycles = rng.InRange(1, 60);
      const uint64_t own = kShared + 8 * engine;
      Job(engine, own, own + 32, static_cast<uint32_t>(cycles), layer);
      host(5 * 2, layer);
      work[engine].push_back({now, now + cycles, layer});
      busy_until[engine] = now + cycles;
    }
    for (int32_t engine = 0; engine < 3; ++engine) await(engine);

    std::vector<int64_t> want(5, 0);
    for (int64_t t = 0; t < now; ++t) {
      const Work* owner = nullptr;
      for (const bool computing : {true, false}) {
        for (int e = 0; e < 3; ++e) {
          for (const Work& each : work[e]) {
            if (owner == nullptr && each.computes == computing &&
                each.begin <= t && t < each.end) {
              owner = &each;
            }
          }
        }
      }
      for (const Work& each : work[3]) {
        if (owner == nullptr && each.begin <= t && t < each.end) owner = &each;
      }
      ASSERT_NE(owner, nullptr) << t;
      ++want[owner->layer];
    }
    const auto loaded = LoadProgram(
        program_, constants, std::make_shared<const v1::Machine>(machine),
        options_, fake::NewSimulator);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    std::vector<std::string> outputs;
    const auto report = NewSession(*loaded)->RunChecked({}, nullptr, &outputs);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->cycles(), now);
    int64_t sum = 0;
    for (int l = 0; l < 5; ++l) {
      EXPECT_EQ(report->layers(l).cycles(), want[l]) << "layer " << l;
      int64_t of_jobs = 0;
      for (const int engine : {0, 1}) {
        for (const Work& each : work[engine]) {
          if (each.layer == l) of_jobs += each.end - each.begin;
        }
      }
      EXPECT_EQ(report->layers(l).job_cycles(), of_jobs) << "layer " << l;
      sum += report->layers(l).cycles();
    }
    EXPECT_EQ(sum, now);
  }
}

}  // namespace
}  // namespace edgekiln::simfarm
