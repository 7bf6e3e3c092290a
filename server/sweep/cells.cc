#include "server/sweep/cells.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/sweep/model_name.h"
#include "target/recipes.h"

namespace edgekiln::server {
namespace {

void AddFiles(const google::protobuf::RepeatedPtrField<v1::SweepFile>& files,
              v1::DataRef& data) {
  for (const v1::SweepFile& file : files) *data.add_files() = file.digest();
}

void AddNamed(const google::protobuf::RepeatedPtrField<v1::SweepFile>& files,
              google::protobuf::RepeatedPtrField<v1::NamedBlob>& named) {
  for (const v1::SweepFile& file : files) {
    v1::NamedBlob& blob = *named.Add();
    blob.set_name(file.name());
    *blob.mutable_digest() = file.digest();
  }
}

void SetOptions(const v1::SweepOptions& options, v1::JobOptions& job) {
  if (options.has_calibrate()) *job.mutable_calibrate() = options.calibrate();
  if (options.quantization().ByteSizeLong() > 0) {
    *job.mutable_quantization() = options.quantization();
  }
  job.set_seed(options.seed());
  job.set_limit(options.limit());
  job.set_io(options.io());
  job.set_offload(options.offload());
  job.set_metric(options.metric());
}

// Totals without what only one report is read for.
v1::Report Slim(const v1::Report& report) {
  v1::Report slim = report;
  for (v1::Report::Engine& engine : *slim.mutable_engines()) {
    engine.clear_segments();
  }
  slim.clear_layers();
  slim.clear_stages();
  slim.clear_tensors();
  slim.clear_whole();
  if (slim.accuracy().has_disagreement()) {
    slim.mutable_accuracy()->mutable_disagreement()->clear_sample();
  }
  slim.clear_error();
  return slim;
}

}  // namespace

std::string CellRequestId(absl::string_view sweep, int cell) {
  return absl::StrCat(kCellPrefix, sweep, "/", cell);
}

std::optional<std::string> SweepOfCell(absl::string_view request_id) {
  if (!absl::ConsumePrefix(&request_id, kCellPrefix)) return std::nullopt;
  return std::string(request_id.substr(0, request_id.find('/')));
}

std::string DescriptorOf(const v1::SweepPlan& plan, int variant) {
  const v1::SweepPlan::Variant& chosen = plan.variants(variant);
  return absl::StrCat(plan.texts(chosen.text()), chosen.tail());
}

v1::CreateJobRequest ModelRequest(const v1::SweepModel& model) {
  v1::CreateJobRequest job;
  job.set_model_name(SweepModelName(model));
  *job.mutable_model() = model.digest();
  *job.mutable_transforms() = model.transforms();
  if (model.calibration_size() > 0) {
    AddFiles(model.calibration(), *job.mutable_calibration());
  }
  if (model.data_size() > 0) AddFiles(model.data(), *job.mutable_data());
  v1::ModelBindings bindings;
  *bindings.mutable_dimensions() = model.dimensions();
  AddNamed(model.inputs(), *bindings.mutable_inputs());
  AddNamed(model.external_data(), *bindings.mutable_external_data());
  if (bindings.ByteSizeLong() > 0) *job.mutable_bindings() = bindings;
  return job;
}

v1::CreateJobRequest CellRequest(absl::string_view sweep_id,
                                 const v1::CreateJobRequest& sweep,
                                 const v1::SweepPlan& plan, int cell,
                                 const v1::Digest& target) {
  const v1::SweepPlan::Cell& planned = plan.cells(cell);
  const v1::SweepGroup& group = sweep.sweep().groups(planned.group());
  const v1::SweepModel& model = group.models(planned.model());
  v1::CreateJobRequest job = ModelRequest(model);
  job.set_request_id(CellRequestId(sweep_id, cell));
  v1::TargetRef& ref = *job.add_targets();
  ref.set_name(plan.variants(planned.variant()).name());
  *ref.mutable_digest() = target;
  const bool validate = group.goal() == v1::SWEEP_VALIDATE;
  job.add_goals(validate ? v1::VALIDATE : v1::PROFILE);
  v1::JobOptions& options = *job.mutable_options();
  SetOptions(planned.options(), options);
  options.set_timing_only(group.goal() == v1::SWEEP_TIMING);
  options.set_label_offset(model.label_offset());
  options.set_job_class(v1::BATCH);
  // As a job that names none.
  if (planned.recipe() != target::kDefaultRecipe) {
    options.set_recipe(planned.recipe());
  }
  const v1::JobOptions& all = sweep.options();
  if (all.has_queue_deadline()) {
    *options.mutable_queue_deadline() = all.queue_deadline();
  }
  if (all.has_run_deadline()) {
    *options.mutable_run_deadline() = all.run_deadline();
  }
  return job;
}

v1::SweepRow PlannedRow(const v1::SweepRequest& request,
                        const v1::SweepPlan& plan, int cell) {
  const v1::SweepPlan::Cell& planned = plan.cells(cell);
  const v1::SweepGroup& group = request.groups(planned.group());
  v1::SweepRow row;
  row.set_cell(cell);
  row.set_group(planned.group());
  row.set_model(SweepModelName(group.models(planned.model())));
  row.set_target(plan.targets(planned.target()));
  row.set_recipe(planned.recipe());
  for (int i = 0; i < group.vary_size(); ++i) {
    v1::SweepRow::Value& value = *row.add_values();
    value.set_key(group.vary(i).key());
    value.set_value(group.vary(i).values(planned.values(i)));
    value.set_dropped(std::find(planned.dropped().begin(),
                                planned.dropped().end(),
                                i) != planned.dropped().end());
  }
  if (planned.state() == v1::SweepPlan::REFUSED) {
    row.set_state(v1::SweepRow::REFUSED);
    *row.mutable_error() = planned.error();
  } else if (planned.state() == v1::SweepPlan::MERGED) {
    row.set_state(v1::SweepRow::MERGED);
    row.set_same_as(planned.same_as());
  }
  return row;
}

void AddResult(const v1::Job& job, const v1::Report* report,
               v1::SweepRow& row) {
  row.set_job(job.id());
  if (report != nullptr) {
    *row.mutable_report() = Slim(*report);
    for (const v1::Report::Stage& stage : report->stages()) {
      if (stage.cache() == v1::Report::Stage::MISS) {
        row.set_stages_executed(row.stages_executed() + 1);
        row.set_cpu_seconds(row.cpu_seconds() + stage.cpu_seconds());
      } else {
        row.set_stages_hit(row.stages_hit() + 1);
      }
    }
  }
  if (job.state() == v1::SUCCEEDED) {
    row.set_state(v1::SweepRow::DONE);
    return;
  }
  row.set_state(job.state() == v1::CANCELLED ? v1::SweepRow::CANCELLED
                                             : v1::SweepRow::FAILED);
  *row.mutable_error() = job.error();
}

void AddError(const v1::ErrorDetail& error, v1::SweepRow& row) {
  row.set_state(v1::SweepRow::FAILED);
  *row.mutable_error() = error;
}

v1::SweepSummary SummaryOf(const v1::SweepPlan& plan) {
  v1::SweepSummary summary;
  summary.set_cells(plan.cells_size());
  summary.set_excluded(plan.excluded());
  for (const v1::SweepPlan::Cell& cell : plan.cells()) {
    switch (cell.state()) {
      case v1::SweepPlan::REFUSED:
        summary.set_refused(summary.refused() + 1);
        break;
      case v1::SweepPlan::MERGED:
        summary.set_merged(summary.merged() + 1);
        break;
      default:
        summary.set_valid(summary.valid() + 1);
    }
  }
  return summary;
}

void AddRow(const v1::SweepRow& row, v1::SweepSummary& summary) {
  summary.set_stages_executed(summary.stages_executed() +
                              row.stages_executed());
  summary.set_stages_hit(summary.stages_hit() + row.stages_hit());
  summary.set_cpu_seconds(summary.cpu_seconds() + row.cpu_seconds());
  if (row.state() == v1::SweepRow::DONE) {
    summary.set_done(summary.done() + 1);
    return;
  }
  summary.set_failed(summary.failed() + 1);
  const bool infra = row.error().fault() == v1::ErrorDetail::INFRA;
  if (infra) {
    summary.set_failed_by_service(summary.failed_by_service() + 1);
  } else {
    summary.set_failed_by_user(summary.failed_by_user() + 1);
  }
}

v1::SweepPlanned PlannedOf(const v1::SweepRequest& request,
                           const v1::SweepPlan& plan,
                           const v1::Digest& digest) {
  v1::SweepPlanned planned;
  *planned.mutable_summary() = SummaryOf(plan);
  *planned.mutable_plan() = digest;
  *planned.mutable_warnings() = plan.warnings();
  for (const v1::SweepGroup& group : request.groups()) {
    for (const v1::SweepVary& vary : group.vary()) {
      const auto& keys = planned.keys();
      if (std::find(keys.begin(), keys.end(), vary.key()) == keys.end()) {
        planned.add_keys(vary.key());
      }
    }
  }
  return planned;
}

}  // namespace edgekiln::server
