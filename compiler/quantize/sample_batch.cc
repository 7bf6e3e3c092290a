#include "compiler/quantize/sample_batch.h"

#include <algorithm>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/buffer_layout.h"
#include "compiler/ir/tensor_views.h"
#include "ops/dot_output.h"
#include "ops/evaluate.h"

namespace edgekiln::compiler {
namespace {

int64_t BytesOf(const Tensor& tensor) {
  return tensor.num_elements() * ElementBytes(tensor.type);
}

absl::StatusOr<std::unique_ptr<ops::PreparedOp>> Prepared(const Graph& graph,
                                                          const Op& op) {
  const std::vector<ops::TensorView> inputs = ViewsOf(graph, op.inputs);
  const std::vector<ops::TensorView> outputs = ViewsOf(graph, op.outputs);
  EK_ASSIGN_OR_RETURN(auto prepared,
                      ops::Prepare(op.attributes, inputs, outputs),
                      absl::StrCat("op ", op.id));
  return prepared;
}

}  // namespace

int64_t SamplesWithin(const Graph& graph, int64_t bytes) {
  const int64_t of_one = LayOutBuffers(graph, /*keep_all=*/false).bytes;
  return std::max<int64_t>(bytes / std::max<int64_t>(of_one, 1), 1);
}

SampleBatch::SampleBatch(const Graph& graph, int64_t samples,
                         ops::CpuPath cpu_path,
                         const std::vector<TensorId>& kept)
    : graph_(graph),
      samples_(samples),
      cpu_path_(cpu_path),
      last_reader_(graph.tensors.size(), -1),
      values_(graph.tensors.size()) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const auto* ids : {&graph.ops[i].inputs, &graph.ops[i].outputs}) {
      for (const TensorId id : *ids) {
        if (id != kNoTensor) last_reader_[id] = static_cast<int32_t>(i);
      }
    }
  }
  for (const auto* ids : {&graph.outputs, &kept}) {
    for (const TensorId id : *ids) last_reader_[id] = -1;
  }
  for (const TensorId id : graph.inputs) Allocate(id);
}

void SampleBatch::Allocate(TensorId tensor) {
  const int64_t bytes = BytesOf(graph_.tensors[tensor]) * samples_;
  values_[tensor] = {std::shared_ptr<char[]>(new char[bytes]), bytes};
}

void SampleBatch::Change(
    TensorId tensor,
    const std::function<void(char* values, int64_t bytes)>& change) {
  const int64_t bytes = BytesOf(graph_.tensors[tensor]) * samples_;
  const Buffer before = values_[tensor];
  Allocate(tensor);
  std::memcpy(values_[tensor].values.get(), before.values.get(), bytes);
  change(values_[tensor].values.get(), bytes);
}

absl::Status SampleBatch::SetInput(TensorId input, int64_t sample,
                                   absl::string_view bytes) {
  const int64_t one = BytesOf(graph_.tensors[input]);
  if (std::ssize(bytes) != one) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", graph_.tensors[input].name, "' has ",
                     bytes.size(), " bytes; its shape and type need ", one));
  }
  if (one > 0) {
    std::memcpy(values_[input].values.get() + sample * one, bytes.data(),
                bytes.size());
  }
  return absl::OkStatus();
}

absl::Status SampleBatch::SetInputs(const CalibrationSamples& samples) {
  for (int64_t sample = 0; sample < samples_; ++sample) {
    const std::vector<absl::string_view> inputs = samples.Inputs(sample);
    for (size_t i = 0; i < inputs.size(); ++i) {
      EK_RETURN_IF_ERROR(SetInput(graph_.inputs[i], sample, inputs[i]));
    }
  }
  return absl::OkStatus();
}

const char* SampleBatch::value(TensorId tensor, int64_t sample) const {
  const Tensor& of = graph_.tensors[tensor];
  if (of.is_constant()) return of.data->data();
  return values_[tensor].values.get() + sample * BytesOf(of);
}

absl::Status SampleBatch::RunApart(
    const Op& op, const Tensor& result, int64_t step,
    const std::function<void(int64_t sample, const char* values)>& look) {
  std::vector<ops::TensorView> inputs = ViewsOf(graph_, op.inputs);
  ops::TensorView type = ViewOf(result);
  EK_ASSIGN_OR_RETURN(const auto prepared,
                      ops::Prepare(op.attributes, inputs, {type}),
                      absl::StrCat("op ", op.id));
  const std::unique_ptr<char[]> values(new char[BytesOf(result)]);
  for (int64_t sample = 0; sample < samples_; sample += step) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId id = op.inputs[i];
      if (id != kNoTensor) inputs[i].data = value(id, sample);
    }
    EK_RETURN_IF_ERROR(
        prepared->Run(
            inputs, {{type.type, type.shape, values.get(), type.quantization}},
            cpu_path_),
        absl::StrCat("op ", op.id));
    look(sample, values.get());
  }
  return absl::OkStatus();
}

absl::Status SampleBatch::RunAll(std::initializer_list<SampleBatch*> batches,
                                 int32_t index) {
  const Graph& graph = (*batches.begin())->graph_;
  const Op& op = graph.ops[index];
  EK_ASSIGN_OR_RETURN(const auto prepared, Prepared(graph, op));
  for (SampleBatch* const batch : batches) {
    EK_RETURN_IF_ERROR(batch->RunPrepared(*prepared, op, nullptr));
  }
  return absl::OkStatus();
}

absl::Status SampleBatch::RunClamped(
    int32_t index, const Op& before, const v1::Clamp& clamp, int64_t step,
    const std::function<void(int64_t sample, const char* values)>& look) {
  EK_ASSIGN_OR_RETURN(const auto prepared, Prepared(graph_, before));
  const int64_t count = graph_.tensors[before.outputs[0]].num_elements();
  const ops::FloatRange range = ops::FloatRangeOf(clamp);
  return RunPrepared(*prepared, graph_.ops[index],
                     [&](int64_t sample, char* bytes) {
                       if (sample % step == 0) look(sample, bytes);
                       auto* const values = reinterpret_cast<float*>(bytes);
                       for (int64_t i = 0; i < count; ++i) {
                         values[i] = range.Apply(values[i]);
                       }
                     });
}

absl::Status SampleBatch::RunPrepared(const ops::PreparedOp& prepared,
                                      const Op& op, const Look& look) {
  std::vector<ops::TensorView> inputs = ViewsOf(graph_, op.inputs);
  std::vector<ops::MutableTensorView> outputs;
  for (const TensorId id : op.outputs) {
    Allocate(id);
    const ops::TensorView type = ViewOf(graph_.tensors[id]);
    outputs.push_back({type.type, type.shape, nullptr, type.quantization});
  }
  for (int64_t sample = 0; sample < samples_; ++sample) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId id = op.inputs[i];
      if (id != kNoTensor) inputs[i].data = value(id, sample);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId id = op.outputs[i];
      outputs[i].data =
          values_[id].values.get() + sample * BytesOf(graph_.tensors[id]);
    }
    EK_RETURN_IF_ERROR(prepared.Run(inputs, outputs, cpu_path_),
                       absl::StrCat("op ", op.id));
    if (look != nullptr) look(sample, static_cast<char*>(outputs[0].data));
  }
  return absl::OkStatus();
}

void SampleBatch::Release(int32_t index) {
  for (const auto* ids :
       {&graph_.ops[index].inputs, &graph_.ops[index].outputs}) {
    for (const TensorId id : *ids) {
      if (id == kNoTensor || id >= std::ssize(last_reader_)) continue;
      if (last_reader_[id] == index) values_[id] = {};
    }
  }
}

}  // namespace edgekiln::compiler
