#include "simfarm/session/report.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "simfarm/session/timeline.h"
#include "simfarm/session/unit_segments.h"
#include "simfarm/simulators/cycle_limit.h"

namespace edgekiln::simfarm {
namespace {

using Spent = StreamTiming::Spent;

struct Span {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t layer = 0;
  Spent spent = Spent::kComputing;
};

// A stream of an engine, launched at wall cycle `begin`, or a job.
struct Run {
  int64_t begin = 0;
  const LoadedStream* stream = nullptr;
  Span job;
};

// How many reads the host needs so that the last one ends at least `wait` wall
// cycles after the first began; each takes `cycles` >= 1 of the host's clock.
__int128 ReadsUntil(int64_t wait, int64_t cycles, int64_t host_hz,
                    int64_t wall_hz) {
  if (wait <= 0) return 1;
  const __int128 read = __int128{cycles} * wall_hz;
  return (__int128{wait} * host_hz + read - 1) / read;
}

class ReportMaker {
 public:
  // `segments` is null or gets what units do.
  ReportMaker(const LoadedProgram& loaded, UnitSegments* segments)
      : loaded_(loaded),
        segments_(segments),
        timeline_(loaded.program.layers_size()),
        runs_(loaded.machine.engines_size()),
        engine_end_(loaded.machine.engines_size(), 0),
        engine_busy_(loaded.machine.engines_size(), 0) {
    for (const v1::Program::Layer& layer : loaded.program.layers()) {
      v1::SimReport::LayerCycles* cycles = report_.add_layers();
      cycles->set_layer(report_.layers_size() - 1);
      // A job's time is one formula over its shape.
      const bool by_command =
          layer.engine() >= 0 &&
          !loaded.machine.engines(layer.engine()).has_jobs();
      cycles->set_fidelity(by_command ? v1::CYCLE_APPROXIMATE : v1::ESTIMATE);
    }
  }

  absl::StatusOr<v1::SimReport> Make() {
    for (size_t i = 0; i < loaded_.steps.size(); ++i) {
      EK_RETURN_IF_ERROR(
          Step(loaded_.program.steps(static_cast<int>(i)), loaded_.steps[i]));
    }
    // In order of precedence.
    for (const bool computing : {true, false}) {
      for (const std::vector<Run>& runs : runs_) {
        for (const Run& run : runs) EK_RETURN_IF_ERROR(Own(run, computing));
      }
      if (runs_.size() == 1) break;  // It did both.
    }
    for (const Span& span : host_spans_) Own(span);
    return Finish();
  }

 private:
  absl::Status Step(const v1::Program::Step& step, const LoadedStep& loaded) {
    switch (step.step_case()) {
      case v1::Program::Step::kHostOp:
        return HostWork(loaded.host_cycles, step.host_op().layer(),
                        v1::TimelineSegment::HOST_OP);
      case v1::Program::Step::kMove:
        if (step.move().link() >= 0) CountMoved(step.move(), loaded);
        return HostWork(loaded.host_cycles, step.move().layer(),
                        v1::TimelineSegment::HOST_MOVE);
      case v1::Program::Step::kLaunch:
        return Launch(loaded_.streams[loaded.stream]);
      case v1::Program::Step::kRegisterWrites:
        if (loaded.job_cycles.has_value()) {
          EK_RETURN_IF_ERROR(Job(step.register_writes(), loaded));
        }
        return HostWork(loaded.host_cycles, step.register_writes().layer(),
                        v1::TimelineSegment::HOST_REGISTERS);
      case v1::Program::Step::kPoll:
        return Poll(step.poll(), loaded.sees_end);
      default:
        now_ = std::max(now_, engine_end_[step.wait().engine()]);
        return absl::OkStatus();
    }
  }

  void Own(const Span& span) {
    timeline_.Add(span.begin, span.end, span.layer, span.spent);
  }

  // Adds either the computing or the other segments of a run; both in order if
  // the machine has one engine, since its segments do not overlap.
  absl::Status Own(const Run& run, bool computing) {
    if (run.stream == nullptr) {
      if (computing) Own(run.job);
      return absl::OkStatus();
    }
    const LoadedStream& stream = *run.stream;
    const int64_t engine_hz = loaded_.machine.engines(stream.engine).clock_hz();
    int64_t begin = run.begin;
    for (const StreamTiming::Segment& segment :
         stream.stream->timing().segments) {
      EK_ASSIGN_OR_RETURN(
          const int64_t offset,
          ConvertCycles(segment.end, engine_hz, loaded_.machine.clock_hz()));
      const int64_t end = run.begin + offset;
      if (runs_.size() == 1 ||
          (segment.spent == Spent::kComputing) == computing) {
        Own({begin, end, stream.layer_of_word[segment.word], segment.spent});
      }
      begin = end;
    }
    return absl::OkStatus();
  }

  absl::Status HostWork(int64_t cycles, int32_t layer,
                        v1::TimelineSegment::Kind kind) {
    EK_ASSIGN_OR_RETURN(const int64_t wall,
                        ConvertCycles(cycles, loaded_.machine.host_clock_hz(),
                                      loaded_.machine.clock_hz()));
    EK_RETURN_IF_ERROR(CheckRoom(wall));
    // Engines take precedence: added after them.
    host_spans_.push_back({now_, now_ + wall, layer});
    if (segments_ != nullptr) {
      segments_->Add(kHost, 0, {now_, now_ + wall, layer, kind});
    }
    now_ += wall;
    host_busy_ += cycles;
    return absl::OkStatus();
  }

  absl::Status Launch(const LoadedStream& stream) {
    const StreamTiming& timing = stream.stream->timing();
    EK_ASSIGN_OR_RETURN(
        const int64_t cycles,
        ConvertCycles(timing.cycles,
                      loaded_.machine.engines(stream.engine).clock_hz(),
                      loaded_.machine.clock_hz()));
    EK_RETURN_IF_ERROR(CheckRoom(cycles));
    runs_[stream.engine].push_back({now_, &stream, {}});
    engine_end_[stream.engine] = now_ + cycles;
    if (segments_ != nullptr) {
      EK_RETURN_IF_ERROR(segments_->AddStream(stream, now_));
    }
    engine_busy_[stream.engine] += timing.busy_cycles;
    for (const StreamTiming::Transfer& transfer : timing.transfers) {
      CountBytes(stream.layer_of_word[transfer.word], transfer.bytes_read,
                 transfer.bytes_written);
    }
    return absl::OkStatus();
  }

  void CountBytes(int32_t layer, int64_t read, int64_t written) {
    v1::SimReport::LayerCycles* of = report_.mutable_layers(layer);
    of->set_dma_bytes_read(of->dma_bytes_read() + read);
    of->set_dma_bytes_written(of->dma_bytes_written() + written);
    report_.set_dma_bytes_read(report_.dma_bytes_read() + read);
    report_.set_dma_bytes_written(report_.dma_bytes_written() + written);
  }

  // Counts bytes of system memory, as for streams.
  void CountMoved(const v1::Program::Move& move, const LoadedStep& loaded) {
    const int64_t bytes = loaded.from_layout->dense_bytes();
    CountBytes(move.layer(), loaded_.IsSystem(move.from().memory()) ? bytes : 0,
               loaded_.IsSystem(move.to().memory()) ? bytes : 0);
  }

  // The job starts at the end of the write that starts it.
  absl::Status Job(const v1::Program::RegisterWrites& writes,
                   const LoadedStep& loaded) {
    const v1::Machine::Engine& engine =
        loaded_.machine.engines(writes.engine());
    EK_ASSIGN_OR_RETURN(
        const int64_t offset,
        ConvertCycles(loaded.job_start_cycles, loaded_.machine.host_clock_hz(),
                      loaded_.machine.clock_hz()));
    EK_RETURN_IF_ERROR(CheckRoom(offset));
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        ConvertCycles(*loaded.job_cycles, engine.clock_hz(),
                                      loaded_.machine.clock_hz()));
    const auto busy =
        CheckedAdd(engine_busy_[writes.engine()], *loaded.job_cycles);
    v1::SimReport::LayerCycles* const layer =
        report_.mutable_layers(writes.layer());
    const auto of_layer = CheckedAdd(layer->job_cycles(), cycles);
    if (cycles > kMaxCycles - now_ - offset || !busy || !of_layer) {
      return TooManyCycles();
    }
    layer->set_job_cycles(*of_layer);
    const int64_t begin = now_ + offset;
    runs_[writes.engine()].push_back(
        {begin, nullptr, {begin, begin + cycles, writes.layer()}});
    engine_end_[writes.engine()] = begin + cycles;
    engine_busy_[writes.engine()] = *busy;
    if (segments_ != nullptr) {
      segments_->Add(writes.engine(), 0,
                     {begin, begin + cycles, writes.layer(),
                      v1::TimelineSegment::COMPUTE});
    }
    return absl::OkStatus();
  }

  // The last read is the first one that ends after the job.
  absl::Status Poll(const v1::Program::Poll& poll, bool sees_end) {
    const int64_t cycles = loaded_.machine.engines(poll.engine()).poll_cycles();
    const __int128 reads =
        ReadsUntil(sees_end ? engine_end_[poll.engine()] - now_ : 0, cycles,
                   loaded_.machine.host_clock_hz(), loaded_.machine.clock_hz());
    if (reads * cycles > kMaxCycles) return TooManyCycles();
    return HostWork(static_cast<int64_t>(reads) * cycles, poll.layer(),
                    v1::TimelineSegment::HOST_POLL);
  }

  absl::Status CheckRoom(int64_t cycles) const {
    return cycles <= kMaxCycles - now_ ? absl::OkStatus() : TooManyCycles();
  }

  absl::StatusOr<v1::SimReport> Finish() {
    int64_t sum = 0;
    for (int i = 0; i < report_.layers_size(); ++i) {
      const Timeline::Owned& owned = timeline_.owned()[i];
      v1::SimReport::LayerCycles* layer = report_.mutable_layers(i);
      const int64_t stall_cycles = owned.transfer_cycles +
                                   owned.contention_cycles +
                                   owned.control_cycles;
      layer->set_compute_cycles(owned.compute_cycles);
      layer->set_stall_cycles(stall_cycles);
      layer->set_cycles(owned.compute_cycles + stall_cycles);
      v1::StallCycles* stalls = layer->mutable_stalls();
      stalls->set_transfer_cycles(owned.transfer_cycles);
      stalls->set_contention_cycles(owned.contention_cycles);
      stalls->set_control_cycles(owned.control_cycles);
      sum += layer->cycles();
    }
    report_.set_cycles(now_);
    if (sum != now_) {
      return absl::InternalError(
          "cycles of the layers do not sum to the total");
    }
    for (int e = 0; e < loaded_.machine.engines_size(); ++e) {
      v1::SimReport::EngineBusy* engine = report_.add_engines();
      engine->set_name(loaded_.machine.engines(e).name());
      engine->set_clock_hz(loaded_.machine.engines(e).clock_hz());
      engine->set_busy_cycles(engine_busy_[e]);
    }
    v1::SimReport::EngineBusy* host = report_.add_engines();
    host->set_name(loaded_.machine.host_name());
    host->set_clock_hz(loaded_.machine.host_clock_hz());
    host->set_busy_cycles(host_busy_);
    return std::move(report_);
  }

  const LoadedProgram& loaded_;
  UnitSegments* segments_;
  Timeline timeline_;
  std::vector<std::vector<Run>> runs_;  // By engine.
  std::vector<int64_t> engine_end_;
  std::vector<int64_t> engine_busy_;
  std::vector<Span> host_spans_;
  int64_t host_busy_ = 0;
  int64_t now_ = 0;  // Of the host, in cycles of the wall clock.
  v1::SimReport report_;
};

}  // namespace

absl::StatusOr<v1::SimReport> MakeReport(const LoadedProgram& loaded) {
  if (!loaded.options.segments) return ReportMaker(loaded, nullptr).Make();
  UnitSegments segments(loaded);
  EK_ASSIGN_OR_RETURN(v1::SimReport report,
                      ReportMaker(loaded, &segments).Make());
  segments.Merge(kMaxReportSegments);
  for (int e = 0; e < report.engines_size(); ++e) {
    segments.Write(e, report.mutable_engines(e));
  }
  return report;
}

absl::StatusOr<v1::Timeline> MakeTimeline(const LoadedProgram& loaded) {
  UnitSegments segments(loaded);
  EK_ASSIGN_OR_RETURN(const v1::SimReport report,
                      ReportMaker(loaded, &segments).Make());
  v1::Timeline timeline;
  timeline.set_cycles(report.cycles());
  for (const v1::Program::Layer& layer : loaded.program.layers()) {
    timeline.add_layers(layer.id());
  }
  for (int e = 0; e < report.engines_size(); ++e) {
    v1::EngineTimeline* engine = timeline.add_engines();
    engine->set_name(report.engines(e).name());
    segments.Write(e, engine);
  }
  return timeline;
}

}  // namespace edgekiln::simfarm
