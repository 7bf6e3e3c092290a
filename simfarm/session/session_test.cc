#include "simfarm/session/session.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/dla/stream_writer.h"
#include "target/layout.h"
#include "target/resolve.h"

namespace edgekiln::simfarm {
namespace {

using conformance::dla::StreamWriter;
using testing::ElementsAre;
using testing::HasSubstr;
namespace words = conformance::dla;

// Doubles 4 bytes on the engine (x + x by OP_E_ADD), then copies and reshapes
// them on the host.
class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    const auto target = target::ResolveTarget("extends: \"unit\"");
    EXPECT_TRUE(target.ok()) << target.status();
    machine_ = target->machine();
    StreamWriter writer;
    writer.Command(words::kDmaRead, 0,
                   {{words::kDmaSystemAddr, words::kRamBase},
                    {words::kDmaSramAddr, 0},
                    {words::kDmaRowBytes, 4},
                    {words::kDmaRows, 1}});
    add_word_ = writer.Command(
        words::kAdd, 1,
        {{words::kInAddr, 0},       {words::kIn2Addr, 0},
         {words::kOutAddr, 8},      {words::kOutH, 1},
         {words::kOutW, 1},         {words::kOutC, 4},
         {words::kInRowPitch, 4},   {words::kInPixelPitch, 4},
         {words::kIn2RowPitch, 4},  {words::kIn2PixelPitch, 4},
         {words::kOutRowPitch, 4},  {words::kOutPixelPitch, 4},
         {words::kInZeroPoint, 0},  {words::kIn2ZeroPoint, 0},
         {words::kOutZeroPoint, 0}, {words::kClampMin, -128},
         {words::kClampMax, 127},   {words::kInMultiplier, 1 << 30},
         {words::kInShift, 1},      {words::kIn2Multiplier, 1 << 30},
         {words::kIn2Shift, 1},     {words::kOutMultiplier, 1 << 30},
         {words::kOutShift, 1},     {words::kLeftShift, 0}});
    write_word_ = writer.Command(words::kDmaWrite, 1,
                                 {{words::kDmaSystemAddr, words::kRamBase + 16},
                                  {words::kDmaSramAddr, 8}});
    end_word_ = writer.End();
    code_ = writer.code();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
        version: 3
        inputs { type { name: "x" element_type: INT8 shape: [1, 4] }
                 location { memory: 1 address: 0x80000000 } layout: 1 }
        outputs { type { name: "y" element_type: INT8 shape: [4] }
                  location { memory: 1 address: 0x80000030 } layout: 1 }
        steps { launch { stream: 0 } }
        steps { wait { engine: 0 } }
        steps { move { from { memory: 1 address: 0x80000010 }
                       to { memory: 1 address: 0x80000020 }
                       from_layout: 1 to_layout: 1 link: -1 layer: 1 } }
        steps { host_op { attributes { reshape {} } layer: 2
          inputs { type { name: "c" element_type: INT8 shape: [2, 2] }
                   location { memory: 1 address: 0x80000020 } }
          outputs { type { name: "y" element_type: INT8 shape: [4] }
                    location { memory: 1 address: 0x80000030 } } } }
        layers { id: "add" engine: 0 } layers { id: "move" engine: -1 }
        layers { id: "reshape" engine: -1 }
        taps { stream: 0 tensor: 0 location { memory: 2 address: 8 }
               box { begin: [0, 1] end: [2, 2] } layout: 0 }
        taps { stream: -1 step: 3 tensor: 0
               location { memory: 1 address: 0x80000030 }
               box { begin: 0 end: 4 } layout: 1 }
        layouts { extents: [2, 1] element_bits: 8 size_bytes: 3
                  terms { axis: 0 stride_bytes: 2 } }
        layouts { extents: 4 element_bits: 8 size_bytes: 4
                  terms { axis: 0 stride_bytes: 1 } })",
                                                              &program_));
    program_.mutable_taps(0)->set_command(add_word_);
    auto* stream = program_.add_streams();
    stream->set_code(code_);
    auto* range = program_.add_ranges();
    range->set_last_command(end_word_);
    options_.tensor_element_bytes = {1};
  }

  absl::StatusOr<std::unique_ptr<Session>> Load() const {
    return LoadSession(program_, constants_, machine_, options_);
  }
  // The error of counting cycles without values.
  std::string CountingError() const {
    return std::string(
        CountCycles(program_, machine_, options_).status().message());
  }
  // The error of loading or, if it loads, of the checked run.
  std::string Error() const {
    auto session = Load();
    if (!session.ok()) return std::string(session.status().message());
    std::vector<std::string> outputs;
    return std::string((*session)
                           ->RunChecked({"\x01\x02\x03\x7f"}, nullptr, &outputs)
                           .status()
                           .message());
  }

  v1::Machine machine_;
  v1::Program program_;
  SessionOptions options_;
  std::string constants_;
  std::string code_;
  int32_t add_word_ = 0;
  int32_t write_word_ = 0;
  int32_t end_word_ = 0;
};

TEST_F(SessionTest, RunsAndShowsTaps) {
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> taps;
  const TapVisitor visit = [&](const v1::Program::Tap&, absl::string_view v) {
    taps.emplace_back(v);
    return absl::OkStatus();
  };
  std::vector<std::string> outputs;
  const auto report =
      (*session)->RunChecked({"\x01\x02\x03\x7f"}, visit, &outputs);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(outputs, testing::ElementsAre("\x02\x04\x06\x7f"));
  EXPECT_THAT(taps, testing::ElementsAre("\x02\x06", "\x02\x04\x06\x7f"));

  // Fast, in a clone, with other values: the same as its original.
  taps.clear();
  const std::unique_ptr<Session> clone = (*session)->Clone();
  for (Session* each : {session->get(), clone.get()}) {
    ASSERT_TRUE(each->Run({"\xff\x10\x20\x30"}, visit, &outputs).ok());
    EXPECT_THAT(outputs, testing::ElementsAre("\xfe\x20\x40\x60"));
  }
  EXPECT_THAT(taps, testing::ElementsAre("\xfe\x40", "\xfe\x20\x40\x60",
                                         "\xfe\x40", "\xfe\x20\x40\x60"));
}

// Values keep their order whatever the layouts of inputs and outputs are.
TEST_F(SessionTest, InputsAndOutputsLieWhereTheirLayoutsSay) {
  // As [2, 2] transposed, both; bytes behind the output's elements stay free.
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      R"(layouts { extents: 4 element_bits: 8 size_bytes: 4
                   terms { axis: 0 divide: 2 stride_bytes: 1 }
                   terms { axis: 0 modulo: 2 stride_bytes: 2 } }
         layouts { extents: [2, 2] element_bits: 8 size_bytes: 10
                   terms { axis: 0 stride_bytes: 1 }
                   terms { axis: 1 stride_bytes: 2 } })",
      &program_));
  program_.mutable_inputs(0)->set_layout(2);
  program_.mutable_outputs(0)->set_layout(3);
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> outputs;
  // In memory: 1, 3, 2, 4, doubled.
  const auto report =
      (*session)->RunChecked({"\x01\x02\x03\x04"}, nullptr, &outputs);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(outputs, testing::ElementsAre("\x02\x04\x06\x08"));
  program_.mutable_outputs(0)->set_layout(1);
  session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Run({"\x01\x02\x03\x04"}, nullptr, &outputs).ok());
  EXPECT_THAT(outputs, testing::ElementsAre("\x02\x06\x04\x08"));
  EXPECT_TRUE(CountCycles(program_, machine_, options_).ok());
}

// The program doubles: what it carries grows.
TEST_F(SessionTest, CarriesWhatTheLastRunLeft) {
  *program_.mutable_inputs(0)->mutable_type()->mutable_shape() =
      program_.outputs(0).type().shape();
  program_.add_carries();
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Session& session = **loaded;
  EXPECT_THAT(session.states(), ElementsAre(std::string(4, '\0')));
  std::vector<std::string> outputs;
  ASSERT_TRUE(session.RunChecked({"\x01\x02\x03\xff"}, nullptr, &outputs).ok());
  EXPECT_THAT(session.states(), ElementsAre("\x02\x04\x06\xfe"));
  ASSERT_TRUE(session.RunChecked({""}, nullptr, &outputs).ok());
  ASSERT_TRUE(session.Run({""}, nullptr, &outputs).ok());
  EXPECT_THAT(outputs, ElementsAre("\x08\x10\x18\xf8"));
  EXPECT_EQ(session.states(), outputs);
  // What cannot run changes nothing.
  EXPECT_FALSE(session.Run({"\x01"}, nullptr, &outputs).ok());
  EXPECT_FALSE(session.SetStates({"\x01"}).ok());
  EXPECT_FALSE(session.SetStates({"\1\1\1\1", "\1\1\1\1"}).ok());
  EXPECT_THAT(session.states(), ElementsAre("\x08\x10\x18\xf8"));
  EXPECT_THAT(session.Clone()->states(), ElementsAre(std::string(4, '\0')));
  ASSERT_TRUE(session.SetStates({"\x01\x01\x01\x02"}).ok());
  ASSERT_TRUE(session.Run({""}, nullptr, &outputs).ok());
  EXPECT_THAT(outputs, ElementsAre("\x02\x02\x02\x04"));
  ASSERT_TRUE(session.SetStates({}).ok());
  EXPECT_THAT(session.states(), ElementsAre(std::string(4, '\0')));
}

TEST_F(SessionTest, RefusesWhatCannotBeCarried) {
  *program_.mutable_inputs(0)->mutable_type()->mutable_shape() =
      program_.outputs(0).type().shape();
  program_.add_carries();
  const v1::Program good = program_;
  const struct {
    const char* message;
    std::function<void(v1::Program*)> edit;
  } kCases[] = {
      {"no output 1", [](auto* p) { p->mutable_carries(0)->set_output(1); }},
      {"no output -1", [](auto* p) { p->mutable_carries(0)->set_output(-1); }},
      {"no input 1", [](auto* p) { p->mutable_carries(0)->set_input(1); }},
      {"no input -2", [](auto* p) { p->mutable_carries(0)->set_input(-2); }},
      {"an input is in two carries; where: x",
       [](auto* p) { p->add_carries(); }},
      {"output y and input x differ in type",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_type()->set_element_type(v1::UINT8);
       }},
      {"output y and input x differ in type",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_type()->clear_shape();
         p->mutable_inputs(0)->mutable_type()->add_shape(2);
         p->mutable_inputs(0)->mutable_type()->add_shape(2);
       }},
      {"output y and input x differ in type",
       [](auto* p) {
         auto* type = p->mutable_inputs(0)->mutable_type();
         type->mutable_quantization()->add_scale(1);
         type->mutable_quantization()->add_zero_point(0);
       }},
      {"a carried input needs one scale",
       [](auto* p) {
         for (auto* b : {p->mutable_inputs(0), p->mutable_outputs(0)}) {
           b->mutable_type()->mutable_quantization()->add_scale(1);
         }
       }},
      {"a carried input needs one scale",
       [](auto* p) {
         for (auto* b : {p->mutable_inputs(0), p->mutable_outputs(0)}) {
           for (int i = 0; i < 4; ++i) {
             b->mutable_type()->mutable_quantization()->add_scale(1);
             b->mutable_type()->mutable_quantization()->add_zero_point(0);
           }
         }
       }},
      {"too many entries",
       [](auto* p) {
         for (int i = 0; i < 1 << 20; ++i) p->add_carries();
       }},
  };
  ASSERT_EQ(Error(), "");
  for (const auto& c : kCases) {
    program_ = good;
    c.edit(&program_);
    EXPECT_THAT(Error(), HasSubstr(c.message));
    EXPECT_EQ(CountingError(), Error());
  }
  // Inputs in the same memory are carried apart.
  program_ = good;
  options_.max_memory_bytes = 1 << 12;
  ASSERT_EQ(Error(), "");
  for (int i = 1; i <= 1024; ++i) {
    *program_.add_inputs() = good.inputs(0);
    program_.add_carries()->set_input(i);
  }
  EXPECT_THAT(Error(), HasSubstr("carries too much"));
}

TEST_F(SessionTest, EveryCycleHasOneOwner) {
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  const v1::SimReport& report = (*session)->report();
  // On `unit` every word takes a cycle in the front end. 4 writes and DMA_READ:
  // the transfer runs in [5, 9). OP_E_ADD is decoded after 24 writes at 30 and
  // takes 4: [30, 34). DMA_WRITE: 2 writes, decoded at 33, waits for the add:
  // [34, 38). OP_END is decoded at 34.
  EXPECT_EQ(report.layers(0).cycles(), 38);
  EXPECT_EQ(report.layers(0).compute_cycles(), 4);
  EXPECT_EQ(report.layers(0).stall_cycles(), 34);
  EXPECT_EQ(report.layers(0).dma_bytes_read(), 4);
  EXPECT_EQ(report.layers(0).dma_bytes_written(), 4);
  EXPECT_EQ(report.layers(0).fidelity(), v1::CYCLE_APPROXIMATE);
  EXPECT_EQ(report.layers(1).cycles(), 104);  // Move: 100 + 1 per byte.
  EXPECT_EQ(report.layers(2).cycles(), 104);  // Reshape: the same.
  EXPECT_EQ(report.layers(2).fidelity(), v1::ESTIMATE);
  EXPECT_EQ(report.cycles(), 38 + 104 + 104);
  ASSERT_EQ(report.engines_size(), 2);
  EXPECT_EQ(report.engines(0).busy_cycles(), 12);
  EXPECT_EQ(report.engines(1).name(), "host");
  EXPECT_EQ(report.engines(1).busy_cycles(), 208);
}

// "unit begin end layer kind", in order.
template <typename Engine>
std::string SegmentsOf(const Engine& engine) {
  std::string text;
  for (const v1::TimelineSegment& s : engine.segments()) {
    absl::StrAppend(&text, engine.units(s.unit()), " ", s.begin(), " ", s.end(),
                    " ", s.layer(), " ",
                    v1::TimelineSegment::Kind_Name(s.kind()), "\n");
    EXPECT_EQ(s.busy_cycles(), s.end() - s.begin());
  }
  return text;
}

TEST_F(SessionTest, SegmentsSayWhenUnitsWork) {
  options_.segments = true;
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  const v1::SimReport& report = (*session)->report();
  // The cycles of EveryCycleHasOneOwner.
  const std::string engine =
      "compute 30 34 0 COMPUTE\ndma 5 9 0 DMA_READ\ndma 34 38 0 DMA_WRITE\n";
  const std::string host = "cpu 38 142 1 HOST_MOVE\ncpu 142 246 2 HOST_OP\n";
  ASSERT_EQ(report.engines_size(), 2);
  EXPECT_EQ(SegmentsOf(report.engines(0)), engine);
  EXPECT_EQ(SegmentsOf(report.engines(1)), host);
  // OP_E_ADD waits for its operand until 9, then to be issued; OP_END for the
  // last transfer.
  EXPECT_EQ(report.layers(0).stalls().transfer_cycles(), 9 + 4);
  EXPECT_EQ(report.layers(0).stalls().control_cycles(), 30 - 9);
  EXPECT_EQ(report.layers(0).stalls().contention_cycles(), 0);
  v1::Timeline timeline;
  ASSERT_TRUE(CountCycles(program_, machine_, options_, &timeline).ok());
  EXPECT_EQ(timeline.cycles(), 246);
  EXPECT_THAT(timeline.layers(),
              testing::ElementsAre("add", "move", "reshape"));
  EXPECT_EQ(SegmentsOf(timeline.engines(0)), engine);
  EXPECT_EQ(SegmentsOf(timeline.engines(1)), host);
  // Nobody asked.
  options_.segments = false;
  session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->report().engines(0).segments_size(), 0);
}

TEST_F(SessionTest, HostBesideTheEngineAndOtherClocks) {
  // The reshape moves between launch and wait: it works on bytes of its own.
  v1::Program::Step reshape = program_.steps(3);
  reshape.mutable_host_op()->mutable_inputs(0)->mutable_location()->set_address(
      0x80000040);
  auto* segment = program_.add_segments();
  segment->mutable_location()->set_memory(1);
  segment->mutable_location()->set_address(0x80000040);
  constants_ = "\x05\x06\x07\x08";
  segment->mutable_digest()->set_hash(DigestOf(constants_).hash);
  segment->mutable_digest()->set_size_bytes(4);
  segment->set_size_bytes(4);
  *program_.mutable_steps(3) = program_.steps(2);
  *program_.mutable_steps(2) = program_.steps(1);
  *program_.mutable_steps(1) = reshape;
  program_.mutable_taps(1)->set_step(1);
  machine_.set_host_clock_hz(machine_.clock_hz() * 4);  // 104 take 26.
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> outputs;
  const auto report =
      (*session)->RunChecked({"\x01\x02\x03\x7f"}, nullptr, &outputs);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(outputs, testing::ElementsAre("\x05\x06\x07\x08"));
  EXPECT_EQ(report->cycles(), 38 + 26);
  EXPECT_EQ(report->layers(0).cycles(), 38);
  EXPECT_EQ(report->layers(1).cycles(), 26);
  EXPECT_EQ(report->layers(2).cycles(), 0);  // Hidden behind the engine.
}

TEST_F(SessionTest, RefusesWhatCannotRun) {
  const v1::Program good = program_;
  const struct {
    const char* message;
    std::function<void(v1::Program*)> edit;
  } kCases[] = {
      {"version", [](auto* p) { p->set_version(1); }},
      {"no memory 9",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_location()->set_memory(9);
       }},
      {"no memory -1",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_location()->set_memory(-1);
       }},
      {"outside its memory",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_location()->set_address(0x7fffffff);
       }},
      {"outside its memory",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_location()->set_address(~uint64_t{0} -
                                                               1);
       }},
      {"cannot reach a scratchpad",
       [](auto* p) {
         *p->mutable_inputs(0)->mutable_location() = p->taps(0).location();
       }},
      {"flash cannot be written",
       [](auto* p) {
         p->mutable_inputs(0)->mutable_location()->set_memory(0);
         p->mutable_inputs(0)->mutable_location()->set_address(0);
       }},
      {"unusable shape",
       [](auto* p) { p->mutable_inputs(0)->mutable_type()->add_shape(-1); }},
      {"no engine 1; where: layer move",
       [](auto* p) { p->mutable_layers(1)->set_engine(1); }},
      {"no engine 3", [](auto* p) { p->mutable_streams(0)->set_engine(3); }},
      {"no stream 1",
       [](auto* p) { p->mutable_steps(0)->mutable_launch()->set_stream(1); }},
      {"no engine 1",
       [](auto* p) { p->mutable_steps(1)->mutable_wait()->set_engine(1); }},
      {"never awaited",
       [](auto* p) {
         p->mutable_steps()->DeleteSubrange(1, 3);
         p->mutable_taps()->RemoveLast();
       }},
      {"still runs", [](auto* p) { *p->mutable_steps(1) = p->steps(0); }},
      {"step 1: race: reads a byte while engine dla, launched by step 0, may "
       "still write it; where: move, ram 0x80000010",
       [](auto* p) { p->mutable_steps()->SwapElements(1, 2); }},
      {"race: writes a byte while engine dla, launched by step 0, may still "
       "use it; where: move, ram 0x80000003",
       [](auto* p) {
         p->mutable_steps()->SwapElements(1, 2);
         auto* move = p->mutable_steps(1)->mutable_move();
         move->mutable_from()->set_address(0x80000000);
         move->mutable_to()->set_address(0x80000003);
         *p->add_layouts() = target::DenseLayout({1}, 1);
         move->set_from_layout(2);
         move->set_to_layout(2);
       }},
      {"no layer 7",
       [](auto* p) { p->mutable_steps(2)->mutable_move()->set_layer(7); }},
      {"move of nothing",
       [](auto* p) {
         *p->add_layouts() = target::DenseLayout({0}, 1);
         p->mutable_steps(2)->mutable_move()->set_from_layout(2);
         p->mutable_steps(2)->mutable_move()->set_to_layout(2);
       }},
      {"between layouts of two arrays",
       [](auto* p) { p->mutable_steps(2)->mutable_move()->set_to_layout(0); }},
      {"no layout 9",
       [](auto* p) { p->mutable_steps(2)->mutable_move()->set_to_layout(9); }},
      {"unknown kind of step", [](auto* p) { p->mutable_steps(2)->Clear(); }},
      {"nothing wrote",
       [](auto* p) {
         p->mutable_steps(2)->mutable_move()->mutable_from()->set_address(
             0x80000050);
       }},
      {"output y, ram 0x80000030",
       [](auto* p) {
         *p->mutable_steps(3) = p->steps(2);
         p->mutable_taps()->RemoveLast();
       }},
      {"range is unusable",
       [](auto* p) { p->mutable_ranges(0)->set_last_command(9999); }},
      {"range is unusable",
       [](auto* p) { p->mutable_ranges(0)->set_layer(3); }},
      {"ranges overlap", [](auto* p) { *p->add_ranges() = p->ranges(0); }},
      {"belongs to no layer", [](auto* p) { p->clear_ranges(); }},
      {"no stream 5", [](auto* p) { p->add_ranges()->set_stream(5); }},
      {"no tensor 1", [](auto* p) { p->mutable_taps(0)->set_tensor(1); }},
      {"no tensor -1", [](auto* p) { p->mutable_taps(0)->set_tensor(-1); }},
      {"elements of 2 bytes; where: tensor 7; limit: 4",
       [](auto* p) {
         p->add_accumulators()->set_tensor(7);
         p->mutable_taps(0)->set_tensor(7);
         v1::Layout wide = p->layouts(p->taps(0).layout());
         wide.set_element_bits(16);
         wide.set_size_bytes(2 * wide.size_bytes());
         for (auto& term : *wide.mutable_terms()) {
           term.set_stride_bytes(2 * term.stride_bytes());
         }
         p->mutable_taps(0)->set_layout(p->layouts_size());
         *p->add_layouts() = wide;
       }},
      {"tensor 7 twice; where: accumulators",
       [](auto* p) {
         p->add_accumulators()->set_tensor(7);
         p->add_accumulators()->set_tensor(7);
       }},
      {"tensor 7 as the accumulator of tensor 1; where: accumulators",
       [](auto* p) {
         p->add_accumulators()->set_tensor(7);
         p->mutable_accumulators(0)->set_result(1);
       }},
      {"tensor 7 as the accumulator of tensor -1; where: accumulators",
       [](auto* p) {
         p->add_accumulators()->set_tensor(7);
         p->mutable_accumulators(0)->set_result(-1);
       }},
      {"tensor -7 as the accumulator of tensor 0; where: accumulators",
       [](auto* p) { p->add_accumulators()->set_tensor(-7); }},
      {"no command", [](auto* p) { p->mutable_taps(0)->set_command(999); }},
      {"no layout 2", [](auto* p) { p->mutable_taps(0)->set_layout(2); }},
      {"no layout -1", [](auto* p) { p->mutable_inputs(0)->set_layout(-1); }},
      {"layout of 2 bytes of values for a tensor of 4; where: input x",
       [](auto* p) { p->mutable_inputs(0)->set_layout(0); }},
      {"for a tensor of 4; where: output y",
       [](auto* p) { p->mutable_outputs(0)->set_layout(0); }},
      {"the box is [1, 3), the layout's extent 1",
       [](auto* p) { p->mutable_taps(0)->mutable_box()->set_end(1, 3); }},
      {"box and layout are of different rank",
       [](auto* p) { p->mutable_taps(0)->set_layout(1); }},
      {"a box without elements",
       [](auto* p) {
         p->mutable_layouts(0)->set_extents(1, 0);
         p->mutable_taps(0)->mutable_box()->set_end(1, 1);
       }},
      {"elements of 2 bytes; where: tensor 0; limit: 1",
       [](auto* p) {
         p->mutable_layouts(0)->set_element_bits(16);
         p->mutable_layouts(0)->set_size_bytes(4);
       }},
      {"elements overlap: a stride of 0 bytes over a span of 1; where: layout "
       "0",
       [](auto* p) {
         p->mutable_layouts(0)->mutable_terms(0)->set_stride_bytes(0);
       }},
      {"location at 0x8",
       [](auto* p) {
         p->mutable_layouts(0)->mutable_terms(0)->set_stride_bytes(int64_t{1}
                                                                   << 40);
         p->mutable_layouts(0)->set_size_bytes((int64_t{1} << 40) + 1);
       }},
      {"too many layouts",
       [](auto* p) {
         for (int i = 0; i < 1 << 16; ++i) p->add_layouts();
       }},
      {"tap shows a byte that nothing wrote",
       [](auto* p) { p->mutable_taps(0)->mutable_location()->set_address(5); }},
      {"belongs to other constants",
       [](auto* p) {
         auto* segment = p->add_segments();
         segment->set_size_bytes(1);
         segment->mutable_digest()->set_hash("abc");
       }},
  };
  ASSERT_EQ(Error(), "");
  for (const auto& c : kCases) {
    program_ = good;
    c.edit(&program_);
    EXPECT_THAT(Error(), HasSubstr(c.message));
    // Without constants, what they are is not known.
    if (std::string(c.message) != "belongs to other constants") {
      EXPECT_EQ(CountingError(), Error());
    }
  }
}

TEST_F(SessionTest, CountsCyclesWithoutConstants) {
  auto* segment = program_.add_segments();
  segment->mutable_location()->set_memory(0);
  constants_ = "\x05\x06\x07\x08";
  segment->mutable_digest()->set_hash(DigestOf(constants_).hash);
  segment->mutable_digest()->set_size_bytes(4);
  segment->set_size_bytes(4);
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  const auto report = CountCycles(program_, machine_, options_);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->SerializeAsString(),
            (*session)->report().SerializeAsString());

  const struct {
    const char* message;
    std::function<void(v1::Program::Segment*)> edit;
  } kCases[] = {
      {"outside the constants", [](auto* s) { s->set_blob_offset(1); }},
      {"outside the constants", [](auto* s) { s->set_blob_offset(INT64_MAX); }},
      {"too large",
       [](auto* s) {
         s->mutable_digest()->set_size_bytes(INT64_MAX);
         s->set_size_bytes(INT64_MAX);
       }},
      {"outside its memory",
       [](auto* s) { s->mutable_location()->set_address(~uint64_t{0}); }},
  };
  const v1::Program good = program_;
  for (const auto& c : kCases) {
    program_ = good;
    c.edit(program_.mutable_segments(0));
    EXPECT_THAT(CountingError(), HasSubstr(c.message));
  }
  program_ = good;
  *program_.add_segments() = good.segments(0);
  program_.mutable_segments(1)->mutable_digest()->set_hash("abc");
  EXPECT_THAT(CountingError(), HasSubstr("belongs to other constants"));
}

TEST_F(SessionTest, RefusesInputsOfTheWrongSize) {
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> outputs;
  EXPECT_FALSE((*session)->Run({}, nullptr, &outputs).ok());
  EXPECT_FALSE((*session)->Run({"123"}, nullptr, &outputs).ok());
}

TEST_F(SessionTest, ErrorsNameCommandAddressAndLayer) {
  // The transfer brings 3 bytes of the 4 that are added.
  std::string code = code_;
  code[2 * 8 + 4] = 3;
  program_.mutable_streams(0)->set_code(code);
  EXPECT_THAT(Error(),
              HasSubstr("step 0: stream 0: reads a byte that nothing wrote; "
                        "where: command 29 (OP_E_ADD), SRAM 0x3, layer add"));
  EXPECT_EQ(CountingError(), Error());
}

TEST_F(SessionTest, MemoryIsBounded) {
  options_.max_memory_bytes = 16;
  EXPECT_THAT(Error(), HasSubstr("too much simulated memory"));
}

TEST_F(SessionTest, WithoutElementSizesTapsAreLeftOut) {
  options_.tensor_element_bytes.clear();
  auto session = Load();
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> outputs;
  int taps = 0;
  const TapVisitor visit = [&](const auto&, absl::string_view) {
    ++taps;
    return absl::OkStatus();
  };
  ASSERT_TRUE(
      (*session)->RunChecked({"\x01\x02\x03\x7f"}, visit, &outputs).ok());
  EXPECT_EQ(taps, 0);
}

}  // namespace
}  // namespace edgekiln::simfarm
