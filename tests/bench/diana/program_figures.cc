#include "tests/bench/diana/program_figures.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/host_cost.h"
#include "target/move_cost.h"
#include "target/register_jobs.h"

namespace edgekiln::bench {
namespace {

using target::JobVariable;
using target::JobVariables;

constexpr int64_t kArray = 16;  // Rows and columns of the array.
constexpr int64_t kBlockCycles = 23;
constexpr int64_t kWordBytes = 4;
constexpr int64_t kFetchBytes = 16;  // A cycle.

// docs/targets/diana.md, section 7, without parameters.
int64_t BlockCycles(const JobVariables& v, v1::RegisterJobs::Kernel kernel) {
  const int64_t h = v[JobVariable::kOutH];
  const int64_t w = v[JobVariable::kOutW];
  const int64_t c = v[JobVariable::kOutC];
  if (kernel == v1::RegisterJobs::ADDITION) return CeilDiv(h * w * c, kArray);
  if (v[JobVariable::kKernel] == 4) {  // Dense.
    return CeilDiv(c, kArray) *
           (CeilDiv(v[JobVariable::kInC], kArray) + kBlockCycles);
  }
  int64_t rows_of_blocks = 0;
  for (int64_t y = 0; y < h; ++y) {
    const int64_t top = y * v[JobVariable::kStrideH] - v[JobVariable::kPadTop];
    const int64_t rows =
        std::min(v[JobVariable::kInH], top + v[JobVariable::kKernelH]) -
        std::max<int64_t>(top, 0);
    rows_of_blocks += v[JobVariable::kInC] * std::max<int64_t>(rows, 0) *
                          (v[JobVariable::kKernelW] + 2) +
                      kBlockCycles;
  }
  return CeilDiv(w, kArray) * CeilDiv(c, kArray) * rows_of_blocks;
}

class Reader {
 public:
  Reader(const v1::Program& program, const v1::Machine& machine,
         std::vector<target::RegisterJobsView> views, target::HostCosts costs,
         int64_t tile_cycles)
      : program_(program),
        machine_(machine),
        views_(std::move(views)),
        costs_(std::move(costs)),
        tile_cycles_(tile_cycles) {
    for (const target::RegisterJobsView& view : views_) {
      held_.emplace_back(view.jobs().registers_size(), 0);
    }
  }

  absl::StatusOr<ProgramFigures> Run() {
    for (const v1::Program::Layer& layer : program_.layers()) {
      LayerFigures& figures = all_.layers.emplace_back();
      figures.id = layer.id();
      figures.op = layer.op();
      figures.on_array = layer.engine() >= 0;
      figures.depthwise = layer.kind() == v1::DEPTH;
      figures.macs = layer.macs();
      figures.full = layer.predicted_cycles();
    }
    FindBorders();
    for (int s = 0; s < program_.steps_size(); ++s) {
      const v1::Program::Step& step = program_.steps(s);
      if (step.has_register_writes()) {
        EK_RETURN_IF_ERROR(AddJob(step.register_writes()));
      } else if (step.has_move()) {
        EK_RETURN_IF_ERROR(AddMove(step.move(), s < first_ || s > last_));
      }
    }
    for (LayerFigures& layer : all_.layers) {
      layer.full -= layer.at_border;
      if (!layer.on_array) layer.host_op = layer.full - layer.relayout;
      Add(layer);
    }
    int64_t counted = 0;  // Bytes before it are.
    for (const auto& [begin, end] : encoded_) {
      all_.encoded_bytes +=
          std::max<int64_t>(end - std::max(begin, counted), 0);
      counted = std::max(counted, end);
    }
    all_.l2_bytes = program_.flash_bytes() + program_.ram_bytes();
    return std::move(all_);
  }

 private:
  // What is moved before the first job and after the last one.
  void FindBorders() {
    first_ = program_.steps_size();
    for (int s = 0; s < program_.steps_size(); ++s) {
      const v1::Program::Step& step = program_.steps(s);
      if (!step.has_register_writes() && !step.has_host_op()) continue;
      first_ = std::min(first_, s);
      last_ = s;
    }
  }

  absl::Status AddJob(const v1::Program::RegisterWrites& writes) {
    const target::RegisterJobsView& view = views_[writes.engine()];
    std::vector<int64_t>& held = held_[writes.engine()];
    for (const auto& write : writes.writes()) {
      const int32_t at = view.FindRegister(write.offset());
      if (at >= 0) held[at] = view.Held(at, write.value());
    }
    const std::vector<uint32_t> words(writes.record().words().begin(),
                                      writes.record().words().end());
    view.HeldInRecord(words, absl::MakeSpan(held));
    EK_ASSIGN_OR_RETURN(const JobVariables variables, view.Decode(held));
    const int32_t position = view.FindCode(variables[JobVariable::kKernel]);
    EK_ASSIGN_OR_RETURN(const int64_t occupancy,
                        view.OccupancyCycles(position, variables));
    const v1::Machine::Engine& engine = machine_.engines(writes.engine());
    const int64_t host = engine.job_cycles() +
                         std::ssize(words) * engine.record_word_cycles() +
                         writes.writes_size() * engine.register_write_cycles();
    LayerFigures& layer = all_.layers[writes.layer()];
    if (view.HasCells(position)) {
      EK_ASSIGN_OR_RETURN(const target::CellRows cells,
                          view.CellsOf(position, variables));
      const int64_t begin = variables[JobVariable::kWeightsAddr];
      encoded_[begin] = begin + cells.bytes();
      layer.weights += occupancy;
      layer.loop += tile_cycles_;
      layer.job += host - tile_cycles_;
      ++layer.jobs;
      return absl::OkStatus();
    }
    const int64_t bytes = AddWeights(view, held, variables);
    const int64_t block =
        BlockCycles(variables, view.jobs().jobs(position).kernel());
    const int64_t fetch = CeilDiv(bytes, kFetchBytes);
    // Those of depthwise convolutions have no loop around them.
    const int64_t loop =
        layer.depthwise && variables[JobVariable::kInC] == 1 ? 0 : tile_cycles_;
    layer.block += block;
    layer.weights += fetch;
    layer.loop += loop;
    layer.job += host + occupancy - block - fetch - loop;
    ++layer.jobs;
    if (layer.depthwise) ++all_.depthwise_jobs;
    return absl::OkStatus();
  }

  // Bytes that the job brings; notes where they lie.
  int64_t AddWeights(const target::RegisterJobsView& view,
                     const std::vector<int64_t>& held,
                     const JobVariables& variables) {
    int64_t words = 0;
    for (int r = 0; r < view.jobs().registers_size(); ++r) {
      const std::string& name = view.jobs().registers(r).name();
      if (name == "CONV_WEIGHT_WORDS" || name == "DENSE_WEIGHT_WORDS") {
        words += held[r];
      }
    }
    if (words == 0) return 0;
    // Four channels of a depthwise convolution share a block.
    const int64_t begin =
        variables[JobVariable::kWeightsAddr] / kArray * kArray;
    int64_t& end = encoded_[begin];
    end = std::max(end, begin + words * kWordBytes);
    return words * kWordBytes;
  }

  absl::Status AddMove(const v1::Program::Move& move, bool border) {
    const v1::Layout& from = program_.layouts(move.from_layout());
    const v1::Layout& to = program_.layouts(move.to_layout());
    LayerFigures& layer = all_.layers[move.layer()];
    if (move.link() >= 0) {
      const v1::ResolvedLink& link = machine_.links(move.link());
      EK_ASSIGN_OR_RETURN(const int64_t cycles,
                          target::MoveCycles(link, from, to));
      EK_ASSIGN_OR_RETURN(const int64_t moves,
                          target::MoveTransfers(from, to, link.dimensions()));
      layer.transfers += cycles;
      layer.moves += moves;
      return absl::OkStatus();
    }
    int64_t bytes = from.element_bits() / 8;
    for (const int64_t extent : from.extents()) bytes *= extent;
    EK_ASSIGN_OR_RETURN(const int64_t cycles, costs_.CopyCycles(bytes));
    (border ? layer.at_border : layer.relayout) += cycles;
    return absl::OkStatus();
  }

  void Add(const LayerFigures& layer) {
    LayerFigures& sum = all_.sum;
    sum.macs += layer.macs;
    if (layer.on_array) all_.macs_on_array += layer.macs;
    sum.full += layer.full;
    sum.block += layer.block;
    sum.weights += layer.weights;
    sum.job += layer.job;
    sum.loop += layer.loop;
    sum.transfers += layer.transfers;
    sum.relayout += layer.relayout;
    sum.host_op += layer.host_op;
    sum.at_border += layer.at_border;
    sum.jobs += layer.jobs;
    sum.moves += layer.moves;
  }

  const v1::Program& program_;
  const v1::Machine& machine_;
  const std::vector<target::RegisterJobsView> views_;  // By engine.
  const target::HostCosts costs_;
  const int64_t tile_cycles_;
  int first_ = 0;
  int last_ = 0;
  std::vector<std::vector<int64_t>> held_;  // By engine and register.
  std::map<int64_t, int64_t> encoded_;      // First byte to one past the last.
  ProgramFigures all_;
};

}  // namespace

absl::StatusOr<v1::Program> ReadProgram(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  v1::Program program;
  if (!program.ParseFromString(bytes.str()) || program.steps().empty()) {
    return absl::NotFoundError(absl::StrCat(path, " holds no program"));
  }
  return program;
}

absl::StatusOr<ProgramFigures> FiguresOf(const v1::Program& program,
                                         const v1::Machine& machine,
                                         int64_t tile_cycles) {
  EK_ASSIGN_OR_RETURN(target::HostCosts costs,
                      target::HostCosts::Create(machine));
  std::vector<target::RegisterJobsView> views;
  for (int32_t e = 0; e < machine.engines_size(); ++e) {
    EK_ASSIGN_OR_RETURN(target::RegisterJobsView view,
                        target::RegisterJobsView::Create(machine, e));
    views.push_back(std::move(view));
  }
  return Reader(program, machine, std::move(views), std::move(costs),
                tile_cycles)
      .Run();
}

}  // namespace edgekiln::bench
