// Programs that were worked out by hand from docs/targets/register_job.md
// (registers, values, cycles of jobs) and docs/design/0022 (moves, polls, whose
// cycle).

#include "simfarm/conformance/register_job/hand_counted_programs.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

// Registers of all chips, as their descriptors list them.
enum Register : uint32_t {
  kKernel = 0x00,
  kInSize = 0x04,
  kOutSize = 0x08,
  kInChannels = 0x0c,
  kOutChannelsM1 = 0x10,
  kWindow = 0x14,
  kPadding = 0x20,
  kDepthMultiplier = 0x24,
  kInAddr = 0x28,
  kIn2Addr = 0x2c,
  kWeightsAddr = 0x30,
  kTableAddr = 0x34,
  kOutAddr = 0x38,
  kClamp = 0x48,
  kInMultiplier = 0x4c,
  kIn2Multiplier = 0x50,
  kOutMultiplier = 0x54,
  kShifts = 0x58,
  kLeftShift = 0x5c,
  kFlags = 0x60,
  // Of engines with a converter.
  kGain = 0x64,
  kCodes = 0x68,
  kCodeShift = 0x6c,
  kStart = 0x80,
  kStatus = 0x84,
};
constexpr uint32_t kNoClamp = 0x00ff;  // -128 to 127.
constexpr uint32_t kNoShifts = (64 * 128 + 64) * 128 + 64;
constexpr int32_t kHalf = 1 << 30;  // With shift 0.

constexpr int32_t kFlash = 0;
constexpr int32_t kRam = 1;
constexpr int32_t kLocal = 2;
constexpr uint64_t kRamBase = 0x80000000;
constexpr uint64_t kResults = kRamBase + 0x100;

uint32_t Pair(uint32_t h, uint32_t w) { return h << 16 | w; }

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string Words(std::initializer_list<int32_t> values) {
  std::string bytes;
  for (const int32_t value : values) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<char>(static_cast<uint32_t>(value) >> shift));
    }
  }
  return bytes;
}

class Builder {
 public:
  Builder(const std::string& chip, std::initializer_list<const char*> layers,
          std::string input) {
    const auto target = target::ResolveTarget(chip);
    EXPECT_TRUE(target.ok()) << target.status();
    if (target.ok()) case_.machine = target->machine();
    for (auto& memory : *case_.machine.mutable_memories()) {
      memory.set_capacity_bytes(4096);
    }
    case_.program.set_version(3);
    for (const char* layer : layers) case_.program.add_layers()->set_id(layer);
    Bind(kRamBase, static_cast<int64_t>(input.size()),
         *case_.program.add_inputs());
    case_.inputs = {std::move(input)};
  }

  // All moves are of dense bytes, by the only link.
  void Move(int32_t from_memory, uint64_t from, int32_t to_memory, uint64_t to,
            int64_t bytes, int32_t layer) {
    v1::Program::Move& move = *case_.program.add_steps()->mutable_move();
    move.mutable_from()->set_memory(from_memory);
    move.mutable_from()->set_address(from);
    move.mutable_to()->set_memory(to_memory);
    move.mutable_to()->set_address(to);
    move.set_from_layout(Dense(bytes));
    move.set_to_layout(move.from_layout());
    move.set_layer(layer);
  }
  // Flash begins with the constants.
  void LoadConstant(uint64_t to, const std::string& value, int32_t layer) {
    Move(kFlash, case_.constants.size(), kLocal, to,
         static_cast<int64_t>(value.size()), layer);
    case_.constants += value;
  }
  void Store(uint64_t from, int64_t bytes, int32_t layer) {
    const uint64_t to = kResults + 16 * case_.program.outputs_size();
    Move(kLocal, from, kRam, to, bytes, layer);
    Bind(to, bytes, *case_.program.add_outputs());
  }
  // The start comes last.
  void Write(int32_t engine, int32_t layer,
             std::initializer_list<std::pair<Register, uint32_t>> writes) {
    auto& step = *case_.program.add_steps()->mutable_register_writes();
    step.set_engine(engine);
    step.set_layer(layer);
    for (const auto& [offset, value] : writes) {
      auto& write = *step.add_writes();
      write.set_offset(offset);
      write.set_value(value);
    }
    auto& start = *step.add_writes();
    start.set_offset(kStart);
    start.set_value(1);
  }
  void Poll(int32_t engine, int32_t layer) {
    v1::Program::Poll& poll = *case_.program.add_steps()->mutable_poll();
    poll.set_engine(engine);
    poll.set_offset(kStatus);
    poll.set_mask(1);
    poll.set_value(1);
    poll.set_layer(layer);
  }

  ProgramCase Finish() {
    if (case_.constants.empty()) return case_;
    v1::Program::Segment& segment = *case_.program.add_segments();
    const Digest digest = DigestOf(case_.constants);
    segment.mutable_digest()->set_hash(digest.hash);
    segment.mutable_digest()->set_size_bytes(digest.size_bytes);
    segment.mutable_location()->set_memory(kFlash);
    segment.set_size_bytes(digest.size_bytes);
    return case_;
  }

 private:
  int32_t Dense(int64_t bytes) {
    *case_.program.add_layouts() = target::DenseLayout({bytes}, 1);
    return case_.program.layouts_size() - 1;
  }
  void Bind(uint64_t address, int64_t bytes, v1::Program::Binding& binding) {
    binding.mutable_type()->set_element_type(v1::INT8);
    binding.mutable_type()->add_shape(bytes);
    binding.mutable_location()->set_memory(kRam);
    binding.mutable_location()->set_address(address);
    binding.set_layout(Dense(bytes));
  }

  ProgramCase case_;
};

// One pixel of 3 channels to 2: 4 + 2*6 + 3*7 = 37 and 5 + 4 - 6 + 7 = 10, of
// which a half is 18.5, hence 19, and 5.
ProgramCase OneConvolution(const std::string& chip) {
  Builder b(chip, {"load", "conv"}, Bytes({4, 6, 7}));
  b.LoadConstant(0x40, Bytes({1, 2, 3, 1, -1, 1}), 0);
  b.LoadConstant(0x60, Words({0, kHalf, 0, 5, kHalf, 0}), 0);
  b.Move(kRam, kRamBase, kLocal, 0, 3, 0);
  b.Write(0, 1,
          {{kKernel, 1},
           {kInSize, Pair(1, 1)},
           {kOutSize, Pair(1, 1)},
           {kInChannels, 3},
           {kOutChannelsM1, 1},
           {kWindow, Pair(1, 1)},
           {kWeightsAddr, 0x40},
           {kTableAddr, 0x60},
           {kOutAddr, 0x80},
           {kClamp, kNoClamp}});
  b.Poll(0, 1);
  b.Store(0x80, 2, 1);
  return b.Finish();
}

// Moves of 6, 24 and 3 bytes: 33 cycles. 11 writes. 6 products, a cycle each;
// the sixth read ends when the job does. 2 bytes back.
HandCountedProgram OnUnit() {
  return {.name = "OneConvolution",
          .program = OneConvolution("extends: \"toy-array-unit\""),
          .outcome = {.error = "",
                      .cycles = 33 + 11 + 6 + 2,
                      .layer_cycles = {33, 11 + 6 + 2},
                      .busy_cycles = {6, 52},
                      .bytes_read = 33,
                      .bytes_written = 2,
                      .taps = {},
                      .outputs = {Bytes({19, 5})}}};
}

// Set-ups of 5 cycles: 11 + 29 + 8 and 7 for the way back. Writes of 3. A poll
// takes 4: at 4 cycles the job still runs, at 8 it has ended.
HandCountedProgram OnSlowerHost() {
  return {.name = "SlowerHost",
          .program =
              OneConvolution("extends: \"toy-array-unit\" "
                             "set { name: \"link_setup_cycles\" value: 5 } "
                             "set { name: \"register_write_cycles\" value: 3 } "
                             "set { name: \"poll_cycles\" value: 4 }"),
          .outcome = {.error = "",
                      .cycles = 48 + 33 + 8 + 7,
                      .layer_cycles = {48, 33 + 8 + 7},
                      .busy_cycles = {6, 96},
                      .bytes_read = 33,
                      .bytes_written = 2,
                      .taps = {},
                      .outputs = {Bytes({19, 5})}}};
}

// A convolution of a row of 4 with a window of 3 (12 products), and the row
// added to itself (4 elements), at one time.
//
//   cycles   host                                   a         b      layer
//   0..19    moves of 3, 12 and 4 bytes                              load
//   19..30   11 writes to a                                          conv
//   30..40   10 writes to b                         works            conv
//   40..42   2 reads of a                           works     works  conv
//   42..44   2 reads of b                                     works  add
//   44..52   2 moves of 4 bytes                                      store
//
// Sums of the window 3, 6, 9, 7, halved upwards; (x*2/2 + x*2/2) / 2 = x.
HandCountedProgram SideBySide() {
  Builder b("extends: \"toy-two-array-unit\"", {"load", "conv", "add", "store"},
            Bytes({1, 2, 3, 4}));
  b.LoadConstant(0x40, Bytes({1, 1, 1}), 0);
  b.LoadConstant(0x60, Words({0, kHalf, 0}), 0);
  b.Move(kRam, kRamBase, kLocal, 0, 4, 0);
  b.Write(0, 1,
          {{kKernel, 1},
           {kInSize, Pair(1, 4)},
           {kOutSize, Pair(1, 4)},
           {kInChannels, 1},
           {kWindow, Pair(1, 3)},
           {kPadding, Pair(0, 1)},
           {kWeightsAddr, 0x40},
           {kTableAddr, 0x60},
           {kOutAddr, 0x80},
           {kClamp, kNoClamp}});
  b.Write(1, 2,
          {{kKernel, 3},
           {kOutSize, Pair(1, 4)},
           {kOutAddr, 0xa0},
           {kClamp, kNoClamp},
           {kInMultiplier, kHalf},
           {kIn2Multiplier, kHalf},
           {kOutMultiplier, kHalf},
           {kShifts, kNoShifts},
           {kLeftShift, 1}});
  b.Poll(0, 1);
  b.Poll(1, 2);
  b.Store(0x80, 4, 3);
  b.Store(0xa0, 4, 3);
  return {.name = "SideBySide",
          .program = b.Finish(),
          .outcome = {.error = "",
                      .cycles = 52,
                      .layer_cycles = {19, 23, 2, 8},
                      .busy_cycles = {12, 4, 52},
                      .bytes_read = 19,
                      .bytes_written = 8,
                      .taps = {},
                      .outputs = {Bytes({2, 3, 5, 4}), Bytes({1, 2, 3, 4})}}};
}

// A maximum over 2 x 2 (4 products) and a depthwise convolution by 3, on b one
// after the other, which no two can be at once.
//
//   moves of 1, 12 and 4 bytes                     17  load
//   10 writes, 4 reads                             14  max
//   11 writes, 1 read of the one output            12  depth
//   1 byte back                                     1  depth
//
// Registers keep what they held: the second job writes the sizes anew, and the
// channels, which the first did not need. 9*3 + 1 = 28, of which a half is 14.
HandCountedProgram OneAfterTheOther() {
  Builder b("extends: \"toy-two-array-unit\"", {"load", "max", "depth"},
            Bytes({7, 9, -3, 2}));
  b.LoadConstant(0x40, Bytes({3}), 0);
  b.LoadConstant(0x60, Words({1, kHalf, 0}), 0);
  b.Move(kRam, kRamBase, kLocal, 0, 4, 0);
  b.Write(1, 1,
          {{kKernel, 5},
           {kInSize, Pair(2, 2)},
           {kOutSize, Pair(1, 1)},
           {kOutChannelsM1, 0},
           {kWindow, Pair(2, 2)},
           {kPadding, 0},
           {kIn2Addr, 0},
           {kOutAddr, 0x80},
           {kClamp, kNoClamp}});
  b.Poll(1, 1);
  b.Write(1, 2,
          {{kKernel, 2},
           {kInSize, Pair(1, 1)},
           {kInChannels, 1},
           {kWindow, Pair(1, 1)},
           {kDepthMultiplier, 1},
           {kInAddr, 0x80},
           {kWeightsAddr, 0x40},
           {kTableAddr, 0x60},
           {kOutAddr, 0x90},
           {kClamp, kNoClamp}});
  b.Poll(1, 2);
  b.Store(0x90, 1, 2);
  return {.name = "OneAfterTheOther",
          .program = b.Finish(),
          .outcome = {.error = "",
                      .cycles = 44,
                      .layer_cycles = {17, 14, 13},
                      .busy_cycles = {0, 5, 44},
                      .bytes_read = 17,
                      .bytes_written = 1,
                      .taps = {},
                      .outputs = {Bytes({14})}}};
}

// One pixel of 3 channels, 4, 6 and 7, to 2. `writes` are those of a plain
// convolution and more.
ProgramCase OnePixel(
    const std::string& chip, int32_t engine, const std::string& weights,
    const std::string& table,
    std::initializer_list<std::pair<Register, uint32_t>> writes) {
  Builder b(chip, {"load", "conv"}, Bytes({4, 6, 7}));
  b.LoadConstant(0x40, weights, 0);
  b.LoadConstant(0x60, table, 0);
  b.Move(kRam, kRamBase, kLocal, 0, 3, 0);
  b.Write(engine, 1, writes);
  b.Poll(engine, 1);
  b.Store(0x80, 2, 1);
  return b.Finish();
}

// 4 + 2*6 + 3*7 = 37 and -37, of which a half is 18.5 and -18.5. 33 bytes in,
// 12 writes, 6 products, 2 bytes back.
HandCountedProgram OfShifts(bool down) {
  return {
      .name = down ? "HalvesDown" : "HalvesUp",
      .program = OnePixel(
          absl::StrCat("extends: \"toy-shift-unit\" ",
                       "set { name: \"half_up\" value: ", down ? 0 : 1, " }"),
          0, Bytes({1, 2, 3, -1, -2, -3}), Words({0, kHalf, 0, 0, kHalf, 0}),
          {{kKernel, 1},
           {kInSize, Pair(1, 1)},
           {kOutSize, Pair(1, 1)},
           {kInChannels, 3},
           {kOutChannelsM1, 1},
           {kWindow, Pair(1, 1)},
           {kWeightsAddr, 0x40},
           {kTableAddr, 0x60},
           {kOutAddr, 0x80},
           {kClamp, kNoClamp},
           {kFlags, down ? 2 : 0}}),
      .outcome = {.error = "",
                  .cycles = 33 + 12 + 6 + 2,
                  .layer_cycles = {33, 12 + 6 + 2},
                  .busy_cycles = {6, 53},
                  .bytes_read = 33,
                  .bytes_written = 2,
                  .taps = {},
                  .outputs = {down ? Bytes({18, -19}) : Bytes({19, -18})}}};
}

// 4 + 6 + 7 = 17 and 4 - 6 - 7 = -9; of gain 4, the codes 4 and -3, which is
// below -2. 4*5 + 3 = 23 and -2*5 - 1 = -11; of which half, down, 11 and -6. 33
// bytes in, 15 writes, 6 products, 2 bytes back.
HandCountedProgram OfConverters(const std::string& chip, int32_t engine) {
  constexpr uint32_t kMiddle = 32768;
  std::vector<int64_t> busy(engine, 0);
  busy.insert(busy.end(), {6, 56});
  return {.name = "Converter",
          .program =
              OnePixel(absl::StrCat("extends: \"", chip, "\""), engine,
                       Bytes({1, 1, 1, 1, -1, -1}), Words({0, 5, 3, 0, 5, -1}),
                       {{kKernel, 1},
                        {kInSize, Pair(1, 1)},
                        {kOutSize, Pair(1, 1)},
                        {kInChannels, 3},
                        {kOutChannelsM1, 1},
                        {kWindow, Pair(1, 1)},
                        {kWeightsAddr, 0x40},
                        {kTableAddr, 0x60},
                        {kOutAddr, 0x80},
                        {kClamp, kNoClamp},
                        {kFlags, 16},
                        {kGain, 4},
                        {kCodes, Pair(kMiddle - 2, kMiddle + 31)},
                        {kCodeShift, 1}}),
          .outcome = {.error = "",
                      .cycles = 33 + 15 + 6 + 2,
                      .layer_cycles = {33, 15 + 6 + 2},
                      .busy_cycles = std::move(busy),
                      .bytes_read = 33,
                      .bytes_written = 2,
                      .taps = {},
                      .outputs = {Bytes({11, -6})}}};
}

// 7*4 - 8*6 + 7 = -13 and 4 - 6 + 7 = 5, of which a half is -6.5, hence -6, and
// 2.5, hence 3. As many cycles as any weights take.
HandCountedProgram OfInt4() {
  return {.name = "Int4",
          .program = OnePixel("extends: \"toy-int4-unit\"", 0,
                              Bytes({7, -8, 1, 1, -1, 1}),
                              Words({0, kHalf, 0, 0, kHalf, 0}),
                              {{kKernel, 1},
                               {kInSize, Pair(1, 1)},
                               {kOutSize, Pair(1, 1)},
                               {kInChannels, 3},
                               {kOutChannelsM1, 1},
                               {kWindow, Pair(1, 1)},
                               {kWeightsAddr, 0x40},
                               {kTableAddr, 0x60},
                               {kOutAddr, 0x80},
                               {kClamp, kNoClamp}}),
          .outcome = {.error = "",
                      .cycles = 33 + 11 + 6 + 2,
                      .layer_cycles = {33, 11 + 6 + 2},
                      .busy_cycles = {6, 52},
                      .bytes_read = 33,
                      .bytes_written = 2,
                      .taps = {},
                      .outputs = {Bytes({-6, 3})}}};
}

}  // namespace

std::vector<HandCountedProgram> HandCountedOfShifts(bool down) {
  return {OfShifts(down)};
}

std::vector<HandCountedProgram> HandCountedOfConverters(const std::string& chip,
                                                        int32_t engine) {
  return {OfConverters(chip, engine)};
}

std::vector<HandCountedProgram> HandCountedOfInt4() { return {OfInt4()}; }

std::vector<HandCountedProgram> HandCountedOfOneEngine() {
  return {OnUnit(), OnSlowerHost()};
}

std::vector<HandCountedProgram> HandCountedOfTwoEngines() {
  return {SideBySide(), OneAfterTheOther()};
}

}  // namespace edgekiln::simfarm::conformance::register_job
