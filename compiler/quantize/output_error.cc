#include "compiler/quantize/output_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/passes/float32_form.h"
#include "ops/exp.h"

namespace edgekiln::compiler {
namespace {

constexpr double kSofter = 4;

// What a softmax makes of `scores` times `beta`.
void Soften(const float* scores, size_t classes, double beta,
            std::vector<double>& result) {
  const double largest = *std::max_element(scores, scores + classes);
  result.resize(classes);
  double sum = 0;
  for (size_t c = 0; c < classes; ++c) {
    result[c] = ops::Exp((scores[c] - largest) * beta);
    sum += result[c];
  }
  for (double& one : result) one /= sum;
}

}  // namespace

OutputError::OutputError(const Graph& graph) : graph_(graph) {
  const std::vector<int32_t> producers = Producers(graph);
  for (TensorId output : graph.outputs) {
    int32_t by = producers[output];
    if (by >= 0 && IsCastOfFloats(graph, graph.ops[by])) {
      output = graph.ops[by].inputs[0];
      by = producers[output];
    }
    const bool softmax = by >= 0 && graph.ops[by].attributes.has_softmax();
    const TensorId seen = softmax ? graph.ops[by].inputs[0] : output;
    if (graph.tensors[seen].type != v1::FLOAT32) continue;
    tensors_.push_back(seen);
    if (softmax) {
      tensors_.push_back(output);
      const v1::Softmax& attributes = graph.ops[by].attributes.softmax();
      const auto rank = std::ssize(graph.tensors[seen].shape);
      if (attributes.axis() == rank - 1) {
        softened_.push_back({seen, attributes.beta()});
      }
    }
    // Other outputs may be made later: the value has to stay.
    last_ = std::max(last_, by);
  }
}

template <typename Take>
void OutputError::SoftenSample(const Softened& output, const SampleBatch& batch,
                               int64_t sample, const Take& take) const {
  const Tensor& tensor = graph_.tensors[output.scores];
  const auto classes = static_cast<size_t>(tensor.shape.back());
  const auto count = static_cast<size_t>(tensor.num_elements());
  const char* scores = batch.value(output.scores, sample);
  std::vector<double> row;
  for (size_t first = 0; first < count; first += classes) {
    Soften(reinterpret_cast<const float*>(scores) + first, classes,
           output.beta / kSofter, row);
    take(row);
  }
}

OutputError::SoftValues OutputError::SoftValuesOf(
    const SampleBatch& real) const {
  SoftValues soft;
  for (const Softened& output : softened_) {
    std::vector<double>& values = soft.emplace_back();
    for (int64_t sample = 0; sample < real.samples(); ++sample) {
      SoftenSample(output, real, sample, [&](const std::vector<double>& row) {
        values.insert(values.end(), row.begin(), row.end());
      });
    }
  }
  return soft;
}

double OutputError::OfSoftened(const Softened& output,
                               const std::vector<double>& soft,
                               const SampleBatch& changed) const {
  double signal = 0;
  double noise = 0;
  const double* a = soft.data();
  for (int64_t sample = 0; sample < changed.samples(); ++sample) {
    SoftenSample(output, changed, sample, [&](const std::vector<double>& row) {
      for (const double b : row) {
        signal += *a * *a;
        noise += (*a - b) * (*a - b);
        ++a;
      }
    });
  }
  return signal > 0 ? kSofter * kSofter * noise / signal : 0;
}

double OutputError::Of(const SampleBatch& real, const SoftValues& soft,
                       const SampleBatch& changed) const {
  double error = 0;
  for (const TensorId output : tensors_) {
    const int64_t count = graph_.tensors[output].num_elements();
    double signal = 0;
    double noise = 0;
    for (int64_t sample = 0; sample < changed.samples(); ++sample) {
      const auto* a =
          reinterpret_cast<const float*>(real.value(output, sample));
      const auto* b =
          reinterpret_cast<const float*>(changed.value(output, sample));
      for (int64_t i = 0; i < count; ++i) {
        const double difference = double{a[i]} - b[i];
        signal += double{a[i]} * a[i];
        noise += difference * difference;
      }
    }
    if (signal > 0) error += noise / signal;
  }
  for (size_t i = 0; i < softened_.size(); ++i) {
    error += OfSoftened(softened_[i], soft[i], changed);
  }
  // A logarithm of what was rounded to 0, say.
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

}  // namespace edgekiln::compiler
