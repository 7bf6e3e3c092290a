#include "compiler/engines/register_job/placement.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/tiles.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {

using target::JobOperand;
using target::JobVariables;

absl::StatusOr<v1::Layout> LayoutOf(const Placement& placement,
                                    JobOperand operand,
                                    const JobVariables& variables) {
  return placement.chip->view().OperandLayout(placement.job, operand,
                                              variables);
}

absl::StatusOr<v1::Layout> WholeLayout(const Placement& placement,
                                       JobOperand operand) {
  EK_ASSIGN_OR_RETURN(
      const v1::Layout layout,
      LayoutOf(placement, operand, VariablesOfAll(placement.operation)));
  return target::Canonical(layout);
}

namespace {

constexpr int64_t kFewChannels = 16;

// Whether a memory does not hold what a job stages in it.
bool IsTooLarge(const absl::Status& refusal) {
  const auto detail = GetErrorDetail(refusal);
  return detail.has_value() && detail->reason == "STAGED_TOO_LARGE";
}

}  // namespace

absl::StatusOr<int32_t> FindJob(const Chip& chip, const Operation& operation,
                                v1::RegisterJobs::Kernel kernel) {
  const v1::RegisterJobs& jobs = chip.view().jobs();
  absl::Status refusal = absl::InvalidArgumentError(
      absl::StrCat("engine ", chip.machine().engines(chip.engine()).name(),
                   " has no job ", v1::RegisterJobs::Kernel_Name(kernel)));
  for (int32_t j = 0; j < jobs.jobs_size(); ++j) {
    if (jobs.jobs(j).kernel() != kernel) continue;
    for (const int64_t channels : {operation.out.c, kFewChannels, int64_t{1}}) {
      const TileSet tiles(operation, {operation.out.h, operation.out.w,
                                      std::min(channels, operation.out.c)});
      JobVariables variables = VariablesOf(operation, tiles.h->cuts[0],
                                           tiles.w->cuts[0], tiles.c->cuts[0]);
      variables[target::JobVariable::kKernel] = jobs.jobs(j).code();
      const absl::Status checked = chip.view().CheckJob(j, variables);
      if (checked.ok()) return j;
      // What no cut changes says more than what this cut is not.
      if (IsTooLarge(checked) || !IsTooLarge(refusal)) refusal = checked;
    }
  }
  return refusal;
}

namespace {

// The most output channels of one of the op's jobs.
absl::StatusOr<int64_t> MostChannels(const Chip& chip,
                                     const Operation& operation, int32_t job) {
  absl::Status refusal;
  for (int64_t channels = operation.out.c; channels > 0;
       channels = channels > kFewChannels
                      ? (channels - 1) / kFewChannels * kFewChannels
                      : channels / 2) {
    const TileSet tiles(operation,
                        {operation.out.h, operation.out.w, channels});
    const absl::Status checked = chip.view().CheckJob(
        job, VariablesOf(operation, tiles.h->cuts[0], tiles.w->cuts[0],
                         tiles.c->cuts[0]));
    if (checked.ok()) return channels;
    refusal.Update(checked);
  }
  return refusal;
}

// The convolution that computes blocks of channels of a depthwise one, and how
// many it computes side by side.
absl::Status UseDenseBlocks(const Chip& chip, Placement& placement) {
  const Operation& operation = placement.operation;
  const auto none = [](absl::string_view why) {
    return absl::UnimplementedError(absl::StrCat("no dense blocks: ", why));
  };
  if (operation.kernel != v1::RegisterJobs::DEPTHWISE_CONVOLUTION ||
      operation.depth_multiplier != 1 || operation.out.c == 1) {
    return none("the op is no depthwise convolution of several channels");
  }
  // Not one of a single pixel or channel.
  Operation block = operation;
  block.in.c = block.out.c = 2;
  block.kernel = v1::RegisterJobs::CONVOLUTION;
  const auto job = FindJob(chip, block, block.kernel);
  if (!job.ok()) return none(job.status().message());
  placement.job = *job;
  const v1::RegisterJobs::Job& found = chip.view().jobs().jobs(*job);
  if (found.results() != v1::RegisterJobs::BY_SHIFT ||
      chip.view().MemoryOf(*job, JobOperand::kWeights) == chip.memory()) {
    return none("convolutions read their weights elsewhere");
  }
  EK_ASSIGN_OR_RETURN(const v1::Layout weights,
                      chip.view().OperandLayout(*job, JobOperand::kWeights,
                                                VariablesOfAll(operation)));
  for (const v1::Layout::Term& term : weights.terms()) {
    if (term.axis() == 0) {
      placement.block = std::max(placement.block, term.modulo());
    }
  }
  placement.block = std::min(placement.block, operation.out.c);
  if (placement.block < 2) return none("the engine has one channel at a time");
  return absl::OkStatus();
}

// Memory and layout of the output must equal the input's.
absl::Status CheckOver(const Placement& placement) {
  const Operand& output = placement.output;
  if (output.over == kNoTensor) return absl::OkStatus();
  for (const Operand* input : {&placement.input, &placement.input2}) {
    if (input->tensor == output.over && input->resident && output.resident &&
        placement.operation.element_by_element() &&
        input->whole.SerializeAsString() == output.whole.SerializeAsString()) {
      return absl::OkStatus();
    }
  }
  return absl::UnimplementedError(
      absl::StrCat("the output cannot lie over tensor ", output.over,
                   ": not an operand of "
                   "the same layout that is read element by element"));
}

}  // namespace

absl::StatusOr<Placement> PlaceOperands(const Chip& chip, const Region& region,
                                        int32_t ram, const Borders& borders,
                                        bool dense_blocks) {
  if (region.ops.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a region of ", region.ops.size(),
                     " ops: the host starts them one by one"));
  }
  Placement placement;
  placement.chip = &chip;
  EK_ASSIGN_OR_RETURN(placement.operation,
                      OperationOf(*region.graph, region.ops[0]));
  Operation& operation = placement.operation;
  if (dense_blocks) {
    EK_RETURN_IF_ERROR(UseDenseBlocks(chip, placement));
  } else {
    EK_ASSIGN_OR_RETURN(
        placement.job, FindJob(chip, operation, operation.kernel),
        absl::StrCat("layer ", region.graph->ops[region.ops[0]].id));
  }
  const v1::RegisterJobs::Job& job = chip.view().jobs().jobs(placement.job);
  operation.variables[target::JobVariable::kKernel] = job.code();
  if (job.results() == v1::RegisterJobs::BY_SHIFT) {
    EK_RETURN_IF_ERROR(UseShift(operation));
  }
  if (job.results() == v1::RegisterJobs::BY_CONVERTER) {
    EK_RETURN_IF_ERROR(UseConverter(operation));
  }
  if (chip.view().HasCells(placement.job)) {
    EK_ASSIGN_OR_RETURN(placement.cell_channels,
                        MostChannels(chip, operation, placement.job));
  }
  placement.constants_in_place =
      operation.weights != kNoTensor &&
      chip.view().MemoryOf(placement.job, JobOperand::kWeights) !=
          chip.memory();
  const auto place = [&](TensorId tensor, const Image& image,
                         int64_t element_bytes,
                         Operand& operand) -> absl::Status {
    if (tensor == kNoTensor) return absl::OkStatus();
    operand.tensor = region.storage[tensor];
    const auto border = borders.find(operand.tensor);
    if (border == borders.end()) {
      operand.memory = ram;
      operand.whole =
          target::DenseLayout({image.h, image.w, image.c}, element_bytes);
      return absl::OkStatus();
    }
    operand.memory = border->second.memory;
    operand.resident = operand.memory == chip.memory();
    std::optional<v1::Layout> whole =
        target::InShape(border->second.layout, {image.h, image.w, image.c});
    if (!whole) {
      return absl::UnimplementedError(absl::StrCat(
          "tensor ", region.graph->tensors[operand.tensor].name,
          ": no layout says where the engine's image has its elements"));
    }
    operand.whole = *std::move(whole);
    operand.over = border->second.over;
    return absl::OkStatus();
  };
  EK_RETURN_IF_ERROR(place(operation.input, operation.in, operation.input_bytes,
                           placement.input));
  // Rows with a gap between them are a transfer each.
  operation.takes_whole_axes = placement.input.resident || chip.rearranges();
  EK_RETURN_IF_ERROR(place(operation.input2, operation.in,
                           operation.input_bytes, placement.input2));
  EK_RETURN_IF_ERROR(place(operation.output, operation.out,
                           operation.output_bytes, placement.output));
  EK_RETURN_IF_ERROR(CheckOver(placement));
  return placement;
}

bool Placement::cuts_jobs() const {
  const v1::RegisterJobs::Job& described = chip->view().jobs().jobs(job);
  return constants_in_place || described.where_size() > 0;
}

std::vector<const Operand*> ResidentsOf(const Placement& placement) {
  std::vector<const Operand*> residents;
  for (const Operand* operand :
       {&placement.input, &placement.input2, &placement.output}) {
    if (!operand->present() || !operand->resident) continue;
    if (operand == &placement.input2 && placement.input.resident &&
        placement.input.tensor == operand->tensor) {
      continue;
    }
    residents.push_back(operand);
  }
  return residents;
}

int64_t ResidentBytes(const Placement& placement) {
  int64_t bytes = 0;
  for (const Operand* operand : ResidentsOf(placement)) {
    if (operand->over != kNoTensor) continue;
    bytes += placement.chip->Aligned(operand->whole.size_bytes());
  }
  return bytes;
}

}  // namespace edgekiln::compiler::register_job
