#ifndef EK_SIMFARM_SESSION_SESSION_H_
#define EK_SIMFARM_SESSION_SESSION_H_

// A compiled program on a simulated chip, ready to run inferences.
//
//   EK_ASSIGN_OR_RETURN(auto session,
//                       LoadSession(program, constants, machine, options));
//   EK_ASSIGN_OR_RETURN(v1::SimReport report,
//                       session->RunChecked(inputs, visit_tap, &outputs));
//   for (...) EK_RETURN_IF_ERROR(session->Run(inputs, visit_tap, &outputs));

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/timeline.pb.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm {

struct FirmwareProfile;  // firmware_profile.h

// Of all engines together: in a report, and in a complete timeline.
inline constexpr int64_t kMaxReportSegments = 4096;
inline constexpr int64_t kMaxTimelineSegments = int64_t{1} << 20;

struct SessionOptions {
  CpuPath cpu_path = CpuPath::kBest;
  // Of all simulated memories together, as far as the program reaches.
  int64_t max_memory_bytes = int64_t{4} << 30;
  // Bytes of an element of each tensor of the quantized graph, by Tap.tensor.
  // Empty: the program's taps are neither checked nor delivered.
  std::vector<int64_t> tensor_element_bytes;
  // The report has segments, kMaxReportSegments at most.
  bool segments = false;
  // Of one inference of firmware; 0: by the size of the network
  // (docs/targets/rv32.md).
  int64_t max_instructions = 0;
  // Checked runs of firmware fill Session::profile(). They take longer.
  bool profile = false;
};

// What one inference took.
struct RunCount {
  int64_t instructions = 0;  // Of firmware.
  int64_t cycles = 0;        // Of Machine.clock_hz.

  friend bool operator==(const RunCount&, const RunCount&) = default;
};

// Called for every tap in the order in which they become visible, with the
// values of its box, dense. The bytes are valid during the
// call. An error ends the run. May be empty.
using TapVisitor = std::function<absl::Status(const v1::Program::Tap& tap,
                                              absl::string_view values)>;

// Called with what a memory of the machine holds from an address on.
using MemoryVisitor = std::function<void(int32_t memory, uint64_t address,
                                         absl::string_view bytes)>;

// Not thread-safe; clones are independent and can run in parallel.
class Session {
 public:
  virtual ~Session() = default;

  // Runs one inference on poisoned memory and checks every access: bytes that
  // nothing wrote, races, and that outputs and taps are complete. Errors name
  // command index, mnemonic, address and layer. `inputs` holds one dense value
  // per Program.inputs, `outputs` gets one per Program.outputs. An empty value
  // for the input of a carry stands for its value in states().
  virtual absl::StatusOr<v1::SimReport> RunChecked(
      absl::Span<const absl::string_view> inputs, const TapVisitor& visit_tap,
      std::vector<std::string>* outputs) = 0;

  // The same values without the checks, for programs that passed RunChecked()
  // once (here, in a clone, or elsewhere: control flow does not depend on
  // data, but for firmware). Memory-safe in any case. Firmware is set up by the
  // first run, and by the one that follows an error.
  virtual absl::Status Run(absl::Span<const absl::string_view> inputs,
                           const TapVisitor& visit_tap,
                           std::vector<std::string>* outputs) = 0;

  // What a run with these inputs begins with: segments, of the program or of
  // the ELF file, then inputs, in their order. What a loader of the bundle has
  // to bring about.
  virtual absl::Status VisitStart(absl::Span<const absl::string_view> inputs,
                                  const MemoryVisitor& visit) = 0;

  // One dense value per Program.carries: real zero at first, then what the last
  // successful run left in the carry's output.
  virtual const std::vector<std::string>& states() const = 0;
  // INVALID_ARGUMENT if there are not as many, or one has another size. An
  // empty list sets all to real zero.
  virtual absl::Status SetStates(std::vector<std::string> values) = 0;

  // What RunChecked() returns; cycles do not depend on data. Those of firmware
  // do: what it last returned, here or in the session that this is a clone of;
  // empty before.
  virtual const v1::SimReport& report() const = 0;

  // Of the last successful run, checked or not. Zero before.
  virtual RunCount last_run() const = 0;

  // Of the last successful checked run, with SessionOptions.profile; null
  // before, without, and for what is not firmware.
  virtual std::shared_ptr<const FirmwareProfile> profile() const {
    return nullptr;
  }

  // When every unit works. Above kMaxTimelineSegments, segments are merged.
  // FAILED_PRECONDITION for firmware before the first checked run.
  virtual absl::StatusOr<v1::Timeline> MakeTimeline() const = 0;

  // A session of the same program, with memory of its own; its states are zero
  // at first. Shares what is immutable.
  virtual std::unique_ptr<Session> Clone() const = 0;
};

// Checks everything that can be checked without running. `program` and
// `machine` are hostile. `constants` is the blob that Program.segments refer
// to, or the ELF file of firmware; it is copied. INVALID_ARGUMENT or
// FAILED_PRECONDITION for a program that cannot run, UNIMPLEMENTED for firmware
// of a processor that is not simulated, RESOURCE_EXHAUSTED above
// max_memory_bytes.
absl::StatusOr<std::unique_ptr<Session>> LoadSession(
    const v1::Program& program, absl::string_view constants,
    const v1::Machine& machine, const SessionOptions& options);

// What RunChecked() returns, without computing anything: encodings, addresses,
// order and reads of what nothing wrote are checked as there. What depends on
// values (tables of multipliers) is not; `program.segments` are not compared
// with constants. Errors as of LoadSession(); FAILED_PRECONDITION for firmware,
// whose cycles depend on data: a session counts them.
// `timeline` is null or gets what Session::MakeTimeline() returns.
absl::StatusOr<v1::SimReport> CountCycles(v1::Program program,
                                          const v1::Machine& machine,
                                          const SessionOptions& options,
                                          v1::Timeline* timeline = nullptr);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_SESSION_H_
